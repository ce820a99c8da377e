"""Tests of testbench.characterize_trees; such all-reduces are in tests/testbench/collectives."""

from dataclasses import replace
from typing import Any

import pytest

from fred_cli.records.registry import ENTRIES
from fred_hw.files import validate
from fred_hw.mesh.tree_program import TREE_ALGORITHM, TreeEdge
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
        assert (row["algorithm"], row["steps"]) == (TREE_ALGORITHM, 2 * steps)
    found = {row["step_cycles"] - -(-row["flits"] // npus) for row in record["rows"]}
    assert found == setups


def recorded() -> Any:
    return validate(ENTRIES[NAME].model, shipped(NAME), NAME)


def test_sizes_that_are_not_in_the_record_are_reported() -> None:
    measurement = replace(ENTRIES[NAME].measure(), flits=(128,))
    assert "flits: 2048, 512, 8192" in list(measurement.other_inputs(recorded()))


def test_no_record_is_of_a_measurement_without_rows() -> None:
    measurement = replace(ENTRIES[NAME].measure(), flits=())
    assert list(measurement.other_inputs(recorded())) == ["rows"]


def test_other_edges_are_told_whatever_their_number_of_steps() -> None:
    """Two NPUs that exchange their places in all trees: as many steps, other edges."""
    measurement, places = ENTRIES[NAME].measure(), {0: 1, 1: 0}

    def other(npu: int) -> int:
        return places.get(npu, npu)

    edges = [
        TreeEdge(other(one.root), other(one.child), other(one.parent), one.step)
        for one in measurement.edges
    ]
    changed = replace(measurement, edges=edges)
    assert list(changed.other_inputs(recorded())) == ["edges_sha256"]
    in_other_order = replace(measurement, edges=measurement.edges[::-1])
    assert list(in_other_order.other_inputs(recorded())) == []


def test_another_estimate_of_the_setup_is_reported() -> None:
    measurement = replace(ENTRIES[NAME].measure(), setups=(SETUP_CYCLES, 321))
    [why] = measurement.other_inputs(recorded())
    assert why == "step_cycles: 328, 347, 424, 731"


def test_an_empty_tree_is_reported() -> None:
    measurement = replace(ENTRIES[NAME].measure(), edges=())
    assert "steps: 0, 52" in list(measurement.other_inputs(recorded()))
