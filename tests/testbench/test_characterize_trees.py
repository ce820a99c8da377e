"""Tests of testbench.characterize_trees; such all-reduces are in tests/testbench/collectives."""

from dataclasses import replace

import pytest

from fred_cli.records.registry import ENTRIES
from fred_hw.files import validate
from testbench.characterize_trees import SETUP_CYCLES, TreesMeasurement
from tests.records import shipped

NAME = "mesh-5x4-trees"


@pytest.mark.parametrize(
    ("name", "npus", "steps", "setups"),
    [(NAME, 20, 26, {SETUP_CYCLES}), ("mesh-4x4-trees", 16, 21, {220, 280})],
)
def test_record_is_of_the_trees_and_estimates_of_today(
    name: str, npus: int, steps: int, setups: set[int]
) -> None:
    measurement, record = ENTRIES[name].measure(), shipped(name)
    assert isinstance(measurement, TreesMeasurement)
    assert list(measurement.other_inputs(validate(ENTRIES[name].model, record, name))) == []
    for row in record["rows"]:
        assert (row["algorithm"], row["steps"]) == ("multitree_one_port", 2 * steps)
    found = {row["step_cycles"] - -(-row["flits"] // npus) for row in record["rows"]}
    assert found == setups


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"flits": (128,)}, "flits: 2048, 512, 8192"),
        ({"edges": ()}, "steps: 0, 52"),
        ({"setups": (SETUP_CYCLES, 321)}, "step_cycles: 328, 347, 424, 731"),
    ],
)
def test_other_inputs_are_told_from_those_of_the_record(
    changes: dict[str, tuple[int, ...]], why: str
) -> None:
    record = validate(ENTRIES[NAME].model, shipped(NAME), NAME)
    measurement = replace(ENTRIES[NAME].measure(), **changes)
    assert why in list(measurement.other_inputs(record))
