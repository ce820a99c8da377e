"""Tests of studies.study.plan."""

from pathlib import Path
from typing import Any

import pytest

from fred_hw.errors import InputError
from studies.study import plan as plans

from .studies import SPACE, planned


def test_constraints_leave_points(tmp_path: Path) -> None:
    plan = planned(tmp_path, constraints=["npus == mp * dp * pp", "npu.peak_flops < 4e15"])
    work = plan.work()
    assert len(work.numbers) == 4
    assert work.excluded == {"npus == mp * dp * pp": 6, "npu.peak_flops < 4e15": 2}
    assert all(plan.point(number).key == key for key, number in work.numbers.items())
    assert {*plan.varied} == {"topology", "strategy", "npu.peak_flops"}


@pytest.mark.parametrize(
    ("constraints", "line"),
    [
        (["npus == 5"], "constraints.0: must leave a point, not remove the last 12 of 12"),
        (
            ["dp == 2", "npus > 0", "npu.peak_flops > 1e15", "npu.peak_flops < 2e15"],
            "constraints.3: must leave a point, not remove the last 4 of 12: npu.peak_flops < 2e15",
        ),
        (["fits_memry"], "constraints.0: must name fields .* did you mean 'fits_memory'"),
        (["topology.columns == 2 and npu.peak == 3"], "constraints.0: .*not 'npu.peak'"),
        (["mp > 5", "npus == 20"], "constraints.0: .* remove the last 12 of 12: mp > 5"),
        (["npus"], "constraints.0: must be true or false, not 4"),
    ],
)
def test_contradictions_name_the_constraint(
    tmp_path: Path, constraints: list[str], line: str
) -> None:
    with pytest.raises(InputError, match=rf"study\.yaml: {line}"):
        planned(tmp_path, constraints=constraints).work()


@pytest.mark.parametrize(
    ("space", "keys", "line"),
    [
        ({"npu.peak_flops": [1e15, 0]}, {}, "space.npu.peak_flops: must be a number from 1 to"),
        ({"npu.peak_flop": [1e15]}, {}, "space.npu.peak_flop: unknown key; .*'peak_flops'"),
        ({"topology.rows": [2, 0]}, {}, "space.topology.rows: must be an integer from"),
        (
            {},
            {"objectives": ["time"]},
            r"objectives.0: must be one of the \d+ names that 'fred schema study' lists",
        ),
        ({}, {"space": {}}, "space.topology: is required"),
        ({}, {"constrains": []}, "constrains: unknown key; .*did you mean 'constraints'"),
    ],
)
def test_bad_studies_are_refused_before_any_work(
    tmp_path: Path, space: dict[str, Any], keys: dict[str, Any], line: str
) -> None:
    with pytest.raises(InputError, match=rf"study\.yaml: {line}"):
        planned(tmp_path, **{"space": {**SPACE, **space}, **keys})


def test_values_that_do_not_go_together_are_points_that_fail(tmp_path: Path) -> None:
    space = {**SPACE, "strategy": "MP1-DP4-PP1", "strategy.ep": [3, 1]}
    plan = planned(tmp_path, space)
    points = [*map(plan.point, plan.work().numbers.values())]
    assert [bool(point.problem) for point in points].count(True) == len(points) / 2
    assert {point.problem for point in points} == {
        "",
        "strategy: must have an EP that divides DP, not MP1-DP4-PP1-EP3",
    }


def test_constraints_keep_points_of_which_none_can_be_resolved(tmp_path: Path) -> None:
    space = {**SPACE, "strategy": "MP1-DP4-PP1", "strategy.ep": [3]}
    work = planned(tmp_path, space, constraints=["npus == 20"]).work()
    assert (len(work.numbers), work.excluded) == (6, {"npus == 20": 0})


def test_a_constraint_may_remove_all_points_of_a_chunk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plans, "CHUNK", 3)
    constraints = ["topology == 'mesh:4x1'", "npu.peak_flops < 2e15"]
    work = planned(tmp_path, constraints=constraints).work()
    assert len(work.numbers) == 2
    assert [*work.excluded.values()] == [6, 4]


def test_a_group_changes_what_only_one_kind_of_topology_has(tmp_path: Path) -> None:
    space = {
        "topology": ["mesh:5x4", "fred-d", "fred-d"],
        "topology.l1_l2_bytes_per_s": [None, 1e12, 2e12],
        "workload": "resnet-50",
    }
    plan = planned(tmp_path, space, zip=[["topology", "topology.l1_l2_bytes_per_s"]])
    points = [*map(plan.point, plan.work().numbers.values())]
    found = [point.derived.get("topology.l1_l2_bytes_per_s") for point in points]
    assert found == [None, 1e12, 2e12]
