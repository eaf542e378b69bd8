# SPDX-License-Identifier: Apache-2.0
"""Goal: a .safetensors file is read to known numbers; a damaged one is refused. Method: files put together by
hand, every prefix, lying headers."""
import json
import struct

import numpy

from support import TestCase
from tandem_zoo import safetensors_file


def file_bytes(header, body):
    text = json.dumps(header).encode() if isinstance(header, dict) else header
    return struct.pack("<Q", len(text)) + text + body


GOOD = {"__metadata__": {"format": "pt"}, "w": {"dtype": "F32", "shape": [2, 1], "data_offsets": [0, 8]},
        "h": {"dtype": "BF16", "shape": [1], "data_offsets": [8, 10]},
        "n": {"dtype": "I64", "shape": [], "data_offsets": [10, 18]}}
BODY = struct.pack("<ff", 1.5, -2.0) + struct.pack("<H", 0x3F80) + struct.pack("<q", 9)


class Safetensors(TestCase):
    def read(self, data):
        return safetensors_file.read(self.file("w.safetensors", data))

    def test_numbers(self):
        arrays = self.read(file_bytes(GOOD, BODY))
        self.assertEqual(sorted(arrays), ["h", "n", "w"])
        numpy.testing.assert_array_equal(arrays["w"], numpy.array([[1.5], [-2.0]], dtype=numpy.float32))
        numpy.testing.assert_array_equal(arrays["h"], numpy.array([1.0], dtype=numpy.float32))
        self.assertEqual((int(arrays["n"]), arrays["n"].shape), (9, ()))

    def test_every_prefix(self):
        data = file_bytes(GOOD, BODY)
        for length in range(len(data)):
            self.refuses(lambda: self.read(data[:length]))

    def test_lying_headers(self):
        for change in ({"shape": [3, 1]}, {"data_offsets": [0, 80]}, {"data_offsets": [8, 0]},
                       {"dtype": "F99"}, {"shape": [-2, -1]}, {"shape": "x"}, {"data_offsets": [0]},
                       {"shape": [1e9]}, {"shape": [True, 2]}, {"data_offsets": None}):
            self.refuses(lambda: self.read(file_bytes({"w": {**GOOD["w"], **change}}, BODY)), "tensor 'w'")
        self.refuses(lambda: self.read(file_bytes(b"[1, 2]", BODY)), "not a JSON object")
        self.refuses(lambda: self.read(file_bytes(b"[" * 100000, BODY)), "damaged")
        self.refuses(lambda: self.read(file_bytes({"w": 3}, BODY)), "not understood")
        self.refuses(lambda: self.read(file_bytes({}, BODY)), "no tensors")
        self.refuses(lambda: self.read(struct.pack("<Q", 1 << 60) + b"{}"), "cut off")

    def test_no_file(self):
        self.refuses(lambda: safetensors_file.read(self.path("none")), "No such file", code=7)
