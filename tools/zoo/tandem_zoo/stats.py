# SPDX-License-Identifier: Apache-2.0
"""Counts a model's learnable parameters and its multiply-accumulates (batch 1) from the ONNX graph alone."""
import math

import onnx


def _dims(value):
    return [d.dim_value if d.HasField("dim_value") else None for d in value.type.tensor_type.shape.dim]


def shapes(model, batch=1):
    """{value: shape} of all values with the batch fixed; raises onnx's inference error if they do not fit."""
    fixed = onnx.ModelProto()
    fixed.CopyFrom(model)
    for value in [*fixed.graph.input, *fixed.graph.output]:
        first = value.type.tensor_type.shape.dim[0]
        if not first.HasField("dim_value"):
            first.dim_value = batch
    inferred = onnx.shape_inference.infer_shapes(fixed, strict_mode=True, data_prop=True)
    graph = inferred.graph
    table = {v.name: _dims(v) for v in (*graph.value_info, *graph.input, *graph.output)}
    table.update({t.name: list(t.dims) for t in graph.initializer})
    return table


def count_macs(model):
    """Of Conv, Gemm and MatMul, as published figures count them."""
    table, total = shapes(model), 0
    for node in model.graph.node:
        if node.op_type == "Conv":
            total += math.prod(table[node.output[0]]) * math.prod(table[node.input[1]][1:])
        elif node.op_type in ("Gemm", "MatMul"):
            inner = table[node.input[0]][-1]
            total += math.prod(table[node.output[0]]) * inner
    return total


def count_parameters(model):
    """Numbers that training would change: not running statistics, shapes or constants."""
    statistics = {name for n in model.graph.node if n.op_type == "BatchNormalization"
                  for name in n.input[3:5]}
    return sum(math.prod(t.dims) for t in model.graph.initializer
               if t.name not in statistics and t.dims and t.data_type == onnx.TensorProto.FLOAT)
