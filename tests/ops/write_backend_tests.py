#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the backend tests of the onnx package that tools/zoo pins, as folders that operator_tests reads.

usage: write_backend_tests.py DIR

Node tests are made by the package's own generators; its other sets lie in it as files, the `light` networks without
their input, which by the package's runner is arange(n)/n. A test whose tolerance is not the usual one gets a file
tolerance.json. DIR is left alone when it already holds the tests of this version.
"""
import json
import os
import shutil
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
USUAL = (1e-3, 1e-7)


def enter_venv():
    """Starts this script again with the interpreter of tools/zoo, which has numpy and onnx."""
    sys.path.insert(0, os.path.join(ROOT, "tools", "zoo"))
    from tandem_zoo.bootstrap import ensure_venv
    python = ensure_venv()
    os.execv(python, [python, "-s", os.path.realpath(__file__), "--inside", *sys.argv[1:]])


def write(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)


def write_tolerance(folder, case):
    if (case.rtol, case.atol) != USUAL:
        write(os.path.join(folder, "tolerance.json"),
              json.dumps({"rtol": case.rtol, "atol": case.atol}).encode())


def to_bytes(value, declared):
    """The file of one input or output; None stands for an optional that is absent."""
    from onnx import TensorProto, numpy_helper
    if isinstance(value, TensorProto):
        return value.SerializeToString()
    kind = declared.type.WhichOneof("value")
    convert = {"map_type": numpy_helper.from_dict, "sequence_type": numpy_helper.from_list,
               "optional_type": numpy_helper.from_optional}.get(kind, numpy_helper.from_array)
    return convert(value, declared.name).SerializeToString()


def write_generated(case, folder):
    write(os.path.join(folder, "model.onnx"), case.model.SerializeToString())
    write_tolerance(folder, case)
    for i, (inputs, outputs) in enumerate(case.data_sets):
        data = os.path.join(folder, f"test_data_set_{i}")
        os.makedirs(data, exist_ok=True)  # a test without inputs has a data set as well
        for stem, values, declared in (("input", inputs, case.model.graph.input),
                                       ("output", outputs, case.model.graph.output)):
            for j, value in enumerate(values):
                write(os.path.join(data, f"{stem}_{j}.pb"), to_bytes(value, declared[j]))


def write_light(case, source, folder):
    import numpy
    import onnx
    stem = os.path.join(source, f"light_{case.model_name}")
    model = onnx.load(stem + ".onnx")
    shutil.copy(stem + ".onnx", os.path.join(folder, "model.onnx"))
    write_tolerance(folder, case)
    initializers = {i.name for i in model.graph.initializer}
    inputs = [i for i in model.graph.input if i.name not in initializers]
    for i, declared in enumerate(inputs):
        shape = [d.dim_value if d.HasField("dim_value") else 1 for d in declared.type.tensor_type.shape.dim]
        count = numpy.prod(shape)
        value = (numpy.arange(count).reshape(shape) / count).astype(numpy.float32)
        write(os.path.join(folder, "test_data_set_0", f"input_{i}.pb"), to_bytes(value, declared))
    for i in range(len(model.graph.output)):
        shutil.copy(f"{stem}_output_{i}.pb", os.path.join(folder, "test_data_set_0", f"output_{i}.pb"))


def write_all(target):
    import onnx
    from onnx.backend.test.case import model as model_cases
    from onnx.backend.test.case import node as node_cases
    stamp = os.path.join(target, "version.txt")
    if os.path.exists(stamp) and open(stamp, encoding="utf-8").read() == onnx.__version__:
        return
    shutil.rmtree(target, ignore_errors=True)
    data = os.path.join(os.path.dirname(onnx.__file__), "backend", "test", "data")
    for name in ("simple", "pytorch-operator", "pytorch-converted"):
        shutil.copytree(os.path.join(data, name), os.path.join(target, name))
    for case in node_cases.collect_testcases() + model_cases.collect_testcases():
        if case.kind == "real":
            folder = os.path.join(target, "light", case.name)
            os.makedirs(os.path.join(folder, "test_data_set_0"))
            write_light(case, os.path.join(data, "light"), folder)
        elif case.model is not None and case.data_sets:
            write_generated(case, os.path.join(target, case.kind, case.name))
    write(stamp, onnx.__version__.encode())


def main(arguments):
    inside = arguments[:1] == ["--inside"]
    if len(arguments) != (2 if inside else 1):
        sys.exit(__doc__)
    if not inside:
        enter_venv()
    write_all(arguments[1])


if __name__ == "__main__":
    main(sys.argv[1:])
