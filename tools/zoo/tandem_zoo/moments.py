# SPDX-License-Identifier: Apache-2.0
"""Expected mean and variance per channel, carried through a network of random weights.

They become the running statistics of its BatchNormalizations, so that activations of a random network keep
the range of a trained one: about zero mean and unit variance behind each normalization. Channels are taken
as independent and about normal; that is rough, and enough for a range.
"""
import numpy

_GRID = numpy.linspace(-6.0, 6.0, 241)
_DENSITY = numpy.exp(-_GRID * _GRID / 2)
_DENSITY /= _DENSITY.sum()
_CUMULATIVE = numpy.cumsum(_DENSITY)


class Moments:
    """Per-channel mean and variance, two float64 arrays of one length."""

    def __init__(self, mean, variance, before=None, function=None):
        self.mean = numpy.asarray(mean, dtype=numpy.float64)
        self.variance = numpy.maximum(numpy.asarray(variance, dtype=numpy.float64), 1e-8)
        # What an activation was applied to: a maximum must be taken of that, not of its result.
        self._before, self._function = before, function

    @staticmethod
    def unit(channels):
        return Moments(numpy.zeros(channels), numpy.ones(channels))

    def _of(self, density, function):
        deviation = numpy.sqrt(self.variance)[:, None]
        values = function(self.mean[:, None] + deviation * _GRID[None, :])
        mean = values @ density
        return mean, numpy.square(values) @ density - mean * mean

    def through(self, function):
        """Behind an elementwise function of a normal variable."""
        return Moments(*self._of(_DENSITY, function), self, function)

    def largest_of(self, count):
        """The largest of `count` independent positions (a rising activation may lie between); `count` is
        smaller than the window, since neighbours are alike."""
        density = numpy.diff(numpy.concatenate(([0.0], _CUMULATIVE**count)))
        if self._before is None:
            return Moments(*self._of(density, lambda x: x))
        return Moments(*self._before._of(density, self._function))

    def weighted(self, weight, groups, bias=None):
        """Behind a convolution or linear layer with weight [O, I/g, ...]."""
        flat = weight.reshape(weight.shape[0], weight.shape[1], -1).astype(numpy.float64)
        sums, squares = flat.sum(axis=2), numpy.square(flat).sum(axis=2)
        outputs, inputs = weight.shape[0] // groups, weight.shape[1]
        mean, variance = numpy.empty(weight.shape[0]), numpy.empty(weight.shape[0])
        for group in range(groups):
            rows = slice(group * outputs, (group + 1) * outputs)
            columns = slice(group * inputs, (group + 1) * inputs)
            mean[rows] = sums[rows] @ self.mean[columns]
            variance[rows] = squares[rows] @ self.variance[columns]
        return Moments(mean + (0 if bias is None else bias), variance)

    def plus(self, other):
        return Moments(self.mean + other.mean, self.variance + other.variance)

    def scaled(self, factor):
        return Moments(self.mean * factor, self.variance * factor * factor)

    def averaged(self):
        """Behind a global average: the mean stays, a tenth of the variance is left (neighbours are alike)."""
        return Moments(self.mean, self.variance / 10)

    def repeated(self, count):
        """Behind flattening [C, count]: each channel's moments, `count` times."""
        return Moments(numpy.repeat(self.mean, count), numpy.repeat(self.variance, count))

    def joined(self, other):
        return Moments(numpy.concatenate((self.mean, other.mean)),
                       numpy.concatenate((self.variance, other.variance)))
