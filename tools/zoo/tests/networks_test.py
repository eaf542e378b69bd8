# SPDX-License-Identifier: Apache-2.0
"""Goal: every network is the published one and its random weights keep activations in range.
Method: learnable parameters and multiply-accumulates against published figures; the ONNX checker; a forward
pass of two images by onnx's reference evaluator at small size. Against torch itself: torch_slow_test.py."""
import hashlib
import unittest

import numpy
import onnx

from support import SLOW, TestCase, ZeroWeights, photo_like, run
from tandem_zoo import commands, registry, stats
from tandem_zoo.builder import same_pads
from tandem_zoo.errors import ZooError
from tandem_zoo.weights import RandomWeights, StateWeights, Stream

# Millions of parameters and of multiply-accumulates, and how far ours may lie from the latter: torchvision's
# documentation (resnet, vgg, mobilenet), TensorFlow's efficientnet/lite README (its counts include more than
# convolutions), timm's model cards (mobilevit_s, fastvit_sa12), MLPerf Tiny (resnet8: 78,666 parameters with
# 480 running statistics).
PUBLISHED = {
    "resnet8": (0.078186, 12.5, 0.01), "resnet18": (11.69, 1814, 0.001), "resnet50": (25.56, 4089, 0.001),
    "vgg16": (138.36, 15470, 0.001), "mobilenet_v2": (3.50, 301, 0.002),
    "mobilenet_v3_small": (2.54, 57, 0.01),
    "mobilenet_v3_large": (5.48, 217, 0.003), "efficientnet_lite0": (4.65, 407, 0.06),
    "efficientnet_lite1": (5.42, 631, 0.06), "efficientnet_lite2": (6.09, 899, 0.06),
    "efficientnet_lite4": (13.01, 2640, 0.06), "mobilevit_s": (5.58, 2030, 0.02),
    "fastvit_sa12": (11.55, 1940, 0.02)}
# What the short lane runs; the slow one runs all but vgg16, which works at full size only.
QUICK = ("resnet8", "mobilenet_v3_small", "efficientnet_lite0", "mobilevit_s", "fastvit_sa12")
SMALL = {"mobilevit_s": 128, "fastvit_sa12": 64}


class Published(TestCase):
    def test_parameters_and_macs(self):
        self.assertEqual(set(PUBLISHED), set(registry.NETWORKS))
        for name, (parameters, macs, tolerance) in PUBLISHED.items():
            if name == "vgg16" and not SLOW:  # 553 MB
                continue
            with self.subTest(name):
                network = registry.NETWORKS[name]
                model, _ = commands.build(name, ZeroWeights())
                self.assertEqual(stats.count_parameters(model), network.parameters)
                self.assertAlmostEqual(network.parameters / 1e6, parameters, delta=0.0051)
                self.assertEqual(stats.count_macs(model), network.macs)
                self.assertLess(abs(network.macs / 1e6 - macs), tolerance * macs)

    def test_form(self):
        for name in ("resnet8", "mobilenet_v3_small", "mobilevit_s"):
            model, recipe = commands.build(name, ZeroWeights(), classes=7)
            onnx.checker.check_model(model, full_check=True)
            names = [n.name for n in model.graph.node]
            self.assertEqual(len(names), len(set(names)))
            self.assertNotIn("", names)
            (x,), (y,) = model.graph.input, model.graph.output
            self.assertEqual((x.name, x.type.tensor_type.shape.dim[0].dim_param), ("input", "N"))
            self.assertEqual((y.name, y.type.tensor_type.shape.dim[1].dim_value), ("logits", 7))
            self.assertEqual(recipe["size"], [d.dim_value for d in x.type.tensor_type.shape.dim][2:])
            self.assertIn("features", {o for n in model.graph.node for o in n.output})


