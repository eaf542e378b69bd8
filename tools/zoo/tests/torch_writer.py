# SPDX-License-Identifier: Apache-2.0
"""Writes tiny files in torch's two forms without torch, for tests of the readers."""
import collections
import io
import pickle
import struct
import sys
import types
import zipfile

import numpy

LEGACY_MAGIC = 0x1950A86A20F9469CFC6C
_CLASSES = {"float32": "FloatStorage", "float64": "DoubleStorage", "float16": "HalfStorage",
            "int64": "LongStorage", "uint8": "ByteStorage", "bool": "BoolStorage"}


class Tensor:
    """What the pickler turns into a call of _rebuild_tensor_v2 over a storage of its own or a shared one."""

    def __init__(self, data, offset=0, shape=None, strides=None, key=None):
        self.data = numpy.ascontiguousarray(data).reshape(-1)
        self.shape = tuple(numpy.shape(data)) if shape is None else shape
        item = numpy.ascontiguousarray(data)
        self.strides = tuple(s // item.itemsize for s in item.strides)[:len(self.shape)] \
            if strides is None else strides
        self.offset, self.key = offset, key

    def __reduce__(self):
        torch_utils = sys.modules["torch._utils"]
        kind = getattr(sys.modules["torch"], _CLASSES[self.data.dtype.name])
        storage = _Storage(kind, self.key or f"{id(self)}", self.data)
        return torch_utils._rebuild_tensor_v2, (storage, self.offset, self.shape, self.strides, False,
                                                collections.OrderedDict())


class _Storage:
    def __init__(self, kind, key, data):
        self.kind, self.key, self.data = kind, key, data


def _fake_modules():
    torch, utils = types.ModuleType("torch"), types.ModuleType("torch._utils")
    for name in set(_CLASSES.values()):
        setattr(torch, name, type(name, (), {"__module__": "torch"}))

    def _rebuild_tensor_v2():
        raise AssertionError

    _rebuild_tensor_v2.__module__, _rebuild_tensor_v2.__qualname__ = "torch._utils", "_rebuild_tensor_v2"
    utils._rebuild_tensor_v2, torch._utils = _rebuild_tensor_v2, utils
    return {"torch": torch, "torch._utils": utils}


def pickle_object(value, legacy):
    """(bytes of the pickle, {key: data}) of a state dict whose values are Tensors."""
    storages = {}

    class Pickler(pickle.Pickler):
        def persistent_id(self, item):
            if not isinstance(item, _Storage):
                return None
            storages[item.key] = item.data
            tail = (None,) if legacy else ()
            return ("storage", item.kind, item.key, "cpu", item.data.size, *tail)

    fakes = _fake_modules()
    saved = {name: sys.modules.get(name) for name in fakes}
    sys.modules.update(fakes)
    try:
        stream = io.BytesIO()
        Pickler(stream, protocol=2).dump(value)
    finally:
        for name, module in saved.items():
            sys.modules.pop(name)
            if module is not None:
                sys.modules[name] = module
    return stream.getvalue(), storages


def legacy_bytes(value):
    body, storages = pickle_object(value, legacy=True)
    sizes = {"short": 2, "int": 4, "long": 4}
    system = {"protocol_version": 1001, "little_endian": True, "type_sizes": sizes}
    keys = sorted(storages)
    out = b"".join(pickle.dumps(part, protocol=2) for part in (LEGACY_MAGIC, 1001, system))
    out += body + pickle.dumps(keys, protocol=2)
    return out + b"".join(struct.pack("<q", storages[k].size) + storages[k].tobytes() for k in keys)


def zip_bytes(value, root="archive", compression=zipfile.ZIP_STORED):
    body, storages = pickle_object(value, legacy=False)
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as archive:
        archive.writestr(f"{root}/data.pkl", body)
        archive.writestr(f"{root}/byteorder", "little")
        for key, data in storages.items():
            archive.writestr(f"{root}/data/{key}", data.tobytes())
    return stream.getvalue()
