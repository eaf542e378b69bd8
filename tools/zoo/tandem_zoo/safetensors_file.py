# SPDX-License-Identifier: Apache-2.0
"""Reads a .safetensors file as {name: array}.

Format: u64 little-endian header length, a JSON header {name: {dtype, shape, data_offsets}}, then the numbers,
row-major and little-endian; offsets count from the end of the header.
"""
import json
import math
import os
import struct

from .errors import ZooError, from_os_error
from .torch_file import decode

_HEADER_LIMIT = 100 << 20
_DTYPES = {"F64": ("float64", 8), "F32": ("float32", 4), "F16": ("float16", 2), "BF16": ("bfloat16", 2),
           "I64": ("int64", 8), "I32": ("int32", 4), "I16": ("int16", 2), "I8": ("int8", 1),
           "U8": ("uint8", 1), "BOOL": ("bool", 1)}


def _bad(path, because):
    return ZooError(f"cannot read the weights in {path}", because=because,
                    hint="give a .safetensors file of a state dict")


def _entry(path, name, entry, data_size):
    """(dtype name, shape, begin, end) of one tensor, checked against the file's size."""
    try:
        dtype, width = _DTYPES[entry["dtype"]]
        shape, (begin, end) = entry["shape"], entry["data_offsets"]
        numbers = [*shape, begin, end]
    except (KeyError, TypeError, ValueError):
        raise _bad(path, f"the entry of tensor '{name}' is not understood") from None
    if any(type(n) is not int or n < 0 for n in numbers) or len(shape) > 8:
        raise _bad(path, f"tensor '{name}' has an impossible shape or place")
    if end > data_size or end - begin != math.prod(shape) * width:
        raise _bad(path, f"tensor '{name}' of shape {shape} does not fit its place in the file")
    return dtype, shape, begin, end


def read(path):
    """{name: array}; raises ZooError."""
    try:
        size = os.path.getsize(path)
        with open(path, "rb") as stream:
            start = stream.read(8)
            length = struct.unpack("<Q", start)[0] if len(start) == 8 else -1
            if length < 2 or length > min(_HEADER_LIMIT, size - 8):
                raise _bad(path, "it is cut off, or not a .safetensors file")
            try:
                header = json.loads(stream.read(length).decode("utf-8"))
            except (ValueError, RecursionError) as error:
                raise _bad(path, f"its header is damaged ({error})") from error
            if not isinstance(header, dict):
                raise _bad(path, "its header is not a JSON object")
            arrays = {}
            for name, entry in header.items():
                if name == "__metadata__":
                    continue
                dtype, shape, begin, end = _entry(path, name, entry, size - 8 - length)
                stream.seek(8 + length + begin)
                arrays[name] = decode(stream.read(end - begin), dtype).reshape(shape)
    except OSError as error:
        raise from_os_error(f"cannot read the weights in {path}", error) from error
    if not arrays:
        raise _bad(path, "it holds no tensors")
    return arrays
