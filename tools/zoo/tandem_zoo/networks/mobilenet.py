# SPDX-License-Identifier: Apache-2.0
"""MobileNetV2 (arXiv:1801.04381) and V3 (arXiv:1905.02244) as torchvision has them, with its names."""


def _unit(b, conv, bn, act, x, out, kernel=1, stride=1, groups=1, kind=None, eps=1e-5):
    """Convolution, BatchNormalization and, if `kind` is given, an activation."""
    x = b.batch_norm(bn, b.conv(conv, x, out, kernel, stride, groups=groups), eps)
    return b.activation(kind, act, x) if kind else x


# Expansion, channels, repeats, first stride: table 2 of the paper.
_V2 = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2),
       (6, 320, 1, 1))


def mobilenet_v2(b, classes):
    x = _unit(b, "features.0.0", "features.0.1", "features.0.2", b.input, 32, 3, 2, kind="relu6")
    index = 1
    for expansion, out, repeats, first_stride in _V2:
        for repeat in range(repeats):
            stride, hidden = first_stride if repeat == 0 else 1, x.channels * expansion
            name, y, step = f"features.{index}.conv", x, 0
            if expansion != 1:
                y = _unit(b, f"{name}.0.0", f"{name}.0.1", f"{name}.0.2", y, hidden, kind="relu6")
                step = 1
            y = _unit(b, f"{name}.{step}.0", f"{name}.{step}.1", f"{name}.{step}.2", y, hidden, 3, stride,
                      hidden, "relu6")
            y = _unit(b, f"{name}.{step + 1}", f"{name}.{step + 2}", None, y, out)
            x = b.add(f"features.{index}.add", y, x) if stride == 1 and x.channels == out else y
            index += 1
    x = _unit(b, f"features.{index}.0", f"features.{index}.1", f"features.{index}.2", x, 1280, kind="relu6")
    return b.linear("classifier.1", b.features(x), classes, "logits")


# Kernel, expanded, out, squeeze-and-excite, activation, stride: tables 1 and 2 of the paper.
_R, _H = "relu", "hard_swish"
_V3_LARGE = (
    (3, 16, 16, False, _R, 1), (3, 64, 24, False, _R, 2), (3, 72, 24, False, _R, 1),
    (5, 72, 40, True, _R, 2), (5, 120, 40, True, _R, 1), (5, 120, 40, True, _R, 1),
    (3, 240, 80, False, _H, 2), (3, 200, 80, False, _H, 1), (3, 184, 80, False, _H, 1),
    (3, 184, 80, False, _H, 1), (3, 480, 112, True, _H, 1), (3, 672, 112, True, _H, 1),
    (5, 672, 160, True, _H, 2), (5, 960, 160, True, _H, 1), (5, 960, 160, True, _H, 1))
_V3_SMALL = (
    (3, 16, 16, True, _R, 2), (3, 72, 24, False, _R, 2), (3, 88, 24, False, _R, 1),
    (5, 96, 40, True, _H, 2), (5, 240, 40, True, _H, 1), (5, 240, 40, True, _H, 1),
    (5, 120, 48, True, _H, 1), (5, 144, 48, True, _H, 1), (5, 288, 96, True, _H, 2),
    (5, 576, 96, True, _H, 1), (5, 576, 96, True, _H, 1))
_V3_EPS = 1e-3


def _squeezed(expanded):
    """A quarter, to the nearest multiple of 8, and never more than a tenth below."""
    quarter = expanded // 4
    rounded = max(8, (quarter + 4) // 8 * 8)
    return rounded + 8 if rounded < 0.9 * quarter else rounded


def _mobilenet_v3(b, classes, table, hidden):
    x = _unit(b, "features.0.0", "features.0.1", "features.0.2", b.input, 16, 3, 2, 1, _H, _V3_EPS)
    for index, (kernel, expanded, out, excite, kind, stride) in enumerate(table, start=1):
        name, y, step = f"features.{index}.block", x, 0
        if expanded != x.channels:
            y = _unit(b, f"{name}.0.0", f"{name}.0.1", f"{name}.0.2", y, expanded, kind=kind, eps=_V3_EPS)
            step = 1
        y = _unit(b, f"{name}.{step}.0", f"{name}.{step}.1", f"{name}.{step}.2", y, expanded, kernel, stride,
                  expanded, kind, _V3_EPS)
        step += 1
        if excite:
            y = b.squeeze_excite(f"{name}.{step}", y, _squeezed(expanded), "HardSigmoid")
            step += 1
        y = _unit(b, f"{name}.{step}.0", f"{name}.{step}.1", None, y, out, eps=_V3_EPS)
        x = b.add(f"features.{index}.add", y, x) if stride == 1 and x.channels == out else y
    last = f"features.{len(table) + 1}"
    x = _unit(b, f"{last}.0", f"{last}.1", f"{last}.2", x, 6 * x.channels, kind=_H, eps=_V3_EPS)
    x = b.linear("classifier.0", b.features(x, "pooled"), hidden)
    b.node("HardSwish", "classifier.1", [x.name], ["features"])
    return b.linear("classifier.3", type(x)("features", x.shape, x.moments), classes, "logits")


def mobilenet_v3_large(b, classes):
    return _mobilenet_v3(b, classes, _V3_LARGE, 1280)


def mobilenet_v3_small(b, classes):
    return _mobilenet_v3(b, classes, _V3_SMALL, 1024)
