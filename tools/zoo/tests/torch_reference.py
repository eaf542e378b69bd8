# SPDX-License-Identifier: Apache-2.0
"""Run by a Python that has torch, torchvision and, for some networks, timm: makes a network of theirs
with random weights and lived-in BatchNormalization, and writes its state dict, an input and the output.

    python torch_reference.py NETWORK FOLDER      exit code 77: a library is missing
"""
import os
import sys

SIZES = {"mobilevit_s": 128, "fastvit_sa12": 128, "vgg16": 224}
TIMM = {"mobilevit_s": "mobilevit_s", "fastvit_sa12": "fastvit_sa12",
        **{f"efficientnet_lite{i}": f"tf_efficientnet_lite{i}" for i in (0, 1, 2, 4)}}


def main(name, folder):
    try:
        import numpy
        import torch
        if name in TIMM:
            import timm
            model = timm.create_model(TIMM[name], pretrained=False, num_classes=10)
        else:
            import torchvision
            model = getattr(torchvision.models, name)(num_classes=10)
    except ImportError as error:
        print(error, file=sys.stderr)
        return 77
    torch.manual_seed(1)
    size = SIZES.get(name, 97)  # odd: padding must be right
    with torch.no_grad():
        for key, value in model.state_dict().items():
            if key.endswith("gamma"):  # layer scale starts at 1e-5, which would hide mistakes
                value.uniform_(0.2, 0.6)
        for module in model.modules():
            if isinstance(module, torch.nn.BatchNorm2d):
                module.momentum = 0.5
                module.weight.uniform_(0.5, 1.5)
                module.bias.uniform_(-0.3, 0.3)
        model.train()
        for _ in range(4):
            model(torch.randn(4, 3, size, size))
        model.eval()
        x = torch.randn(2, 3, size, size)
        numpy.save(os.path.join(folder, "x.npy"), x.numpy())
        numpy.save(os.path.join(folder, "y.npy"), model(x).numpy())
    torch.save(model.state_dict(), os.path.join(folder, "zip.pth"))
    torch.save(model.state_dict(), os.path.join(folder, "legacy.pth"), _use_new_zipfile_serialization=False)
    torch.save({"state_dict": model.state_dict(), "epoch": 1}, os.path.join(folder, "wrapped.pth"))
    if name == "fastvit_sa12":
        merged = timm.utils.reparameterize_model(model)
        torch.save(merged.state_dict(), os.path.join(folder, "merged.pth"))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