class Random(TestCase):
    def test_forward_and_range(self):
        for name in registry.NETWORKS:
            if name not in QUICK and not SLOW or name == "vgg16":
                continue
            with self.subTest(name):
                model, recipe = commands.build(name, RandomWeights(5), classes=10,
                                               size=SMALL.get(name, min(registry.NETWORKS[name].size, 96)))
                watched = [n.output[0] for n in model.graph.node
                           if n.op_type in ("BatchNormalization", "LayerNormalization")]
                logits, *normal = run(model, photo_like(recipe, 2), ["logits", *watched])
                self.assertEqual(logits.shape, (2, 10))
                self.assertTrue(numpy.isfinite(logits).all())
                self.assertGreater(numpy.abs(logits[0] - logits[1]).max(), 1e-4)  # the image matters
                for value, values in zip(watched, normal):
                    self.assertTrue(0.05 < values.std() < 8, (value, values.std()))

    def test_same_seed_same_bytes(self):
        first, again, other = (commands.build("resnet8", RandomWeights(seed))[0].SerializeToString()
                               for seed in (1, 1, 2))
        self.assertEqual(first, again)
        self.assertNotEqual(first, other)

    def test_stream(self):
        # The definition, in whole numbers: eight 16-bit parts of two 64-bit words are one number. A change of
        # it changes every model that a seed names, so the first numbers are also written down.
        seed = int.from_bytes(hashlib.sha256(b"1:conv1.weight").digest()[:16], "little")
        words = [int(numpy.random.PCG64(seed).random_raw(2)[i]) for i in range(2)]
        parts = [word >> shift & 0xFFFF for word in words for shift in (0, 16, 32, 48)]
        first = (sum(parts) - 4 * 65535) / (8 * (65536**2 - 1) / 12) ** 0.5
        drawn = Stream(1, "conv1.weight").normal((3,), 1.0)
        self.assertAlmostEqual(float(drawn[0]), first, places=6)
        numpy.testing.assert_allclose(drawn, [2.65373230, -0.97897738, 0.85561705], rtol=1e-7)
        numpy.testing.assert_allclose(Stream(1, "x").uniform((3,), 0, 1),
                                      [0.52486938, 0.31200343, 0.22910720], rtol=1e-7)
        numbers = Stream(1, "conv1.weight").normal((100_000,), 2.0)
        self.assertAlmostEqual(float(numbers.mean()), 0.0, delta=0.03)
        self.assertAlmostEqual(float(numbers.std()), 2.0, delta=0.03)
        self.assertLess(float(numpy.abs(numbers).max()), 2 * 4.9)
        uniform = Stream(1, "x").uniform((100_000,), 0.8, 1.2)
        self.assertTrue((uniform >= 0.8).all() and (uniform < 1.2).all())
        self.assertAlmostEqual(float(uniform.mean()), 1.0, delta=0.002)

    def test_he_deviation(self):
        model, _ = commands.build("resnet18", RandomWeights(0), size=64)
        for tensor in model.graph.initializer:
            if tensor.name.endswith(".weight") and len(tensor.dims) == 4 and "layer2" in tensor.name:
                values = onnx.numpy_helper.to_array(tensor)
                self.assertAlmostEqual(values.std() * (values[0].size / 2) ** 0.5, 1.0, delta=0.02)


class SamePadding(unittest.TestCase):
    def test_hand_computed(self):
        # 224, 3x3, stride 2: 112 outputs reach over (112 - 1) * 2 + 3 = 225, one more than there is: behind.
        self.assertEqual(same_pads(224, 3, 2), (0, 1))
        self.assertEqual(same_pads(224, 5, 2), (1, 2))
        self.assertEqual(same_pads(75, 3, 2), (1, 1))  # odd: 38 outputs reach over 77
        self.assertEqual(same_pads(56, 3, 1), (1, 1))
        self.assertEqual(same_pads(56, 1, 1), (0, 0))
        self.assertEqual(same_pads(16, 1, 2), (0, 0))

    def test_in_the_graph(self):
        model, _ = commands.build("efficientnet_lite4", ZeroWeights())
        pads = {n.name: list(onnx.helper.get_node_attr_value(n, "pads")) for n in model.graph.node
                if n.op_type == "Conv"}
        self.assertEqual(pads["conv_stem"], [0, 0, 1, 1])
        self.assertEqual(pads["blocks.3.0.conv_dw"], [0, 0, 1, 1])  # 38 to 19
        self.assertEqual(pads["blocks.2.0.conv_dw"], [2, 2, 2, 2])  # 75 to 38 with 5x5


