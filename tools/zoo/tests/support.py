# SPDX-License-Identifier: Apache-2.0
"""What several tests need: temporary files, a source of zero weights, evaluation of a model."""
import os
import tempfile
import unittest

import numpy
import onnx

from tandem_zoo.errors import ZooError

SLOW = os.environ.get("TANDEM_ZOO_SLOW") == "1"


class TestCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="zoo-test-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def file(self, name, data):
        with open(self.path(name), "wb") as stream:
            stream.write(data)
        return self.path(name)

    def refuses(self, call, *words, code=3):
        """The call raises a ZooError that says all the words; returns its text."""
        with self.assertRaises(ZooError) as caught:
            call()
        text = str(caught.exception)
        for word in words:
            self.assertIn(word, text)
        self.assertEqual(caught.exception.code, code, text)
        return text


class ZeroWeights:
    """Zeros of every shape asked for: enough to count a network at full size, quickly."""

    random = False

    def has(self, name):
        return False

    def tensor(self, name, shape, draw):
        return numpy.zeros(shape, dtype=numpy.float32)

    def finish(self):
        pass


def shared_model(name):
    """Path of a development model outside the repository (TANDEM_SHARED, or ../shared beside it), or None."""
    tree = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__)))))
    root = os.environ.get("TANDEM_SHARED") or os.path.join(os.path.dirname(tree), "shared")
    path = os.path.join(root, "models", name)
    return path if os.path.exists(path) else None


def run(model, x, outputs=None):
    """Outputs of a ModelProto by onnx's reference evaluator."""
    from onnx.reference import ReferenceEvaluator
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for opset in copy.opset_import:
        # Below 14 the evaluator normalizes by the batch's own statistics; nothing else here changes meaning.
        opset.version = max(opset.version, 15)
    if outputs:
        del copy.graph.output[:]
        copy.graph.output.extend(onnx.helper.make_tensor_value_info(o, 1, None) for o in outputs)
    return ReferenceEvaluator(copy).run(None, {"input": x})


def photo_like(recipe, count=1, seed=3):
    """Preprocessed noise with the statistics of photos: blocks and fine grain."""
    random = numpy.random.default_rng(seed)
    height, width = recipe["size"]
    blocks = random.normal(size=(count, 3, height // 8 + 1, width // 8 + 1)).repeat(8, 2).repeat(8, 3)
    grain = random.normal(size=(count, 3, height, width))
    pixels = numpy.clip(118 + 60 * (0.8 * blocks[:, :, :height, :width] + 0.6 * grain), 0, 255)
    mean, std = (numpy.array(recipe[key])[:, None, None] for key in ("mean", "std"))
    return ((pixels - mean) / std).astype(numpy.float32)
