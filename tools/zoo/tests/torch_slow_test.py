# SPDX-License-Identifier: Apache-2.0
"""Goal: every network computes what torchvision's or timm's does, and files that torch wrote are read.
Method: torch_reference.py under a Python that has them writes weights and answers; ours must agree. That Python
is TANDEM_TORCH_PYTHON, else Debian's (python3-torchvision), to which a virtual environment adds timm."""
import os
import subprocess
import unittest

import numpy

from support import SLOW, TestCase, run
from tandem_zoo import bootstrap, commands, registry, torch_file
from tandem_zoo.weights import StateWeights

# float32 sums in another order: a few units in the last place per layer, of the largest logit.
TOLERANCE = 2e-5


_DEBIAN = "/usr/bin/python3"
# timm 1.0 runs on Debian's torch 1.13; its other dependencies are optional for what is done here.
_TIMM = ("timm==1.0.31", "huggingface_hub==2.4.0", "safetensors==0.8.0")


def _outside():
    return {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}


def torch_python():
    """The interpreter to ask; without network, or without torch, the bare one, and tests skip."""
    chosen = os.environ.get("TANDEM_TORCH_PYTHON")
    if chosen:
        return chosen
    folder = bootstrap.venv_dir() + "-torch"
    python = os.path.join(folder, "bin", "python")

    def call(*command):
        try:
            return subprocess.run(command, capture_output=True, check=False, env=_outside()).returncode == 0
        except OSError:  # no such interpreter
            return False

    if call(_DEBIAN, "-c", "import torch") and not call(python, "-c", "import timm"):
        call(_DEBIAN, "-m", "venv", "--system-site-packages", folder)
        call(python, "-m", "pip", "install", "--quiet", "--no-deps", "--only-binary=:all:", *_TIMM)
    return python if call(python, "-c", "import timm") else _DEBIAN


@unittest.skipUnless(SLOW, "slow: zoo self-test --slow")
class AgainstTorch(TestCase):
    @classmethod
    def setUpClass(cls):
        cls.python = torch_python()

    def difference(self, name, arrays, x, y):
        model, _ = commands.build(name, StateWeights("file", arrays), classes=10, size=x.shape[2])
        return numpy.abs(run(model, x)[0] - y).max()

    def check(self, name):
        script = os.path.join(os.path.dirname(os.path.realpath(__file__)), "torch_reference.py")
        python = self.python
        done = subprocess.run([python, script, name, self.folder], capture_output=True, text=True,
                              check=False, env=_outside())
        if done.returncode == 77:
            self.skipTest(f"{python}: {done.stderr.strip().splitlines()[-1]}")
        self.assertEqual(done.returncode, 0, done.stderr)
        x, y = (numpy.load(self.path(f"{part}.npy")) for part in ("x", "y"))
        forms = [form for form in ("zip.pth", "legacy.pth", "wrapped.pth", "merged.pth")
                 if os.path.exists(self.path(form))]
        first = torch_file.read(self.path(forms[0]))
        for form in forms:
            arrays = torch_file.read(self.path(form))
            if form in ("legacy.pth", "wrapped.pth"):  # the same numbers: no need to run them again
                self.assertEqual(list(arrays), list(first))
                for key, values in arrays.items():
                    numpy.testing.assert_array_equal(values, first[key])
                continue
            limit = TOLERANCE * max(1.0, numpy.abs(y).max())
            self.assertLess(self.difference(name, arrays, x, y), limit, form)
            if name == "resnet18":  # planted fault: one channel's bias, off by a hundredth
                arrays["layer1.0.bn1.bias"] = arrays["layer1.0.bn1.bias"] + 0.01 * (numpy.arange(64) == 5)
                self.assertGreater(self.difference(name, arrays, x, y), limit)


def _add(name):
    setattr(AgainstTorch, f"test_{name}", lambda self: self.check(name))


for _name in registry.NETWORKS:
    if _name != "resnet8":  # not in torchvision
        _add(_name)
