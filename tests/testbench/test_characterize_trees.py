"""Tests of testbench.characterize_trees; such all-reduces are in tests/testbench/collectives."""

from dataclasses import replace

import pytest

from fred_cli.records.registry import ENTRIES
from fred_hw.files import validate
from testbench.characterize_trees import SETUP_CYCLES, TreesMeasurement
from tests.records import shipped

NAME = "mesh-5x4-trees"


def test_record_is_of_the_trees_and_estimates_of_today() -> None:
    measurement, record = ENTRIES[NAME].measure(), shipped(NAME)
    assert isinstance(measurement, TreesMeasurement)
    assert list(measurement.other_inputs(validate(ENTRIES[NAME].model, record, NAME))) == []
    for row in record["rows"]:
        assert (row["algorithm"], row["steps"]) == ("multitree_one_port", 2 * 26)
        assert row["step_cycles"] == -(-row["flits"] // 20) + SETUP_CYCLES


@pytest.mark.parametrize(
    ("changes", "why"),
    [({"flits": (128,)}, "flits: 2048, 512, 8192"), ({"edges": ()}, "steps: 0, 52")],
)
def test_other_inputs_are_told_from_those_of_the_record(
    changes: dict[str, tuple[int, ...]], why: str
) -> None:
    record = validate(ENTRIES[NAME].model, shipped(NAME), NAME)
    measurement = replace(ENTRIES[NAME].measure(), **changes)
    assert why in list(measurement.other_inputs(record))
