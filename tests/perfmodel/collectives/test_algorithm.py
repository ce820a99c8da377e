"""Tests of perfmodel.collectives.algorithm: what every registered algorithm says of itself."""

from pathlib import Path

import pytest

from perfmodel.collectives.algorithm import ALGORITHMS
from perfmodel.collectives.schedule import PATTERNS
from perfmodel.topology.parse import FABRICS, parse_topology

BLOCKS = str(Path(__file__).with_name("blocks.yaml"))


@pytest.mark.parametrize("name", ALGORITHMS)
def test_auto_prefers_an_algorithm_only_for_patterns_that_it_has(name: str) -> None:
    found = ALGORITHMS[name]
    assert found.patterns and set(found.patterns) <= set(PATTERNS)
    assert set(found.preference) <= set(found.patterns)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_no_two_algorithms_are_preferred_alike(pattern: str) -> None:
    numbers = [one.preference[pattern] for one in ALGORITHMS.values() if pattern in one.preference]
    assert numbers and len(set(numbers)) == len(numbers)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_what_does_not_fit_everywhere_says_what_it_needs(name: str) -> None:
    found = ALGORITHMS[name]
    wafers = [parse_topology(name) for name in (*FABRICS, "mesh:33x32", BLOCKS)]
    sizes = (2, 3, 4, 8)  # beside all NPUs: some algorithms want even groups, or powers of two
    groups = [(wafer, [*range(n)]) for wafer in wafers for n in (*sizes, wafer.npus)]
    groups.append((parse_topology("wafers:2xfred-d"), [0, 1, 20, 21]))
    fits = [found.fits(wafer, group) for wafer, group in groups]
    assert any(fits) and all(fits) == (not found.needs)
