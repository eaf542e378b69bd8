# SPDX-License-Identifier: Apache-2.0
"""Makes what the transcripts need, with the standard library only: small ONNX models that tell red, green and blue
pictures apart, broken models, and pictures. Field numbers are those of onnx.proto3."""

import json
import os
import random
import struct
import sys
import zlib


def varint(n):
    n &= (1 << 64) - 1
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def field(number, value):
    """An int, a float, text, bytes or a message (bytes) as a protobuf field."""
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, str):
        value = value.encode()
    return varint(number << 3 | 2) + varint(len(value)) + value


def fields(number, values):
    return b"".join(field(number, v) for v in values)


def attribute(name, value):
    if isinstance(value, list):
        return field(1, name) + fields(8, value) + field(20, 7)
    if isinstance(value, float):
        return field(1, name) + field(2, value) + field(20, 1)
    return field(1, name) + field(3, value) + field(20, 2)


def node(op, inputs, outputs, name="", domain="", **attributes):
    out = fields(1, inputs) + fields(2, outputs) + field(3, name or outputs[0]) + field(4, op)
    out += fields(5, [attribute(k, v) for k, v in attributes.items()])
    return out + (field(7, domain) if domain else b"")


def tensor(name, shape, values):
    return (fields(1, shape) + field(2, 1) + field(8, name)
            + field(9, struct.pack("<%df" % len(values), *values)))


def external_tensor(name, shape, location):
    entry = field(1, "location") + field(2, location)
    return fields(1, shape) + field(2, 1) + field(8, name) + field(13, entry) + field(14, 1)


def value_info(name, shape):
    dims = b"".join(field(1, field(2, d) if isinstance(d, str) else field(1, d)) for d in shape)
    return field(1, name) + field(2, field(1, field(1, 1) + field(2, dims)))


def model(nodes, tensors, inputs, outputs, metadata=None, opset=13):
    graph = fields(1, nodes) + field(2, "g") + fields(5, tensors)
    graph += fields(11, [value_info(*i) for i in inputs]) + fields(12, [value_info(*o) for o in outputs])
    out = field(1, 8) + field(2, "fixtures") + field(7, graph) + field(8, field(1, "") + field(2, opset))
    for key, value in (metadata or {}).items():
        out += field(14, field(1, key) + field(2, value))
    return out


PREPROCESS = {"layout": "nchw", "color": "rgb", "size": [8, 8], "resize": {"rule": "exact", "filter": "bilinear",
              "antialias": True}, "crop": "none", "mean": [0, 0, 0], "std": [255, 255, 255], "range": [0, 255]}
LABELS = ["red", "green", "blue"]
METADATA = {"tandem.preprocess": json.dumps(PREPROCESS), "tandem.labels": json.dumps(LABELS)}


def classifier(metadata, channels=3, dead=True, gain=8.0, batch="N", centre=1.0):
    """x -> Conv 3x3 (centre 1: channel c to c; a fourth channel that is dead) -> Relu -> mean -> Gemm."""
    conv = [0.0] * (4 * channels * 9)
    for c in range(min(3, channels)):
        conv[(c * channels + c) * 9 + 4] = centre
        conv[(c * channels + c) * 9 + 1] = 0.05
    if not dead:
        conv[3 * channels * 9 + 4] = 0.5
    gemm = [0.0] * 12
    for c in range(3):
        for k in range(3):
            gemm[c * 4 + k] = gain if c == k else -gain / 4
    nodes = [node("Conv", ["x", "conv.w", "conv.b"], ["conv.out"], "conv", kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
             node("Relu", ["conv.out"], ["relu.out"], "relu"),
             node("GlobalAveragePool", ["relu.out"], ["pool.out"], "pool"),
             node("Flatten", ["pool.out"], ["flat"], "flatten", axis=1),
             node("Gemm", ["flat", "fc.w", "fc.b"], ["logits"], "fc", transB=1)]
    tensors = [tensor("conv.w", [4, channels, 3, 3], conv), tensor("conv.b", [4], [0.0, 0.0, 0.0, 0.0]),
               tensor("fc.w", [3, 4], gemm), tensor("fc.b", [3], [0.0, 0.0, 0.0])]
    return model(nodes, tensors, [("x", [batch, channels, 8, 8])], [("logits", [batch, 3])], metadata)


def png(width, height, rgb):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + rgb[y * width * 3:(y + 1) * width * 3] for y in range(height))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def picture(rng, channel, size=12):
    pixels = bytearray()
    for _ in range(size * size):
        for c in range(3):
            pixels.append(rng.randrange(150, 250) if c == channel else rng.randrange(0, 90))
    return png(size, size, bytes(pixels))


def write(path, data):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)


def write_models():
    good = classifier(METADATA)
    write("tiny.onnx", good)
    write("bare.onnx", classifier({}))
    write("grey.onnx", classifier(METADATA, channels=1))
    write("wide.onnx", classifier(METADATA, channels=5))
    write("other.onnx", classifier(METADATA, dead=False, gain=6.0))
    write("empty.onnx", b"")
    write("truncated.onnx", good[:len(good) * 6 // 10])
    write("garbage.onnx", random.Random(1).randbytes(600))
    write("page.onnx", b"<!DOCTYPE html>\n<html><body>404</body></html>\n")
    write("lfs.onnx", b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 123456\n")
    x = [("x", [1, 3, 8, 8])]
    y = [("y", [1, 3, 8, 8])]
    write("cyclic.onnx", model([node("Add", ["x", "b"], ["a"]), node("Relu", ["a"], ["b"]), node("Relu", ["b"], ["y"])],
                               [], x, y))
    huge = tensor("w", [1 << 40, 1 << 20], [1.0])
    write("huge.onnx", model([node("Mul", ["x", "w"], ["y"])], [huge], x, y))
    short = fields(1, [4]) + field(2, 1) + field(8, "w") + field(9, b"\0" * 12)
    write("lying.onnx", model([node("Mul", ["x", "w"], ["y"])], [short], x, y))
    write("nan.onnx", classifier(METADATA, centre=float("nan")))
    outside = external_tensor("w", [3], "../../../../etc/passwd")
    write("escape.onnx", model([node("Mul", ["x", "w"], ["y"])], [outside], x, y))
    write("unknown.onnx", model([node("Relu", ["x"], ["r"], "relu"),
                                 node("Wobble", ["r"], ["y"], "wobble", "com.acme")], [], [("x", ["N", 3, 8, 8])],
                                [("y", ["N", 3])], METADATA))


def write_pictures():
    rng = random.Random(7)
    for label, name in enumerate(LABELS):
        for i in range(4):
            write("train/%s/%d.png" % (name, i), picture(rng, label))
        for i in range(3):
            write("val/%s/%d.png" % (name, i), picture(rng, label))
    write("one.png", picture(rng, 1))
    good = picture(rng, 2)
    write("mixed/good.png", good)
    write("mixed/cut.png", good[:len(good) // 2])
    write("mixed/zero.png", b"")
    os.makedirs("nothing", exist_ok=True)


if __name__ == "__main__":
    os.chdir(sys.argv[1])
    write_models()
    write_pictures()
