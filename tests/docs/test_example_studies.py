"""The results that figures show are those of the example studies, checked point by point."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import pytest

from docs.generate.studies import RESULTS, STUDIES, draw_study
from studies.study.plan import Plan, load_study
from studies.study.point import evaluate

from .pages import ROOT

POINTS = {"l1-switches": 224, "in-network": 294, "winners": 795}
"""Points of each study, as the page says."""

COLUMNS = {
    "l1_l2_bytes_per_s": "topology.l1_l2_bytes_per_s",
    "l1": "topology.l1.0.count",
    "peak_flops": "npu.peak_flops",
}
"""Columns of a store by their names in the results."""


@cache
def plan(name: str) -> Plan:
    return load_study(ROOT / f"examples/studies/{name}.yaml")


def results(name: str) -> list[dict[str, str]]:
    with (RESULTS / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def found(name: str, wanted: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the rows of the points of a study whose inputs are as wanted."""
    for number in range(len(plan(name).space)):
        point = plan(name).point(number)
        if point.inputs and all(
            str(point.derived.get(key)) == str(one) for key, one in wanted.items()
        ):
            yield evaluate(point)


def spread(rows: Sequence[dict[str, str]], count: int = 3) -> list[dict[str, str]]:
    return [rows[place * (len(rows) - 1) // (count - 1)] for place in range(count)]


@pytest.mark.parametrize("name", STUDIES)
def test_study_has_the_points_that_the_page_says(name: str) -> None:
    page = (ROOT / "docs/explanation/example-studies.md").read_text(encoding="utf-8")
    assert f"examples/studies/{name}.yaml) | {POINTS[name]} |" in page
    assert len(plan(name).work().numbers) == POINTS[name]
    assert draw_study(name).startswith("<svg")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["l1-switches", "winners"])
def test_results_are_those_of_the_best_strategy(name: str) -> None:
    for row in spread(results(name)):
        wanted = {
            COLUMNS.get(key, key): float(one) if key.endswith(("_per_s", "_flops")) else one
            for key, one in row.items()
            if key not in ("time_per_sample_s", "npus")
        }
        [point] = list(found(name, wanted))
        assert point["time_per_sample_s"] == pytest.approx(float(row["time_per_sample_s"]))


def test_speed_ups_are_those_of_the_two_fabrics() -> None:
    for row in spread(results("in-network")):
        wanted = {"dp": row["group"], "workload.parameters": int(row["bytes"]) // 2}
        times = {one["topology"]: one["iteration_time_s"] for one in found("in-network", wanted)}
        assert times["fred-c"] / times["fred-d"] == pytest.approx(float(row["speedup"]))
