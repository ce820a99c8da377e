"""Cost as a figure of studies."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from fred_hw.errors import InputError
from studies.study.optimize import Budget, optimize_study
from studies.study.run import run_study
from studies.study.store import open_store
from tests.written import written

from .engines import Inline
from .studies import planned

BLOCKS: dict[str, Any] = {
    "kind": "blocks",
    "blocks": [
        {"block": "ring", "npus": 2, "bytes_per_s": 100e9, "latency_s": 1e-8},
        {"block": "switch", "npus": 2, "bytes_per_s": 50e9, "latency_s": 1e-8},
    ],
    "io_bytes_per_s": 50e9,
    "npu": {"peak_flops": 1e15, "hbm_bytes_per_s": 2e12, "hbm_bytes": 80e9},
}
RATES = [1e8, 1e9, 1e10]
SPACE: dict[str, Any] = {
    "topology": "net.yaml",
    "topology.blocks.1.bytes_per_s": RATES,
    "workload": "resnet-50",
    "strategy": ["MP1-DP4-PP1", "MP1-DP2-PP1"],
    "tiers": "package-pod",
}
BOTH = ["time_per_sample_s", "cost"]
WANTED = [4 * (100 * 4 + rate / 1e9 * (7.8 + 18 + 31.6)) for rate in RATES]


@pytest.fixture(autouse=True)
def _network(tmp_path: Path) -> None:
    written(tmp_path / "net.yaml", yaml.safe_dump(BLOCKS))


def test_the_front_of_time_and_cost(tmp_path: Path) -> None:
    summary = run_study(planned(tmp_path, SPACE, objectives=BOTH), tmp_path / "store", Inline)
    assert (summary.points, summary.failed) == (6, 0)
    # Faster links cost more, and reduce gradients in less time.
    assert [row["cost"] for row in summary.front] == pytest.approx(WANTED[::-1])
    best = summary.best["cost"]
    assert best and best["cost"] == pytest.approx(WANTED[0])
    screened = run_study(
        planned(tmp_path, SPACE, objectives=BOTH), tmp_path / "other", Inline, screen=True
    )
    assert screened.front == summary.front
    rows = open_store(tmp_path / "store").query("select distinct tiers from points").to_pylist()
    assert rows == [{"tiers": "package-pod"}]


@pytest.mark.parametrize(("objectives", "points"), [(BOTH[1:], 3), (BOTH, 6)])
def test_the_least_cost_is_found_by_a_search(
    tmp_path: Path, objectives: list[str], points: int
) -> None:
    pytest.importorskip("optuna")
    plan = planned(tmp_path, SPACE, objectives=objectives)
    found = optimize_study(plan, tmp_path / "store", Budget(points=points), Inline)
    best = found.best["cost"]
    assert best and best["cost"] == pytest.approx(WANTED[0])
    costs = [row["cost"] for row in found.front]
    assert costs == (pytest.approx(WANTED[::-1]) if len(objectives) > 1 else [])


def test_cost_is_a_name_in_constraints(tmp_path: Path) -> None:
    plan = planned(tmp_path, SPACE, constraints=["cost < 1700"])
    assert plan.work().excluded == {"cost < 1700": 4}


def test_prices_are_part_of_the_key(tmp_path: Path) -> None:
    prices = written(tmp_path / "prices.yml", "shelf: {Link: 1}\nhall: {Link: 2, Switch: 3}\n")
    space = {**SPACE, "prices": "prices.yml", "tiers": ["shelf-hall", "shelf-shelf"]}
    plan = planned(tmp_path, space)
    keys = {*plan.work().numbers}
    assert len(keys) == 12
    costs = [plan.point(number).derived["cost"] for number in range(4)]
    assert sorted({*costs}) == pytest.approx([4 * (100 + 0.1), 4 * (100 + 0.5)])
    prices.write_text("shelf: {Link: 1}\nhall: {Link: 2, Switch: 4}\n")
    assert len(keys & {*planned(tmp_path, space).work().numbers}) == 6


def test_topologies_with_and_without_tiers(tmp_path: Path) -> None:
    space = {
        "topology": ["mesh:2x2", "net.yaml"],
        "tiers": [None, "node-pod"],
        "workload": "resnet-50",
        "strategy": "MP1-DP4-PP1",
    }
    plan = planned(tmp_path, space, zip=[["topology", "tiers"]], objectives=BOTH)
    summary = run_study(plan, tmp_path / "store", Inline)
    assert (summary.points, summary.failed) == (2, 0)
    assert [row["topology"] for row in summary.front] == ["net.yaml"]


@pytest.mark.parametrize(
    ("space", "line"),
    [
        (
            {"topology": ["net.yaml", "mesh:2x2"], "topology.blocks.1.bytes_per_s": None},
            "space.tiers: must be left out: mesh:2x2 does not consist of rings, full connections ",
        ),
        (
            {"tiers": "pod"},
            "space.tiers: must have 2 tiers, one per dimension of net.yaml, not 1",
        ),
        ({"tiers": "shelf-pod"}, "space.tiers: must be tiers such as chiplet-package-node-pod"),
        ({"tiers": 3}, "space.tiers: must be tiers such as .*, not 3"),
        ({"tiers.0": 3}, "space.tiers.0: must begin with one of"),
        ({"prices": "none.yml"}, "space.prices: none.yml: must be an existing file"),
    ],
)
def test_bad_tiers_are_refused_in_one_line(
    tmp_path: Path, space: dict[str, Any], line: str
) -> None:
    with pytest.raises(InputError, match=f"study.yaml: {line}"):
        planned(tmp_path, {**SPACE, **space}, objectives=BOTH)


def test_a_point_whose_tiers_do_not_go_with_its_topology_fails_alone(tmp_path: Path) -> None:
    space = {
        "topology": ["net.yaml", "mesh:2x2"],
        "tiers": [None, "node-pod"],
        "workload": "resnet-50",
        "strategy": "MP1-DP4-PP1",
    }
    plan = planned(tmp_path, space, objectives=BOTH[:1], constraints=["topology != 'x'"])
    numbers = plan.work().numbers
    assert len(numbers) == 4
    assert numbers == {plan.point(number).key: number for number in range(4)}
    problem = plan.point(3).problem
    assert problem.startswith("tiers: must be left out: mesh:2x2 does not")
    summary = run_study(plan, tmp_path / "store", Inline)
    assert (summary.points, summary.failed) == (4, 1)
    rows = open_store(tmp_path / "store").query("select error from points").to_pylist()
    assert [row["error"] for row in rows if row["error"]] == [problem]


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({}, "space.tiers: must be given with the objective cost"),
        ({"prices": "prices.yml"}, "space.tiers: must be given with prices"),
    ],
)
def test_cost_and_prices_need_tiers(tmp_path: Path, given: dict[str, Any], line: str) -> None:
    space = {name: one for name, one in SPACE.items() if name != "tiers"} | given
    with pytest.raises(InputError, match=line):
        planned(tmp_path, space, objectives=BOTH[:1] if given else BOTH)
