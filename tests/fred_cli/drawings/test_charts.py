"""Tests of fred_cli.drawings.charts."""

import json
import re
from dataclasses import replace

import pytest

from fred_cli.drawings.charts import short, strategy_chart
from perfmodel.topology.parse import parse_topology
from perfmodel.training.estimate import Estimate, estimate
from perfmodel.training.request import Request
from perfmodel.training.strategies import StrategyRow
from perfmodel.workloads.workload import load_workload


@pytest.fixture(scope="module")
def one() -> Estimate:
    return estimate(Request.of(parse_topology("fred-d"), load_workload("resnet-152")))


def test_what_does_not_fit_the_memory_is_marked_and_comes_last(one: Estimate) -> None:
    large = replace(one.memory, recomputed_bytes=2 * one.memory.available_bytes)
    rows = [
        StrategyRow(replace(one, strategy="MP1-DP1-PP1", memory=large)),
        StrategyRow(replace(one, strategy="MP1-DP2-PP1")),
        StrategyRow(replace(one, strategy="MP1-DP3-PP1")),
    ]
    drawn = strategy_chart(rows)
    panel = json.loads(re.findall(r'<script type="application/json">(.*?)</script>', drawn)[0])
    names = ["MP1-DP2-PP1", "MP1-DP3-PP1", "MP1-DP1-PP1 *"]
    assert {tuple(trace["y"]) for trace in panel["data"]} == {tuple(names)}
    assert "* does not fit the memory" in drawn
    assert "does not fit" not in strategy_chart(rows[1:])


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("mesh:5x4", "mesh"),
        ("mesh:8x8", "mesh:8x8"),
        ("fred-d", "D"),
        ("some/wafer.yaml", "wafer"),
        ("transformer-17b", "transformer-17b"),
    ],
)
def test_names_are_short(name: str, shown: str) -> None:
    assert short(name) == shown
