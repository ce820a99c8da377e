"""Contract of fred_hw.gates.late_choice."""

import re
from typing import Any

import pytest

from fred_hw.gates.late_choice import LateChoice
from tests.fred_hw.simulation import trace


def test_throughput_is_a_choice_every_cycle_without_latency() -> None:
    values = {"high": 5, "low": 2}
    cycles = [values | {"late": late} for late in (0, 1, 1, 0)]
    assert trace(LateChoice(width=3), cycles, ["o"]) == [2, 5, 5, 2]


@pytest.mark.parametrize(
    ("width", "kind", "text"),
    [
        (0, ValueError, "LateChoice width must be 1 or more, not 0"),
        (True, TypeError, "LateChoice width must be an integer, not True"),
    ],
)
def test_bad_parameters_are_refused(width: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=f"^{re.escape(text)}$"):
        LateChoice(width=width)
