# SPDX-License-Identifier: Apache-2.0
"""Goal: what is written follows the schema and the published recipes; what does not follow it is refused."""
import copy
import json

from support import TestCase
from tandem_zoo import preprocess, registry


class Schema(TestCase):
    def test_the_example_of_the_readme(self):
        self.assertEqual(preprocess.dump(preprocess.PRESETS["efficientnet_lite0"][0]), (
            '{"layout":"nchw","color":"rgb","size":[224,224],"resize":{"rule":"short_side","short_side":256,'
            '"filter":"bicubic","antialias":true},"crop":"center","mean":[127,127,127],"std":[128,128,128],'
            '"range":[0,255]}'))

    def test_all_presets_and_recipes_are_valid(self):
        for name, (recipe, _) in preprocess.PRESETS.items():
            self.assertEqual(preprocess.problem(recipe), "", name)
        for network in registry.NETWORKS.values():
            for size in (network.size, 32, 96, 512):
                self.assertEqual(preprocess.problem(network.recipe(size)), "", network.name)

    def test_published_recipes(self):
        short = {n: preprocess.PRESETS[n][0]["resize"]["short_side"] for n in preprocess.PRESETS
                 if preprocess.PRESETS[n][0]["resize"]["rule"] == "short_side"}
        expected = {"resnet18": 256, "efficientnet_lite4": 332, "mobilevit_s": 284, "squeezenet1_0": 256}
        self.assertEqual({name: short[name] for name in expected}, expected)
        for scaled, fraction in zip(preprocess.PRESETS["imagenet"][0]["mean"], (0.485, 0.456, 0.406)):
            self.assertAlmostEqual(scaled, 255 * fraction, places=9)
        for scaled, fraction in zip(preprocess.PRESETS["imagenet"][0]["std"], (0.229, 0.224, 0.225)):
            self.assertAlmostEqual(scaled, 255 * fraction, places=9)

    def test_problems(self):
        good = preprocess.PRESETS["imagenet"][0]
        cases = (
            (("color",), "rgba", "color"),
            (("size",), [224], "size"),
            (("size",), [0, 1], "size"),
            (("size",), [True, 1], "size"),
            (("crop",), "middle", "crop"),
            (("mean",), [1, 2], "mean"),
            (("mean",), [1, 2, "3"], "mean"),
            (("mean",), [1, 2, float("nan")], "mean"),
            (("std",), [1, 0, 1], "std"),
            (("range",), [255, 0], "range"),
            (("layout",), "hwc", "layout"),
            (("resize",), "short", "rule"),
            (("resize", "rule"), "long", "rule"),
            (("resize", "filter"), "nearest", "filter"),
            (("resize", "antialias"), 1, "antialias"),
            (("resize", "short_side"), 100, "smaller"),
            (("resize", "short_side"), None, "whole"),
            (("resize", "long_side"), 1, "unknown"),
            (("extra",), 1, "unknown"))
        for path, value, word in cases:
            bad = copy.deepcopy(good)
            target = bad if len(path) == 1 else bad[path[0]]
            target[path[-1]] = value
            self.assertIn(word, preprocess.problem(bad), (path, value))
        for key in good:
            self.assertIn(key, preprocess.problem({k: v for k, v in good.items() if k != key}))
        self.assertIn("object", preprocess.problem([]))

    def test_parse(self):
        good = preprocess.PRESETS["ppocr_cls"][0]
        self.assertEqual(preprocess.parse(json.dumps(good)), good)
        self.refuses(lambda: preprocess.parse("{"), "not JSON", code=2)
        self.refuses(lambda: preprocess.parse("{}"), "missing", code=2)
