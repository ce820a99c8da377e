"""Tests of what must be over before a phase begins, as docs/reference/protocol.md has it."""

import json
from pathlib import Path

import pytest

from fred_hw.compiler.placement import Strategy
from fred_hw.wafer.load import load_wafer
from fred_hw.wafer.program import compile_strategy

EXAMPLES = Path(__file__).parents[3] / "examples"


def over_first(strategy: str, collectives: str = "in-network", **keys: str) -> dict[str, list[str]]:
    wafer = load_wafer(str(EXAMPLES / "wafer-20.yaml"), keys)
    made = compile_strategy(wafer, Strategy.parse(strategy), 4096, collectives=collectives)
    said = json.loads(json.dumps(made.to_dict()))["phases"]
    return {one["name"]: one["over_first"] for one in said if one["over_first"]}


def test_sums_over_switches_wait_for_copies_of_their_circuit() -> None:
    waits = ["ep_all_to_all_1"]
    assert over_first("MP2-DP10-PP1-EP2") == {"dp_all_reduce": waits, "ep_all_reduce": waits}


def test_loads_are_over_before_gradients_are_added() -> None:
    found = over_first("MP2-DP5-PP2", controllers="endpoints")
    assert found == {
        "dp_all_reduce": ["load_0", "input_0"],
        "store_0": ["load_0", "input_0"],
    }


@pytest.mark.parametrize(
    ("strategy", "collectives"),
    [
        ("MP2-DP5-PP2", "in-network"),  # copies of PP are on a circuit of their own
        ("MP2-DP10-PP1-EP2", "ring"),  # unicasts wait for nobody
        ("MP20-DP1-PP1", "in-network"),
    ],
)
def test_others_begin_whenever_they_like(strategy: str, collectives: str) -> None:
    assert over_first(strategy, collectives) == {}