class GivenWeights(TestCase):
    def arrays(self, name, **options):
        model, _ = commands.build(name, RandomWeights(3), **options)
        return {t.name: onnx.numpy_helper.to_array(t) for t in model.graph.initializer}, model

    def test_round_trip(self):
        arrays, model = self.arrays("resnet8")
        arrays["bn1.num_batches_tracked"] = numpy.array(5)
        again, _ = commands.build("resnet8", StateWeights("w", arrays))
        self.assertEqual(again.SerializeToString(), model.SerializeToString())

    def test_what_does_not_fit_is_listed(self):
        arrays, _ = self.arrays("resnet8")
        arrays["extra.weight"] = arrays.pop("conv1.bias")
        arrays["fc.bias"] = numpy.full(10, numpy.nan, dtype=numpy.float32)
        arrays["bn1.bias"] = numpy.zeros(16, dtype=numpy.int64)
        self.refuses(lambda: commands.build("resnet8", StateWeights("w.pth", arrays)), "w.pth",
                     "missing (1): conv1.bias", "unexpected (1): extra.weight", "fc.bias holds NaN",
                     "bn1.bias holds int64")

    def test_other_classes(self):
        arrays, _ = self.arrays("resnet8", classes=5)
        self.refuses(lambda: commands.build("resnet8", StateWeights("w", arrays)), "fc.weight is [5, 64]",
                     "--classes")
        commands.build("resnet8", StateWeights("w", arrays), classes=5)

    def test_sizes_that_cannot_be(self):
        for name, size in (("mobilevit_s", 100), ("vgg16", 100), ("vgg16", 16)):
            with self.assertRaises(ZooError) as caught:
                commands.build(name, ZeroWeights(), size=size)
            self.assertEqual(caught.exception.code, 2)


class FastVitMerging(TestCase):
    """Training branches, evaluated one by one, equal the one merged convolution."""

    def test_mobile_one(self):
        from tandem_zoo.networks import fastvit
        random = numpy.random.default_rng(1)
        groups, channels = 4, 8
        names = {"conv_kxk.0": 3, "conv_scale": 1, "identity": 0}
        arrays, nodes, terms = {}, [], []
        for name, kernel in names.items():
            norm = f"m.{name}.bn" if kernel else f"m.{name}"
            for part, low in (("weight", 0.5), ("bias", -1), ("running_mean", -1), ("running_var", 0.5)):
                arrays[f"{norm}.{part}"] = random.uniform(low, 1.5, channels).astype(numpy.float32)
            source = "input"
            if kernel:
                weight = random.normal(size=(channels, channels // groups, kernel, kernel))
                arrays[f"m.{name}.conv.weight"] = weight.astype(numpy.float32)
                nodes.append(onnx.helper.make_node("Conv", ["input", f"m.{name}.conv.weight"], [f"{name}_c"],
                                                   group=groups, pads=[kernel // 2] * 4))
                source = f"{name}_c"
            inputs = [source] + [f"{norm}.{p}" for p in ("weight", "bias", "running_mean", "running_var")]
            nodes.append(onnx.helper.make_node("BatchNormalization", inputs, [f"{name}_n"], epsilon=1e-5))
            terms.append(f"{name}_n")
        nodes.append(onnx.helper.make_node("Sum", terms, ["logits"]))

        class Host:
            weights = StateWeights("w", arrays)

        def branches(parts):
            parts.add_conv("m.conv_kxk.0", 3)
            parts.add_conv("m.conv_scale", 1)
            parts.add_identity("m.identity")

        weight, bias = fastvit._merged(Host, "m", channels, channels, groups, 3, branches)
        Host.weights.finish()
        x = random.normal(size=(1, channels, 6, 6)).astype(numpy.float32)

        def evaluate(graph_nodes, tensors):
            shapes = [onnx.helper.make_tensor_value_info(n, 1, None) for n in ("input", "logits")]
            graph = onnx.helper.make_graph(graph_nodes, "g", shapes[:1], shapes[1:],
                                           [onnx.numpy_helper.from_array(v, k) for k, v in tensors.items()])
            return run(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 15)]), x)[0]

        merged = onnx.helper.make_node("Conv", ["input", "w", "b"], ["logits"], group=groups, pads=[1] * 4)
        numpy.testing.assert_allclose(evaluate([merged], {"w": weight, "b": bias}), evaluate(nodes, arrays),
                                      rtol=1e-5, atol=1e-5)
