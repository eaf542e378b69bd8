# SPDX-License-Identifier: Apache-2.0
"""Goal: torch's files are read to known numbers; a hostile one can neither run anything nor crash the reader.
Method: tiny files written by torch_writer (not by the code under test); pickles of well-known attacks; every
prefix of a good file; every single byte of its pickle changed."""
import builtins
import collections
import os
import pickle
import struct
import zipfile

import numpy

import torch_writer as writer
from support import TestCase
from tandem_zoo import torch_file
from tandem_zoo.errors import ZooError

A = numpy.arange(6, dtype=numpy.float32).reshape(2, 3)
B = numpy.array([1.5, -2.0], dtype=numpy.float16)
C = numpy.array(7, dtype=numpy.int64)


def state():
    return collections.OrderedDict([("a.weight", writer.Tensor(A, key="1")), ("b", writer.Tensor(B, key="2")),
                                    ("n.num_batches_tracked", writer.Tensor(C, key="3"))])


class Attack:
    def __init__(self, function, *arguments):
        self.function, self.arguments = function, arguments

    def __reduce__(self):
        return self.function, self.arguments


class Reading(TestCase):
    def check(self, arrays):
        self.assertEqual(list(arrays), ["a.weight", "b", "n.num_batches_tracked"])
        numpy.testing.assert_array_equal(arrays["a.weight"], A)
        numpy.testing.assert_array_equal(arrays["b"], B)
        self.assertEqual(arrays["b"].dtype, numpy.float16)
        self.assertEqual(arrays["n.num_batches_tracked"].shape, ())
        self.assertEqual(int(arrays["n.num_batches_tracked"]), 7)

    def test_legacy(self):
        self.check(torch_file.read(self.file("w.pth", writer.legacy_bytes(state()))))

    def test_zip(self):
        self.check(torch_file.read(self.file("w.pth", writer.zip_bytes(state()))))

    def test_views(self):
        # One storage 0..5; transposed 3x2 (strides 1, 3) from offset 0, and a pair from offset 4.
        value = {"t": writer.Tensor(A, 0, (3, 2), (1, 3), "s"), "p": writer.Tensor(A, 4, (2,), (1,), "s")}
        for data in (writer.legacy_bytes(value), writer.zip_bytes(value)):
            arrays = torch_file.read(self.file("w.pth", data))
            numpy.testing.assert_array_equal(arrays["t"], A.T)
            numpy.testing.assert_array_equal(arrays["p"], [4, 5])

    def test_wrapped_checkpoint_and_parallel_prefix(self):
        value = {"epoch": 3, "state_dict": {"module.a": writer.Tensor(A)}, "best": 0.5, "name": "x"}
        arrays = torch_file.read(self.file("w.pth", writer.zip_bytes(value)))
        self.assertEqual(list(arrays), ["a"])

    def test_bfloat16(self):
        # 1.0 is 0x3f80, -2.5 is 0xc020.
        numpy.testing.assert_array_equal(torch_file.decode(struct.pack("<HH", 0x3F80, 0xC020), "bfloat16"),
                                         numpy.array([1.0, -2.5], dtype=numpy.float32))


