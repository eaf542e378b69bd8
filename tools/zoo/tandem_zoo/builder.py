# SPDX-License-Identifier: Apache-2.0
"""Writes an ONNX graph layer by layer: each call adds nodes, takes its weights by name, returns a Value.

A layer's name is its module path in the state dict ("layer1.0.conv1"); it names the node, its output value
and, with ".weight" and so on, its initializers. Values know their shape without the batch: [C, H, W], [C] or
[tokens, C].
"""
import math

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

from .errors import USAGE, ZooError
from .moments import Moments

BATCH = "N"


class Value:
    """An activation: its ONNX name, its shape without the batch, and Moments when weights are random."""

    def __init__(self, name, shape, moments=None):
        self.name, self.shape, self.moments = name, tuple(shape), moments

    @property
    def channels(self):
        return self.shape[0]

    def as_shape(self, name, shape):
        return Value(name, shape, self.moments)


def _erf(x):
    return numpy.vectorize(math.erf)(x)


ACTIVATIONS = {
    "relu": lambda x: numpy.maximum(x, 0),
    "relu6": lambda x: numpy.clip(x, 0, 6),
    "hard_swish": lambda x: x * numpy.clip(x / 6 + 0.5, 0, 1),
    "silu": lambda x: x / (1 + numpy.exp(-x)),
    "gelu": lambda x: 0.5 * x * (1 + _erf(x / math.sqrt(2))),
}


