# SPDX-License-Identifier: Apache-2.0
"""Reads weights saved by torch without torch: the legacy stream and the zip form, as {name: array}.

Legacy stream: five pickles (magic number, protocol 1001, sys_info, the object, the sorted storage keys), then
for each key an int64 element count and the raw numbers. Zip: NAME/data.pkl holds the object, NAME/data/KEY
the raw numbers. Layouts: torch/serialization.py of PyTorch.
"""
import math
import os
import struct
import zipfile

import numpy

from . import torch_pickle
from .errors import ZooError, from_os_error

LEGACY_MAGIC = 0x1950A86A20F9469CFC6C
_LEGACY_PROTOCOL = 1001
_PICKLE_LIMIT = 64 << 20
_WRAPPERS = ("state_dict", "model_state_dict", "model", "state_dict_ema", "model_ema")


def _bad(path, because, hint="fetch or save the file again"):
    return ZooError(f"cannot read the weights in {path}", because=because, hint=hint)


def _element_size(dtype):
    return 2 if dtype == "bfloat16" else numpy.dtype(dtype).itemsize


def widen_bfloat16(raw):
    """bfloat16 is the upper half of a float32: u16 numbers in, float32 out."""
    return (raw.astype(numpy.uint32) << 16).view(numpy.float32)


def decode(raw, dtype):
    """Little-endian bytes -> array of `dtype` ("bfloat16" becomes float32)."""
    if dtype == "bfloat16":
        return widen_bfloat16(numpy.frombuffer(raw, dtype="<u2"))
    return numpy.frombuffer(raw, dtype=numpy.dtype(dtype).newbyteorder("<"))


def _tensors_of(path, loaded):
    """The flat name -> TensorRef part of what was pickled, out of the usual checkpoint wrappers."""
    if not isinstance(loaded, dict):
        raise _bad(path, f"it holds a {type(loaded).__name__}, not a dictionary of tensors",
                   "save model.state_dict()")
    for wrapper in _WRAPPERS:
        if isinstance(loaded.get(wrapper), dict):
            loaded = loaded[wrapper]
            break
    tensors = {str(k): v for k, v in loaded.items() if isinstance(v, torch_pickle.TensorRef)}
    if not tensors:
        raise _bad(path, "it holds no tensors", "save model.state_dict()")
    if all(name.startswith("module.") for name in tensors):  # nn.DataParallel's prefix
        tensors = {name[len("module."):]: value for name, value in tensors.items()}
    return tensors


def _materialise(path, tensors, storages):
    arrays = {}
    for name, tensor in tensors.items():
        data = storages.get(tensor.storage.key)
        if data is None:
            raise _bad(path, f"the numbers of tensor '{name}' are missing")
        count = math.prod(tensor.shape)
        last = tensor.offset + sum((n - 1) * s for n, s in zip(tensor.shape, tensor.strides)) if count else 0
        # A stride of 0 could ask for more elements than the file has: weights never do.
        if len(tensor.shape) > 8 or count > data.size or (count and last >= data.size):
            raise _bad(path, f"tensor '{name}' {tensor.shape} reaches outside its {data.size} stored numbers")
        if not count:
            arrays[name] = numpy.zeros(tensor.shape, dtype=data.dtype)
            continue
        byte_strides = [s * data.itemsize for s in tensor.strides]
        view = numpy.lib.stride_tricks.as_strided(data[tensor.offset:], tensor.shape, byte_strides,
                                                  writeable=False)
        arrays[name] = numpy.ascontiguousarray(view)
        if view.ndim == 0:  # ascontiguousarray makes a scalar one-dimensional
            arrays[name] = arrays[name].reshape(())
    return arrays


def _read_legacy(path, stream, size):
    magic = torch_pickle.load(stream)
    if magic != LEGACY_MAGIC:
        raise _bad(path, "it does not start as a torch file does",
                   "give a .pth written by torch.save, or a .safetensors file")
    protocol, system = torch_pickle.load(stream), torch_pickle.load(stream)
    if protocol != _LEGACY_PROTOCOL or not isinstance(system, dict) or not system.get("little_endian", True):
        raise _bad(path, f"protocol {protocol} or a big-endian file is not supported")
    tensors = _tensors_of(path, torch_pickle.load(stream))
    keys = torch_pickle.load(stream)
    if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
        raise _bad(path, "its list of storages is damaged")
    wanted = {t.storage.key: t.storage for t in tensors.values()}
    storages = {}
    for key in keys:
        header = stream.read(8)
        count = struct.unpack("<q", header)[0] if len(header) == 8 else -1
        known = wanted.get(key)
        if known is None:
            raise _bad(path, f"storage {key} belongs to no tensor of the state dict",
                       "save model.state_dict() alone")
        if count != known.numel:
            raise _bad(path, f"storage {key} is damaged or cut off")
        length = count * _element_size(known.dtype)
        if length > size - stream.tell():
            raise _bad(path, f"it is cut off inside storage {key}")
        storages[key] = decode(stream.read(length), known.dtype)
    return _materialise(path, tensors, storages)


def _zip_member(path, archive, name, limit):
    try:
        info = archive.getinfo(name)
    except KeyError:
        raise _bad(path, f"the archive has no member {name}") from None
    # torch never compresses; a compressed member could unfold without bound.
    if info.compress_type != zipfile.ZIP_STORED or info.file_size > limit:
        raise _bad(path, f"member {name} is compressed or too large")
    return archive.read(info)


def _read_zip(path, size):
    try:
        with zipfile.ZipFile(path) as archive:
            pickles = [n for n in archive.namelist() if n.count("/") == 1 and n.endswith("/data.pkl")]
            if len(pickles) != 1:
                raise _bad(path, "the archive holds no torch state dict",
                           "TorchScript files are not supported")
            root = pickles[0][: -len("data.pkl")]
            if root + "byteorder" in archive.namelist() and \
                    _zip_member(path, archive, root + "byteorder", 16).strip() != b"little":
                raise _bad(path, "big-endian files are not supported")
            import io
            tensors = _tensors_of(path, torch_pickle.load(
                io.BytesIO(_zip_member(path, archive, pickles[0], _PICKLE_LIMIT))))
            storages = {}
            for storage in {t.storage for t in tensors.values()}:
                raw = _zip_member(path, archive, f"{root}data/{storage.key}", size)
                if len(raw) != storage.numel * _element_size(storage.dtype):
                    raise _bad(path, f"storage {storage.key} has {len(raw)} bytes, not those of "
                                     f"{storage.numel} {storage.dtype} numbers")
                storages[storage.key] = decode(raw, storage.dtype)
            return _materialise(path, tensors, storages)
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError) as error:
        raise _bad(path, f"the zip archive is damaged or cut off ({error})") from error


def read(path):
    """{name: array} of a .pth/.pt file in either form. Raises ZooError."""
    try:
        size = os.path.getsize(path)
        with open(path, "rb") as stream:
            head = stream.read(4)
            if not head:
                raise _bad(path, "it is empty")
            if head == b"PK\x03\x04":
                return _read_zip(path, size)
            stream.seek(0)
            return _read_legacy(path, stream, size)
    except OSError as error:
        raise from_os_error(f"cannot read the weights in {path}", error) from error
