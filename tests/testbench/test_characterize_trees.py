"""Tests of testbench.characterize_trees; such all-reduces are in tests/testbench/collectives."""

from dataclasses import replace
from typing import Any

import pytest

from fred_cli.records.registry import ENTRIES
from fred_hw.files import validate
from fred_hw.mesh.tree_program import TREE_ALGORITHM, TreeEdge
from testbench import characterize_trees
from testbench.characterize_trees import SETUP_CYCLES, TreesMeasurement
from tests.records import shipped

NAME = "mesh-5x4-trees"


def test_record_is_of_the_trees_and_estimates_of_today() -> None:
    measurement, record = ENTRIES[NAME].measure(), shipped(NAME)
    assert isinstance(measurement, TreesMeasurement)
    assert list(measurement.other_inputs(validate(ENTRIES[NAME].model, record, NAME))) == []
    for row in record["rows"]:
        assert (row["algorithm"], row["steps"]) == (TREE_ALGORITHM, 2 * 26)
        assert row["step_cycles"] == -(-row["flits"] // 20) + SETUP_CYCLES


def recorded() -> Any:
    return validate(ENTRIES[NAME].model, shipped(NAME), NAME)


def test_sizes_that_are_not_in_the_record_are_told() -> None:
    measurement = replace(ENTRIES[NAME].measure(), flits=(128,))
    assert "flits: 2048, 512, 8192" in list(measurement.other_inputs(recorded()))


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


def test_another_estimate_of_the_setup_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(characterize_trees, "SETUP_CYCLES", 321)
    [why] = ENTRIES[NAME].measure().other_inputs(recorded())
    assert why == "step_cycles: 327, 328, 346, 347, 423, 424, 730, 731"
