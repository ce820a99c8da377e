"""Contract of fred_hw.gates.one_hot."""

import re
from typing import Any

import pytest

from fred_hw.gates.one_hot import OneHotMux
from tests.fred_hw.simulation import trace


def test_throughput_is_a_value_every_cycle_without_latency() -> None:
    values = {"values[0]": 5, "values[1]": 2, "values[2]": 7}
    cycles = [values | {"choice": choice} for choice in (1, 2, 4, 0)]
    assert trace(OneHotMux(count=3, width=3), cycles, ["o"]) == [5, 2, 7, 0]


@pytest.mark.parametrize(
    ("count", "width", "kind", "text"),
    [
        (0, 1, ValueError, "OneHotMux count must be 1 or more, not 0"),
        (1, True, TypeError, "OneHotMux width must be an integer, not True"),
    ],
)
def test_bad_parameters_are_refused(
    count: Any, width: Any, kind: type[Exception], text: str
) -> None:
    with pytest.raises(kind, match=f"^{re.escape(text)}$"):
        OneHotMux(count=count, width=width)