def same_pads(size, kernel, stride):
    """TensorFlow's SAME padding of one axis: (before, after); the odd one goes behind."""
    total = max((-(-size // stride) - 1) * stride + kernel - size, 0)
    return total // 2, total - total // 2


class Builder:
    """One network in the making. `input_moments` = (mean, deviation) of a preprocessed pixel."""

    def __init__(self, name, weights, size, opset, input_moments=(0.0, 1.0)):
        self.name, self.weights, self.opset = name, weights, opset
        self._nodes, self._initializers, self._names = [], [], set()
        moments = None
        if weights.random:
            mean, deviation = input_moments
            moments = Moments(numpy.full(3, mean), numpy.full(3, deviation**2))
        self.input = Value("input", (3, size, size), moments)

    # Raw pieces.

    def node(self, op, name, inputs, outputs=None, **attributes):
        """Adds a node; returns the name of its first output."""
        if name in self._names:
            raise AssertionError(f"two nodes are named {name}")
        self._names.add(name)
        outputs = outputs or [name]
        self._nodes.append(helper.make_node(op, inputs, outputs, name=name, **attributes))
        return outputs[0]

    def constant(self, name, values):
        """An initializer that holds no weights; asked for twice, it is written once."""
        if all(existing.name != name for existing in self._initializers):
            self._initializers.append(numpy_helper.from_array(numpy.asarray(values), name))
        return name

    def initializer(self, name, values):
        """An initializer of weights."""
        self._initializers.append(numpy_helper.from_array(numpy.ascontiguousarray(values), name))
        return name

    def parameter(self, name, shape, draw):
        """Takes a tensor from the weights and writes it as an initializer; returns its values."""
        values = self.weights.tensor(name, shape, draw)
        self.initializer(name, values)
        return values

    # Layers.

    def conv(self, name, x, out, kernel=1, stride=1, pad=None, groups=1, bias=False):
        """x [C,H,W] -> [out,Ho,Wo]. `pad`: a number for all sides, "same" for TensorFlow's, None is half the
        kernel. He's initial weights: normal, variance 2 / fan_in (arXiv:1502.01852, equation 10)."""
        fan_in = x.channels // groups * kernel * kernel
        weight = self.weights.tensor(f"{name}.weight", (out, x.channels // groups, kernel, kernel),
                                     lambda s: s.normal((out, x.channels // groups, kernel, kernel),
                                                        math.sqrt(2 / fan_in)))
        offset = None
        if bias:
            offset = self.weights.tensor(f"{name}.bias", (out,), lambda s: s.normal((out,), 0.05))
        return self.conv_of(name, x, weight, offset, stride, pad, groups)

    def conv_of(self, name, x, weight, bias, stride=1, pad=None, groups=1):
        """The same with given weights."""
        out, _, kernel, _ = weight.shape
        _, height, width = x.shape
        if pad == "same":
            (top, bottom), (left, right) = (same_pads(s, kernel, stride) for s in (height, width))
        else:
            top = bottom = left = right = kernel // 2 if pad is None else pad
        rows = (height + top + bottom - kernel) // stride + 1
        columns = (width + left + right - kernel) // stride + 1
        if min(rows, columns) < 1:
            raise ZooError(f"the input is too small for {self.name}", f"nothing is left behind {name}",
                           "choose a larger --size", USAGE)
        inputs = [x.name, self.initializer(f"{name}.weight", weight)]
        if bias is not None:
            inputs.append(self.initializer(f"{name}.bias", bias))
        self.node("Conv", name, inputs, group=groups, kernel_shape=[kernel, kernel],
                  pads=[top, left, bottom, right], strides=[stride, stride], dilations=[1, 1])
        moments = x.moments.weighted(weight, groups, bias) if x.moments else None
        return Value(name, (out, rows, columns), moments)

    def batch_norm(self, name, x, eps=1e-5, gain=1.0):
        """Per channel: (x - running_mean) / sqrt(running_var + eps) * weight + bias. `gain` is about what
        random weights are; a third at the end of residual branches keeps the sum of many in range."""
        from .weights import settle
        channels, shape = x.channels, (x.channels,)
        gamma = self.parameter(f"{name}.weight", shape, lambda s: s.uniform(shape, 0.8 * gain, 1.2 * gain))
        beta = self.parameter(f"{name}.bias", shape, lambda s: s.normal(shape, 0.1))
        self.parameter(f"{name}.running_mean", shape, lambda s: settle(x.moments.mean))
        self.parameter(f"{name}.running_var", shape, lambda s: settle(x.moments.variance))
        self.node("BatchNormalization", name,
                  [x.name] + [f"{name}.{part}" for part in ("weight", "bias", "running_mean", "running_var")],
                  epsilon=eps)
        moments = Moments(beta, gamma.astype(numpy.float64) ** 2) if x.moments else None
        return Value(name, (channels, *x.shape[1:]), moments)

    def activation(self, kind, name, x):
        """One of ACTIVATIONS; silu and gelu are written out as exporters at these opsets do."""
        if kind == "relu":
            self.node("Relu", name, [x.name])
        elif kind == "relu6":
            zero = self.constant("zero", numpy.float32(0))
            self.node("Clip", name, [x.name, zero, self.constant("six", numpy.float32(6))])
        elif kind == "hard_swish":
            self.node("HardSwish", name, [x.name])
        elif kind == "silu":
            self.node("Mul", name, [x.name, self.node("Sigmoid", f"{name}.sigmoid", [x.name])])
        elif kind == "gelu":
            root = self.constant("sqrt_two", numpy.float32(math.sqrt(2)))
            ratio = self.node("Div", f"{name}.div", [x.name, root])
            erf = self.node("Erf", f"{name}.erf", [ratio])
            plus = self.node("Add", f"{name}.add", [erf, self.constant("one", numpy.float32(1))])
            product = self.node("Mul", f"{name}.mul", [x.name, plus])
            self.node("Mul", name, [product, self.constant("half", numpy.float32(0.5))])
        moments = x.moments.through(ACTIVATIONS[kind]) if x.moments else None
        return Value(name, x.shape, moments)

    def add(self, name, x, y):
        """x + y of one shape."""
        assert x.shape == y.shape, name
        self.node("Add", name, [x.name, y.name])
        return Value(name, x.shape, x.moments.plus(y.moments) if x.moments else None)

    def squeeze_excite(self, name, x, squeezed, gate):
        """x * gate(fc2(relu(fc1(mean of x)))), 1x1 convolutions; gate is "HardSigmoid" or "Sigmoid"."""
        self.node("GlobalAveragePool", f"{name}.pool", [x.name])
        y = Value(f"{name}.pool", (x.channels, 1, 1), x.moments.averaged() if x.moments else None)
        y = self.activation("relu", f"{name}.relu", self.conv(f"{name}.fc1", y, squeezed, bias=True))
        y = self.conv(f"{name}.fc2", y, x.channels, bias=True)
        slope = {"alpha": 1 / 6, "beta": 0.5} if gate == "HardSigmoid" else {}
        self.node(gate, f"{name}.gate", [y.name], **slope)
        self.node("Mul", f"{name}.scale", [x.name, f"{name}.gate"])
        return Value(f"{name}.scale", x.shape, x.moments.scaled(0.5) if x.moments else None)

    def max_pool(self, name, x, kernel, stride, pad=0):
        """Floor rounding."""
        side = [(s + 2 * pad - kernel) // stride + 1 for s in x.shape[1:]]
        if min(side) < 1:
            raise ZooError(f"the input is too small for {self.name}", f"nothing is left behind {name}",
                           "choose a larger --size", USAGE)
        self.node("MaxPool", name, [x.name], kernel_shape=[kernel, kernel], strides=[stride, stride],
                  pads=[pad, pad, pad, pad])
        return Value(name, (x.channels, *side), x.moments.largest_of(max(kernel * kernel // 2, 1))
                     if x.moments else None)

    def features(self, x, out="features"):
        """Global average and flatten: [C,H,W] -> [C]. The value in front of the classifier is "features"."""
        self.node("GlobalAveragePool", "pool", [x.name])
        self.node("Flatten", "flatten", ["pool"], [out], axis=1)
        return Value(out, (x.channels,), x.moments.averaged() if x.moments else None)

    def linear(self, name, x, out, value=None):
        """Gemm on [C] -> [out]; `value` names the output."""
        inputs, deviation = x.channels, math.sqrt(2 / x.channels)
        weight = self.parameter(f"{name}.weight", (out, inputs), lambda s: s.normal((out, inputs), deviation))
        bias = self.parameter(f"{name}.bias", (out,), lambda s: s.normal((out,), 0.05))
        self.node("Gemm", name, [x.name, f"{name}.weight", f"{name}.bias"], [value or name], transB=1)
        moments = x.moments.weighted(weight, 1, bias) if x.moments else None
        return Value(value or name, (out,), moments)

    # The end.

    def model(self, logits):
        """The finished ModelProto; `logits` must be the value of that name. Raises if weights did not fit."""
        assert logits.name == "logits" and len(logits.shape) == 1
        self.weights.finish()
        graph = helper.make_graph(
            self._nodes, self.name,
            [helper.make_tensor_value_info("input", TensorProto.FLOAT, [BATCH, *self.input.shape])],
            [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [BATCH, *logits.shape])],
            self._initializers)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)],
                                  producer_name="tandem-zoo")
        # The oldest IR version that has this opset, so that old readers take the file.
        model.ir_version = 7 if self.opset <= 14 else 8
        return model


def check(model):
    """The ONNX checker with full shape inference; a failure is our mistake, not the user's."""
    onnx.checker.check_model(model, full_check=True)
    onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
