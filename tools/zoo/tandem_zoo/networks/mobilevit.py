# SPDX-License-Identifier: Apache-2.0
"""MobileViT-S (arXiv:2110.02178) as timm has it, with its names: inverted residuals with SiLU, and three
blocks in which a transformer looks at all patches of the image, once for each place within a patch.
"""
import math

import numpy

from ..builder import Value
from ..errors import USAGE, ZooError
from ..moments import Moments

_HEADS, _PATCH = 4, 2
# Channels, repeats, first stride; then (channels, transformer width, depth), each behind a stride of 2.
_CONV_STAGES = ((32, 1, 1), (64, 3, 2))
_VIT_STAGES = ((96, 144, 2), (128, 192, 4), (160, 240, 3))


def _unit(b, name, x, out, kernel=1, stride=1, groups=1, act=True):
    x = b.batch_norm(f"{name}.bn", b.conv(f"{name}.conv", x, out, kernel, stride, groups=groups))
    return b.activation("silu", f"{name}.act", x) if act else x


def _inverted_residual(b, name, x, out, stride):
    hidden = 4 * x.channels
    y = _unit(b, f"{name}.conv1_1x1", x, hidden)
    y = _unit(b, f"{name}.conv2_kxk", y, hidden, 3, stride, hidden)
    y = _unit(b, f"{name}.conv3_1x1", y, out, act=False)
    return b.add(f"{name}.add", y, x) if stride == 1 and x.channels == out else y


# Tokens: Values of shape [tokens, width] behind the batch.

def _unit_moments(x, width):
    return Moments.unit(width) if x.moments else None


def layer_norm(b, name, x):
    width = x.shape[-1]
    b.parameter(f"{name}.weight", (width,), lambda s: s.uniform((width,), 0.8, 1.2))
    b.parameter(f"{name}.bias", (width,), lambda s: s.normal((width,), 0.1))
    b.node("LayerNormalization", name, [x.name, f"{name}.weight", f"{name}.bias"], axis=-1, epsilon=1e-5)
    return Value(name, x.shape, _unit_moments(x, width))


def token_linear(b, name, x, out, bias=True, gain=1.0):
    """x [tokens, in] -> [tokens, out]: MatMul with the transposed weight, as exporters write it, and Add."""
    inputs = x.shape[-1]
    weight = b.weights.tensor(f"{name}.weight", (out, inputs),
                              lambda s: s.normal((out, inputs), gain / math.sqrt(inputs)))
    b.initializer(f"{name}.weight_t", weight.T)
    last = b.node("MatMul", f"{name}.matmul" if bias else name, [x.name, f"{name}.weight_t"])
    if bias:
        b.parameter(f"{name}.bias", (out,), lambda s: s.normal((out,), 0.05))
        last = b.node("Add", name, [last, f"{name}.bias"])
    return Value(last, (*x.shape[:-1], out), _unit_moments(x, out))


def attention(b, name, x, heads, qkv_bias=True):
    """Multi-head self-attention over x [tokens, width] with names name.qkv and name.proj."""
    tokens, width = x.shape
    size = width // heads
    qkv = token_linear(b, f"{name}.qkv", x, 3 * width, qkv_bias)
    shape = b.constant(f"{name}.shape", numpy.array([-1, tokens, 3, heads, size], dtype=numpy.int64))
    split = b.node("Reshape", f"{name}.split_heads", [qkv.name, shape])
    split = b.node("Transpose", f"{name}.heads_first", [split], perm=[2, 0, 3, 1, 4])
    parts = [f"{name}.{part}" for part in ("q", "k", "v")]
    b.node("Split", f"{name}.split", [split], [f"{part}_1" for part in parts], axis=0)
    axes = b.constant("axis_0", numpy.array([0], dtype=numpy.int64))
    q, k, v = (b.node("Squeeze", part, [f"{part}_1", axes]) for part in parts)
    q = b.node("Mul", f"{name}.scale", [q, b.constant(f"{name}.factor", numpy.float32(size**-0.5))])
    k = b.node("Transpose", f"{name}.k_t", [k], perm=[0, 1, 3, 2])
    scores = b.node("Softmax", f"{name}.softmax", [b.node("MatMul", f"{name}.scores", [q, k])], axis=-1)
    mixed = b.node("MatMul", f"{name}.mix", [scores, v])
    mixed = b.node("Transpose", f"{name}.heads_last", [mixed], perm=[0, 2, 1, 3])
    shape = b.constant(f"{name}.join_shape", numpy.array([-1, tokens, width], dtype=numpy.int64))
    mixed = b.node("Reshape", f"{name}.join_heads", [mixed, shape])
    return token_linear(b, f"{name}.proj", Value(mixed, x.shape, x.moments), width)


