"""Strategies and sizes drawn at random, on which the model of a plane is validated."""

import random
from collections.abc import Callable, Mapping
from itertools import product
from typing import NamedTuple

from fred_hw.compiler.placement import Strategy

__all__ = ["NPUS", "Sample", "draw"]

NPUS = 20
"""Of the wafer ``wafer-20``: L1s of four."""

_LEAST = 12
"""NPUs that a strategy uses at least: with fewer most links are idle."""

KINDS: Mapping[str, Callable[[Strategy], bool]] = {
    "groups of five": lambda one: one.mp == 5,
    "groups of seven": lambda one: one.mp == 7,
    "three stages": lambda one: one.pp == 3,
    "four stages": lambda one: one.pp == 4,
    "groups that span three switches": lambda one: 9 <= one.mp <= 12,
}
"""Strategies that shipped records of chosen strategies do not have."""

_FLITS = (200, 1500)
"""Sizes that leave parts of messages and packets; a third one is drawn."""


class Sample(NamedTuple):
    """Strategies, and the flits that an NPU sends in each of their phases."""

    strategies: tuple[str, ...]
    flits: tuple[int, ...]


def draw(seed: int, each: int = 2) -> Sample:
    """Return so many strategies of each of ``KINDS``, all different."""
    rng = random.Random(seed)
    sizes = product(range(1, NPUS + 1), repeat=3)
    every = [Strategy(mp, dp, pp) for mp, dp, pp in sizes]
    found: list[Strategy] = []
    for fits in KINDS.values():
        left = [
            one for one in every if _LEAST <= one.workers <= NPUS and fits(one) and one not in found
        ]
        found += rng.sample(left, each)
    return Sample(tuple(map(str, found)), (*_FLITS, rng.randrange(2000, 6000)))
