"""The spaces of gymnasium that the environments need, for where there is no gymnasium."""

from typing import Any

import numpy


class Discrete:
    """The integers from 0 to n - 1."""

    def __init__(self, n, seed=None):
        self.n, self.shape, self.dtype = n, (), numpy.dtype(numpy.int64)
        self.seed(seed)

    def seed(self, seed=None):
        self._random = numpy.random.default_rng(seed)

    def sample(self, mask=None):
        allowed = numpy.arange(self.n) if mask is None else numpy.flatnonzero(mask)
        return numpy.int64(self._random.choice(allowed))

    def contains(self, value):
        return numpy.ndim(value) == 0 and int(value) == value and 0 <= value < self.n


class Box:
    """Arrays of one shape and type, within bounds."""

    def __init__(self, low, high, shape, dtype, seed=None):
        self.low, self.high, self.shape, self.dtype = low, high, tuple(shape), numpy.dtype(dtype)
        self.seed(seed)

    def seed(self, seed=None):
        self._random = numpy.random.default_rng(seed)

    def sample(self):
        if self.dtype.kind == "f":
            return self._random.uniform(self.low, self.high, self.shape).astype(self.dtype)
        return self._random.integers(self.low, self.high + 1, self.shape, dtype=self.dtype)

    def contains(self, value):
        return (isinstance(value, numpy.ndarray) and value.shape == self.shape and value.dtype == self.dtype
                and bool(((value >= self.low) & (value <= self.high)).all()))


class Dict:
    """Dicts with a value of a space for each key."""

    def __init__(self, spaces):
        self.spaces = dict(spaces)

    def __getitem__(self, key):
        return self.spaces[key]

    def seed(self, seed=None):
        for space in self.spaces.values():
            space.seed(seed)

    def sample(self):
        return {key: space.sample() for key, space in self.spaces.items()}

    def contains(self, value):
        return value.keys() == self.spaces.keys() and all(self.spaces[key].contains(value[key]) for key in value)


class Env:
    """What gymnasium.Env gives to its subclasses."""

    metadata: dict[str, Any] = {"render_modes": []}
    render_mode = None
    spec = None
    _np_random = None

    def reset(self, *, seed=None, options=None):
        if seed is not None:
            self._np_random = numpy.random.default_rng(seed)

    @property
    def np_random(self):
        if self._np_random is None:
            self._np_random = numpy.random.default_rng()
        return self._np_random

    @property
    def unwrapped(self):
        return self

    def render(self):
        return None

    def close(self):
        pass
