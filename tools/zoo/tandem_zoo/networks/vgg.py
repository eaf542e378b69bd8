# SPDX-License-Identifier: Apache-2.0
"""VGG-16 without BatchNormalization (arXiv:1409.1556, configuration D), with torchvision's names."""
from ..errors import USAGE, ZooError

_PLAN = (64, 64, "pool", 128, 128, "pool", 256, 256, 256, "pool", 512, 512, 512, "pool", 512, 512, 512,
         "pool")


def vgg16(b, classes):
    x, index = b.input, 0
    for step in _PLAN:
        if step == "pool":
            x = b.max_pool(f"features.{index}", x, 2, 2)
            index += 1
        else:
            x = b.conv(f"features.{index}", x, step, 3, bias=True)
            x = b.activation("relu", f"features.{index + 1}", x)
            index += 2
    # torchvision averages to 7x7 for any size; here only where that is an ordinary pool.
    channels, side, _ = x.shape
    if side % 7:
        raise ZooError("vgg16 cannot be made for this size", f"its last feature map is {side}x{side}, "
                       "which does not divide into 7x7", "--size 224 or another multiple of 224", USAGE)
    if side > 7:
        factor = side // 7
        b.node("AveragePool", "avgpool", [x.name], kernel_shape=[factor, factor], strides=[factor, factor])
        x = x.as_shape("avgpool", (channels, 7, 7))
    b.node("Flatten", "flatten", [x.name], axis=1)
    moments = x.moments.repeated(49) if x.moments else None
    x = type(x)("flatten", (channels * 49,), moments)
    x = b.activation("relu", "classifier.1", b.linear("classifier.0", x, 4096))
    x = b.linear("classifier.3", x, 4096)
    b.node("Relu", "classifier.4", [x.name], ["features"])
    x = type(x)("features", x.shape, x.moments)
    return b.linear("classifier.6", x, classes, "logits")
