# SPDX-License-Identifier: Apache-2.0
"""Writes ONNX files whole or not at all, with Tandem's metadata; reads them for `annotate` and `info`."""
import json
import os
import tempfile

import google.protobuf.message
import onnx

from . import VERSION, preprocess
from .errors import ZooError, from_os_error

SOURCE_KEY = "tandem.source"
LICENCE_KEY = "tandem.licence"


def set_metadata(model, entries):
    """Sets metadata_props; an existing key is replaced, None removes it."""
    kept = [(p.key, p.value) for p in model.metadata_props if p.key not in entries]
    del model.metadata_props[:]
    for key, value in kept + [(k, v) for k, v in entries.items() if v is not None]:
        model.metadata_props.add(key=key, value=value)


def get_metadata(model):
    return {p.key: p.value for p in model.metadata_props}


def describe(model, recipe, source, labels=None, licence=None):
    """The metadata of every file that the zoo writes."""
    model.producer_version = VERSION
    set_metadata(model, {
        preprocess.KEY: preprocess.dump(recipe),
        preprocess.LABELS_KEY: json.dumps(labels) if labels else None,
        SOURCE_KEY: json.dumps(source, separators=(",", ":")),
        LICENCE_KEY: licence})


def write_bytes(path, data):
    """Atomically: the final name holds the old file or the whole new one."""
    directory = os.path.dirname(os.path.abspath(path))
    temporary = None
    try:
        os.makedirs(directory, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=".zoo-", dir=directory)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)  # mkstemp makes it private
        os.replace(temporary, path)
        temporary = None
    except OSError as error:
        raise from_os_error(f"cannot write {path}", error, "choose another place with -o") from error
    finally:
        if temporary is not None:
            try:
                os.unlink(temporary)
            except OSError:
                pass


def write(path, model):
    try:
        data = model.SerializeToString(deterministic=True)
    except (ValueError, google.protobuf.message.EncodeError) as error:
        raise ZooError(f"cannot write {path}", str(error), "files over 2 GiB are not supported") from error
    write_bytes(path, data)


def read(path):
    """A ModelProto; external data stays where it is."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        raise from_os_error(f"cannot read {path}", error) from error
    model = onnx.ModelProto()
    try:
        model.ParseFromString(data)
    except google.protobuf.message.DecodeError as error:
        raise ZooError(f"{path} is not an ONNX file", str(error), "give a model file") from error
    if not model.HasField("graph") or not model.graph.node:
        raise ZooError(f"{path} is not an ONNX file", "it has no graph", "give a model file")
    return model


def input_shape(model):
    """Dimensions (numbers, or None where free) of the one image input; None if there are several."""
    fixed = {i.name for i in model.graph.initializer}
    inputs = [i for i in model.graph.input if i.name not in fixed]
    if len(inputs) != 1:
        return None
    return [d.dim_value if d.HasField("dim_value") else None for d in inputs[0].type.tensor_type.shape.dim]