def _transformer(b, name, x):
    y = attention(b, f"{name}.attn", layer_norm(b, f"{name}.norm1", x), _HEADS)
    x = b.add(f"{name}.add1", x, y)
    y = token_linear(b, f"{name}.mlp.fc1", layer_norm(b, f"{name}.norm2", x), 2 * x.shape[-1])
    y = b.activation("silu", f"{name}.mlp.act", y)
    y = token_linear(b, f"{name}.mlp.fc2", y, x.shape[-1], gain=math.sqrt(2))
    return b.add(f"{name}.add2", x, y)


def _vit_block(b, name, x, width, depth):
    channels, height, columns = x.shape
    if height % _PATCH or columns % _PATCH:
        raise ZooError("mobilevit_s cannot be made for this size",
                       f"{height}x{columns} features do not divide into {_PATCH}x{_PATCH} patches",
                       "--size with a multiple of 64", USAGE)
    rows, across, area = height // _PATCH, columns // _PATCH, _PATCH * _PATCH
    patches = rows * across

    def shaped(step, value, shape):
        shape = b.constant(f"{name}.{step}.shape", numpy.array(shape, dtype=numpy.int64))
        return b.node("Reshape", f"{name}.{step}", [value, shape])

    y = _unit(b, f"{name}.conv_kxk", x, channels, 3)
    y = b.conv(f"{name}.conv_1x1", y, width)
    # [B,C,H,W] -> [B*area, patches, C]: tokens are the patches, one sequence per place within a patch.
    t = shaped("unfold_rows", y.name, [-1, _PATCH, across, _PATCH])
    t = b.node("Transpose", f"{name}.unfold_swap", [t], perm=[0, 2, 1, 3])
    t = shaped("unfold_patches", t, [-1, width, patches, area])
    t = b.node("Transpose", f"{name}.unfold_places", [t], perm=[0, 3, 2, 1])
    t = shaped("unfold", t, [-1, patches, width])
    t = Value(t, (patches, width), y.moments)
    for i in range(depth):
        t = _transformer(b, f"{name}.transformer.{i}", t)
    t = layer_norm(b, f"{name}.norm", t)
    # And back.
    f = shaped("fold_places", t.name, [-1, area, patches, width])
    f = b.node("Transpose", f"{name}.fold_channels", [f], perm=[0, 3, 2, 1])
    f = shaped("fold_patches", f, [-1, across, _PATCH, _PATCH])
    f = b.node("Transpose", f"{name}.fold_swap", [f], perm=[0, 2, 1, 3])
    f = Value(shaped("fold", f, [-1, width, height, columns]), (width, height, columns), t.moments)
    f = _unit(b, f"{name}.conv_proj", f, channels)
    b.node("Concat", f"{name}.concat", [x.name, f.name], axis=1)
    both = Value(f"{name}.concat", (2 * channels, height, columns),
                 x.moments.joined(f.moments) if x.moments else None)
    return _unit(b, f"{name}.conv_fusion", both, channels, 3)


def mobilevit_s(b, classes):
    x = _unit(b, "stem", b.input, 16, 3, 2)
    for stage, (out, repeats, first_stride) in enumerate(_CONV_STAGES):
        for repeat in range(repeats):
            x = _inverted_residual(b, f"stages.{stage}.{repeat}", x, out, first_stride if repeat == 0 else 1)
    for stage, (out, width, depth) in enumerate(_VIT_STAGES, start=len(_CONV_STAGES)):
        x = _inverted_residual(b, f"stages.{stage}.0", x, out, 2)
        x = _vit_block(b, f"stages.{stage}.1", x, width, depth)
    x = _unit(b, "final_conv", x, 640)
    return b.linear("head.fc", b.features(x), classes, "logits")
