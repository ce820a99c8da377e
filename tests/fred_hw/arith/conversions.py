"""Numbers through the hardware that converts them, for the tests of both directions."""

from collections.abc import Iterable

import numpy as np

from fred_hw.arith.narrow import Narrow
from fred_hw.arith.widen import Widen
from fred_hw.formats.number_format import FORMATS, FloatFormat, wider_formats
from fred_hw.formats.values import Words, storage, stored
from tests.fred_hw.simulation import trace

__all__ = ["PAIRS", "every_word", "in_hardware", "near_limits"]

PAIRS = [
    (narrow, wide)
    for narrow in FORMATS.values()
    if isinstance(narrow, FloatFormat)
    for wide in (FORMATS[name] for name in wider_formats(narrow))
    if isinstance(wide, FloatFormat)
]
"""Each format with each that contains it."""


def in_hardware(unit: Widen | Narrow, words: Iterable[int], kind: FloatFormat) -> Words:
    """Return what comes out of a unit, one number per cycle."""
    given = [{"i": int(word)} for word in words]
    seen = trace(unit, given + [{}] * unit.latency, ["o"])[unit.latency :]
    return np.array(seen, np.int64).astype(storage(kind))


def every_word(number_format: FloatFormat) -> Words:
    """Return the storage words of all encodings; padding is zero."""
    return stored(np.arange(1 << number_format.bits), number_format)


def near_limits(narrow: FloatFormat, wide: FloatFormat, rng: np.random.Generator) -> Words:
    """Return wide numbers around each one of a sample of narrow ones, and around its neighbours.

    Among them are ties, what is just beside ties, and what is just within and beyond the range.
    """
    sample = np.arange(1 << narrow.bits)
    sample = sample if len(sample) <= 256 else rng.choice(sample, 400, replace=False)
    more = wide.bias - narrow.bias
    below = wide.fraction_bits - narrow.fraction_bits
    magnitude = sample & ((1 << narrow.bits - 1) - 1)
    sign = (sample >> narrow.bits - 1) << wide.bits - 1
    at = (magnitude << below) + (more << wide.fraction_bits)
    half = 1 << below >> 1
    every = [at + step for step in (-1, 0, 1, half - 1, half, half + 1) if below or step in (0, 1)]
    every.append(rng.integers(0, 1 << wide.bits - 1, 600)[: len(at)])
    top = (1 << wide.bits - 1) - 1
    numbers = [np.clip(one, 0, top) | sign[: len(one)] for one in every]
    small = rng.integers(0, (more + 2) << wide.fraction_bits, 400)
    return stored(np.concatenate([*numbers, small]), wide)
