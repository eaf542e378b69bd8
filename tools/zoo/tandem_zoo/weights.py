# SPDX-License-Identifier: Apache-2.0
"""Where a network's numbers come from: a seed, or a state dict that must fit name by name.

Both sources answer `tensor(name, shape, draw)`. RandomWeights calls draw(stream); StateWeights looks the name
up and remembers what was missing, misshapen or left over, so that finish() can list all of it at once.

Random numbers are made of whole numbers and a few exact float operations, so that a seed gives the same bytes
on every machine: no log, cos or vectorised sum decides a bit.
"""
import hashlib

import numpy

from .errors import ZooError

_CHUNK = 1 << 20
# A sum of eight uniform 16-bit numbers: mean 8 * 65535 / 2, variance 8 * (65536^2 - 1) / 12.
# Bounded at 4.9 deviations, kurtosis 2.85; close enough to the normal distribution for initial weights.
_SUM_MEAN = 4 * 65535
_SUM_DEVIATION = (8 * (65536.0**2 - 1) / 12) ** 0.5


def settle(values):
    """Rounds to 12 significant bits: a sum that differs in its last bit between machines no longer does."""
    mantissa, exponent = numpy.frexp(numpy.asarray(values, dtype=numpy.float64))
    return numpy.ldexp(numpy.round(mantissa * 4096) / 4096, exponent).astype(numpy.float32)


class Stream:
    """Seeded numbers of one tensor; the name is part of the seed, so tensors do not depend on their order."""

    def __init__(self, seed, name):
        digest = hashlib.sha256(f"{seed}:{name}".encode()).digest()
        self._bits = numpy.random.PCG64(int.from_bytes(digest[:16], "little"))

    def normal(self, shape, deviation, mean=0.0):
        """float32 array of about normal numbers."""
        count = int(numpy.prod(shape, dtype=numpy.int64))
        out = numpy.empty(count, dtype=numpy.float32)
        for start in range(0, count, _CHUNK):
            part = min(_CHUNK, count - start)
            words = self._bits.random_raw(2 * part).astype("<u8").view("<u2").reshape(part, 8)
            sums = words.sum(axis=1, dtype=numpy.int64) - _SUM_MEAN
            out[start:start + part] = sums * (deviation / _SUM_DEVIATION) + mean
        return out.reshape(shape)

    def uniform(self, shape, low, high):
        """float32 array of uniform numbers, low <= x < high."""
        count = int(numpy.prod(shape, dtype=numpy.int64))
        words = numpy.atleast_1d(self._bits.random_raw(count)) >> numpy.uint64(40)
        return (words * ((high - low) / 2.0**24) + low).astype(numpy.float32).reshape(shape)


class RandomWeights:
    """Seeded initial weights."""

    random = True

    def __init__(self, seed):
        self.seed = seed

    def has(self, name):
        """Random weights know no names: builders take their plain form."""
        return False

    def tensor(self, name, shape, draw):
        """float32 array of `shape`, drawn from the stream of this name."""
        values = draw(Stream(self.seed, name))
        assert values.shape == tuple(shape) and values.dtype == numpy.float32, name
        return values

    def finish(self):
        """Nothing can be missing."""


class StateWeights:
    """A state dict. Every name asked for must be there, and every name in it must be asked for."""

    random = False
    _IGNORED = "num_batches_tracked"  # BatchNorm's counter: of use for training only

    def __init__(self, path, arrays):
        self._path, self._arrays = path, arrays
        self._used, self._missing, self._misshapen, self._broken = set(), [], [], []

    def has(self, name):
        """Whether the file has this tensor (builders choose between two forms by it)."""
        return name in self._arrays

    def tensor(self, name, shape, draw):
        """float32 array of `shape`; zeros, and a note for finish(), if the file does not have it."""
        shape = tuple(shape)
        self._used.add(name)
        found = self._arrays.get(name)
        if found is None:
            self._missing.append(name)
        elif found.shape != shape:
            self._misshapen.append(f"{name} is {list(found.shape)}, not {list(shape)}")
        elif not numpy.issubdtype(found.dtype, numpy.floating):
            self._broken.append(f"{name} holds {found.dtype} numbers")
        else:
            values = numpy.ascontiguousarray(found, dtype=numpy.float32).reshape(shape)
            if not numpy.isfinite(values).all():
                self._broken.append(f"{name} holds NaN or infinity")
            return values
        return numpy.zeros(shape, dtype=numpy.float32)

    def finish(self):
        """Raises ZooError with all that did not fit."""
        left = [n for n in self._arrays if n not in self._used and not n.endswith(self._IGNORED)]
        problems = []
        for title, names in (("missing", self._missing), ("unexpected", left),
                             ("another shape", self._misshapen), ("unusable", self._broken)):
            if names:
                more = f" and {len(names) - 12} more" if len(names) > 12 else ""
                problems.append(f"{title} ({len(names)}): " + ", ".join(names[:12]) + more)
        if problems:
            hint = "give the state dict of this very network, with torchvision's or timm's names"
            if len(self._misshapen) in (1, 2) and len(problems) == 1:
                hint = "--classes N for a file trained on another number of classes"
            raise ZooError(f"the weights in {self._path} do not fit the network",
                           because="\n    ".join(problems), hint=hint)