class Hostile(TestCase):
    def attempt(self, value):
        """The value inside a state dict, in both forms, and alone as the first pickle of the file."""
        bad = collections.OrderedDict([("a", writer.Tensor(A)), ("evil", value)])
        for data in (writer.legacy_bytes(bad), writer.zip_bytes(bad), pickle.dumps(value, protocol=2),
                     pickle.dumps(value, protocol=4)):
            self.refuses(lambda: torch_file.read(self.file("w.pth", data)), "not allowed")

    def test_calls_are_refused_and_not_made(self):
        mark = self.path("mark")
        self.attempt(Attack(os.system, f"touch {mark}"))
        self.attempt(Attack(builtins.eval, f"open({mark!r}, 'w')"))
        self.attempt(Attack(builtins.exec, f"open({mark!r}, 'w')"))
        self.attempt(Attack(getattr, "text", "upper"))
        self.attempt(Attack(open, mark, "w"))
        self.assertFalse(os.path.exists(mark))

    def test_the_planted_attack_would_work_elsewhere(self):
        # The same pickle does run with Python's own reader; so the tests above test something.
        mark = self.path("mark")
        pickle.loads(pickle.dumps(Attack(os.mkdir, mark)))
        self.assertTrue(os.path.exists(mark))

    def test_opcodes_outside_the_list(self):
        head = b"\x80\x02"
        cases = (
            (b"(S'id'\nios\nsystem\n.", "STRING"),
            (b"c os\nsystem\n.", "not allowed"),
            (b"}q\x00\x81.", "NEWOBJ"),
            (b"\x82\x01.", "EXT1"),
            (b"(cos\nsystem\no.", "not allowed"),
            (b"}r\xff\xff\xff\x7f.", "proportion"),
            (b"h\x07.", "never kept"),
            (b"R.", "stack"),
            (b"}}}s.", "neither text"),
            (b"X\xff\xff\xff\x7fab.", "2147483647 bytes"),
            (b"\x8e" + b"\xff" * 7 + b"\x0fab.", "cut off"),
            (b"X\x09\x00\x00\x00ab.", "cut off"),
            (b".", "stack"))
        for body, word in cases:
            self.refuses(lambda: torch_file.read(self.file("w.pth", head + body)), word)

    def test_attributes_cannot_be_set_on_what_is_called(self):
        body = b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n}X\x01\x00\x00\x00aK\x01sb."
        self.refuses(lambda: torch_file.read(self.file("w.pth", body)), "no OrderedDict")

    def test_tensors_outside_their_storage(self):
        for tensor in (writer.Tensor(A, 5, (2,), (1,)), writer.Tensor(A, 0, (7,), (1,)),
                       writer.Tensor(A, 0, (2, 2), (5, 1)), writer.Tensor(A, 0, (1 << 40,), (0,)),
                       writer.Tensor(A, 0, (1,) * 9, (1,) * 9)):
            for data in (writer.legacy_bytes({"a": tensor}), writer.zip_bytes({"a": tensor})):
                self.refuses(lambda: torch_file.read(self.file("w.pth", data)), "reaches outside")
        for tensor in (writer.Tensor(A, -1, (2,), (1,)), writer.Tensor(A, 0, (2,), (-1,)),
                       writer.Tensor(A, 0, (2.0,), (1,)), writer.Tensor(A, 0, (2,), (1, 1))):
            data = writer.zip_bytes({"a": tensor})
            self.refuses(lambda: torch_file.read(self.file("w.pth", data)), "tensor")

    def test_no_tensors(self):
        for data, word in ((writer.zip_bytes({"lr": 0.1}), "no tensors"),
                           (writer.legacy_bytes([1]), "not a dictionary")):
            self.refuses(lambda: torch_file.read(self.file("w.pth", data)), word)

    def test_zip_bomb(self):
        data = writer.zip_bytes(state(), compression=zipfile.ZIP_DEFLATED)
        self.refuses(lambda: torch_file.read(self.file("w.pth", data)), "compressed")

    def test_missing_storage_in_zip(self):
        path = self.path("w.pth")
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("x/data.pkl", writer.pickle_object({"a": writer.Tensor(A, key="0")}, False)[0])
        self.refuses(lambda: torch_file.read(path), "x/data/0")

    def test_every_prefix(self):
        for data in (writer.legacy_bytes(state()), writer.zip_bytes(state())):
            for length in range(len(data)):
                self.refuses(lambda: torch_file.read(self.file("w.pth", data[:length])))

    def test_every_changed_byte(self):
        # Any outcome but another exception is right: some bytes are numbers and names.
        for data in (writer.legacy_bytes(state()), writer.zip_bytes(state())):
            for place in range(len(data)):
                for flip in (0x01, 0xFF):
                    changed = bytearray(data)
                    changed[place] ^= flip
                    try:
                        torch_file.read(self.file("w.pth", bytes(changed)))
                    except ZooError:
                        pass

    def test_no_file(self):
        self.refuses(lambda: torch_file.read(self.path("none.pth")), "No such file", code=7)
