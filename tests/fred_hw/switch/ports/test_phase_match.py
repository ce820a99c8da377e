"""Contract of fred_hw.switch.ports.phase_match."""

import re
from itertools import product
from typing import Any

import pytest

from fred_hw.switch.ports.phase_match import PhaseMatch
from tests.fred_hw.simulation import trace


def test_throughput_is_all_comparisons_every_cycle_without_latency() -> None:
    names = ("own", "then", "served", "following")
    cycles = [dict(zip(names, values, strict=True)) for values in product(range(4), repeat=4)]
    pairs = [(a, b) for a in names[:2] for b in names[2:]]
    found = trace(PhaseMatch(bits=2), cycles, [f"{a}_{b}" for a, b in pairs])
    assert found == [tuple(int(one[a] == one[b]) for a, b in pairs) for one in cycles]


@pytest.mark.parametrize(
    ("bits", "kind", "text"),
    [
        (0, ValueError, "PhaseMatch bits must be 1 or more, not 0"),
        (True, TypeError, "PhaseMatch bits must be an integer, not True"),
    ],
)
def test_bad_parameters_are_refused(bits: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=f"^{re.escape(text)}$"):
        PhaseMatch(bits=bits)
