# SPDX-License-Identifier: Apache-2.0
"""ResNet-18 and -50 (arXiv:1512.03385) as torchvision has them, and the ResNet-8 of MLPerf Tiny.

Names are torchvision's. ResNet-50 is the form with the stride in the 3x3 convolution.
"""


def _block(b, name, x, mid, stride, bottleneck):
    """Two 3x3 convolutions, or 1x1, 3x3, 1x1 with four times the channels at the end."""
    out = mid * (4 if bottleneck else 1)
    plan = [(mid, 1, 1), (mid, 3, stride), (out, 1, 1)] if bottleneck else [(mid, 3, stride), (mid, 3, 1)]
    y = x
    for i, (channels, kernel, step) in enumerate(plan, start=1):
        y = b.conv(f"{name}.conv{i}", y, channels, kernel, step)
        y = b.batch_norm(f"{name}.bn{i}", y, gain=1 / 3 if i == len(plan) else 1.0)
        if i < len(plan):
            y = b.activation("relu", f"{name}.relu{i}", y)
    if stride != 1 or x.channels != out:
        x = b.conv(f"{name}.downsample.0", x, out, 1, stride)
        x = b.batch_norm(f"{name}.downsample.1", x)
    return b.activation("relu", f"{name}.relu", b.add(f"{name}.add", y, x))


def _resnet(b, classes, depths, bottleneck):
    x = b.conv("conv1", b.input, 64, 7, 2)
    x = b.activation("relu", "relu", b.batch_norm("bn1", x))
    x = b.max_pool("maxpool", x, 3, 2, 1)
    for stage, depth in enumerate(depths):
        for block in range(depth):
            stride = 2 if stage > 0 and block == 0 else 1
            x = _block(b, f"layer{stage + 1}.{block}", x, 64 << stage, stride, bottleneck)
    return b.linear("fc", b.features(x), classes, "logits")


def resnet18(b, classes):
    return _resnet(b, classes, (2, 2, 2, 2), bottleneck=False)


def resnet50(b, classes):
    return _resnet(b, classes, (3, 4, 6, 3), bottleneck=True)


def resnet8(b, classes):
    """MLPerf Tiny's image classifier: three stages of one block, 16 to 64 channels, convolutions with a bias,
    TensorFlow's SAME padding, a plain 1x1 convolution as shortcut."""
    def conv_bn(conv, bn, x, out, stride):
        return b.batch_norm(bn, b.conv(conv, x, out, 3, stride, "same", bias=True), eps=1e-3)

    x = b.activation("relu", "relu", conv_bn("conv1", "bn1", b.input, 16, 1))
    for stage, out in enumerate((16, 32, 64), start=1):
        name, stride = f"layer{stage}.0", 1 if stage == 1 else 2
        y = conv_bn(f"{name}.conv1", f"{name}.bn1", x, out, stride)
        y = conv_bn(f"{name}.conv2", f"{name}.bn2", b.activation("relu", f"{name}.relu1", y), out, 1)
        if stage > 1:
            x = b.conv(f"{name}.downsample.0", x, out, 1, stride, "same", bias=True)
        x = b.activation("relu", f"{name}.relu", b.add(f"{name}.add", y, x))
    return b.linear("fc", b.features(x), classes, "logits")
