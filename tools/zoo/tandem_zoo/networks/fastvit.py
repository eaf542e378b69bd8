# SPDX-License-Identifier: Apache-2.0
"""FastViT-SA12 (arXiv:2303.14189) as timm has it, in its inference form, with its names.

Training uses several parallel branches (k x k, 1x1, identity, each with BatchNormalization) that are linear
and add up to one convolution. A file of the training form is merged here; one that timm has merged already
(names with "reparam_conv") is taken as it is. Random weights are drawn for the merged form.
"""
import math

import numpy

from ..builder import Value
from .mobilevit import attention

_EPS = 1e-5
_WIDTHS, _DEPTHS, _HEAD_WIDTH = (64, 128, 256, 512), (2, 2, 6, 2), 32


def fuse(kernel, gamma, beta, mean, variance, eps=_EPS):
    """(weight, bias) of a convolution without bias followed by BatchNormalization; float64 in and out."""
    factor = gamma / numpy.sqrt(variance + eps)
    return kernel * factor.reshape(-1, 1, 1, 1), beta - mean * factor


def identity_kernel(channels, groups, kernel):
    """The convolution weight [channels, channels/groups, k, k] that changes nothing."""
    inputs = channels // groups
    weight = numpy.zeros((channels, inputs, kernel, kernel))
    rows = numpy.arange(channels)
    weight[rows, rows % inputs, kernel // 2, kernel // 2] = 1
    return weight


class _Branches:
    """Reads the branches of one block in float64 and adds them up."""

    def __init__(self, b, out, inputs, groups, kernel):
        self._b, self._groups = b, groups
        self.weight, self.bias = numpy.zeros((out, inputs // groups, kernel, kernel)), numpy.zeros(out)

    def take(self, name, shape):
        return self._b.weights.tensor(name, shape, lambda s: None).astype(numpy.float64)

    def _norm(self, name):
        size = (self.bias.size,)
        parts = ("weight", "bias", "running_mean", "running_var")
        return [self.take(f"{name}.{part}", size) for part in parts]

    def add_conv(self, name, kernel):
        """A convolution with BatchNormalization; a smaller kernel is padded to the block's."""
        shape = (*self.weight.shape[:2], kernel, kernel)
        weight, bias = fuse(self.take(f"{name}.conv.weight", shape), *self._norm(f"{name}.bn"))
        pad = (self.weight.shape[2] - kernel) // 2
        self.weight += numpy.pad(weight, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
        self.bias += bias

    def add_identity(self, name):
        """A BatchNormalization of the input itself."""
        kernel = identity_kernel(self.bias.size, self._groups, self.weight.shape[2])
        weight, bias = fuse(kernel, *self._norm(name))
        self.weight += weight
        self.bias += bias

    def result(self):
        return self.weight.astype(numpy.float32), self.bias.astype(numpy.float32)


def _merged(b, name, out, inputs, groups, kernel, branches, skip=False):
    """(weight, bias) of `name`: from the merged form if the file has it or weights are random, else merged
    from what `branches(collector)` reads. `skip`: the block adds to its input, so random weights do too."""
    shape = (out, inputs // groups, kernel, kernel)
    merged = f"{name}.reparam_conv"
    if b.weights.random or b.weights.has(f"{merged}.weight"):
        deviation = math.sqrt(2 / (shape[1] * kernel * kernel))

        def draw(stream):
            if not skip:
                return stream.normal(shape, deviation)
            kept = identity_kernel(out, groups, kernel).astype(numpy.float32)
            return kept + stream.normal(shape, 0.2 * deviation)

        weight = b.weights.tensor(f"{merged}.weight", shape, draw)
        return weight, b.weights.tensor(f"{merged}.bias", (out,), lambda s: s.normal((out,), 0.05))
    collector = _Branches(b, out, inputs, groups, kernel)
    branches(collector)
    return collector.result()


def _mobile_one(b, name, x, out, kernel, stride=1, groups=1, excite=False):
    """The MobileOne block (arXiv:2206.04040), merged: convolution, squeeze-and-excite if asked, GELU."""
    def branches(parts):
        parts.add_conv(f"{name}.conv_kxk.0", kernel)
        if kernel > 1:
            parts.add_conv(f"{name}.conv_scale", 1)
        if x.channels == out and stride == 1:
            parts.add_identity(f"{name}.identity")

    weight, bias = _merged(b, name, out, x.channels, groups, kernel, branches)
    x = b.conv_of(f"{name}.reparam_conv", x, weight, bias, stride, None, groups)
    if excite:
        x = b.squeeze_excite(f"{name}.se", x, out // 16, "Sigmoid")
    return b.activation("gelu", f"{name}.act", x)


def _downsample(b, name, x, out):
    """A depthwise 7x7 and a 3x3 in parallel at stride 2, merged, then a 1x1 block."""
    def branches(parts):
        parts.add_conv(f"{name}.0.large_conv", 7)
        parts.add_conv(f"{name}.0.small_conv", 3)

    weight, bias = _merged(b, f"{name}.0", out, x.channels, x.channels, 7, branches)
    x = b.conv_of(f"{name}.0.reparam_conv", x, weight, bias, 2, None, x.channels)
    return _mobile_one(b, f"{name}.1", x, out, 1)


def _rep_mixer(b, name, x):
    """x + gamma * (mixer(x) - norm(x)), all depthwise 3x3 and linear, merged into one convolution."""
    c = x.channels

    def branches(parts):
        mixer, norm = (_Branches(b, c, c, c, 3) for _ in range(2))
        mixer.add_conv(f"{name}.mixer.conv_kxk.0", 3)
        mixer.add_conv(f"{name}.mixer.conv_scale", 1)
        mixer.add_identity(f"{name}.mixer.identity")
        norm.add_identity(f"{name}.norm.identity")
        gamma = parts.take(f"{name}.layer_scale.gamma", (c, 1, 1)).reshape(c)
        parts.weight += identity_kernel(c, c, 3)
        parts.weight += gamma.reshape(c, 1, 1, 1) * (mixer.weight - norm.weight)
        parts.bias += gamma * (mixer.bias - norm.bias)

    weight, bias = _merged(b, name, c, c, c, 3, branches, skip=True)
    return b.conv_of(f"{name}.reparam_conv", x, weight, bias, 1, None, c)


def _position(b, name, x):
    """Conditional position encoding: x + depthwise 7x7 of x, merged."""
    c = x.channels

    def branches(parts):
        parts.weight += parts.take(f"{name}.pos_enc.weight", (c, 1, 7, 7)) + identity_kernel(c, c, 7)
        parts.bias += parts.take(f"{name}.pos_enc.bias", (c,))

    weight, bias = _merged(b, name, c, c, c, 7, branches, skip=True)
    return b.conv_of(f"{name}.reparam_conv", x, weight, bias, 1, None, c)


def _scaled(b, name, x, y):
    """x + gamma * y, gamma per channel."""
    c = x.channels
    # timm starts layer scales at 1e-5; in a random network that would hide the branch.
    b.parameter(f"{name}.gamma", (c, 1, 1), lambda s: s.uniform((c, 1, 1), 0.1, 0.4))
    b.node("Mul", name, [y.name, f"{name}.gamma"])
    return b.add(f"{name}.add", x, Value(name, y.shape, y.moments.scaled(0.25) if y.moments else None))


def _conv_mlp(b, name, x):
    c = x.channels
    y = b.batch_norm(f"{name}.conv.bn", b.conv(f"{name}.conv.conv", x, c, 7, groups=c))
    y = b.activation("gelu", f"{name}.act", b.conv(f"{name}.fc1", y, 4 * c, bias=True))
    return b.conv(f"{name}.fc2", y, c, bias=True)


def _attention(b, name, x):
    """Self-attention over the pixels of x [C,H,W]."""
    c, height, width = x.shape
    shape = b.constant(f"{name}.token_shape", numpy.array([0, c, height * width], dtype=numpy.int64))
    t = b.node("Reshape", f"{name}.flatten", [x.name, shape])
    t = b.node("Transpose", f"{name}.tokens", [t], perm=[0, 2, 1])
    t = attention(b, name, Value(t, (height * width, c), x.moments), c // _HEAD_WIDTH, qkv_bias=False)
    t = b.node("Transpose", f"{name}.channels", [t.name], perm=[0, 2, 1])
    shape = b.constant(f"{name}.map_shape", numpy.array([0, c, height, width], dtype=numpy.int64))
    return Value(b.node("Reshape", f"{name}.map", [t, shape]), x.shape, x.moments)


def fastvit_sa12(b, classes):
    x = _mobile_one(b, "stem.0", b.input, 64, 3, 2)
    x = _mobile_one(b, "stem.1", x, 64, 3, 2, 64)
    x = _mobile_one(b, "stem.2", x, 64, 1)
    for stage, (width, depth) in enumerate(zip(_WIDTHS, _DEPTHS)):
        if stage:
            x = _downsample(b, f"stages.{stage}.downsample.proj", x, width)
        attends = stage == 3
        if attends:
            x = _position(b, f"stages.{stage}.pos_emb", x)
        for block in range(depth):
            name = f"stages.{stage}.blocks.{block}"
            if attends:
                y = _attention(b, f"{name}.token_mixer", b.batch_norm(f"{name}.norm", x))
                x = _scaled(b, f"{name}.layer_scale_1", x, y)
            else:
                x = _rep_mixer(b, f"{name}.token_mixer", x)
            x = _scaled(b, f"{name}.layer_scale_2" if attends else f"{name}.layer_scale", x,
                        _conv_mlp(b, f"{name}.mlp", x))
    x = _mobile_one(b, "final_conv", x, 1024, 3, 1, 512, excite=True)
    return b.linear("head.fc", b.features(x), classes, "logits")
