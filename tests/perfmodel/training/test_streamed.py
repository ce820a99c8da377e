"""Loads and stores of an iteration with streamed weights, by the number of controllers."""

from pathlib import Path
from typing import Any

import pytest

from fred_hw.reading import read_data
from perfmodel.topology.files import build_topology
from perfmodel.training.estimate import simulate
from perfmodel.training.iteration import Iteration
from perfmodel.training.request import Request
from perfmodel.workloads.workload import load_workload

EXAMPLES = Path(__file__).parents[3] / "examples"


def iteration(**changes: Any) -> Iteration:
    data = read_data(EXAMPLES / "fred-d-controllers.yaml")
    assert isinstance(data, dict)
    fabric = build_topology({**data, **changes}, "fabric")
    workload = load_workload(str(EXAMPLES / "iteration-streaming.yaml"))
    return simulate(Request.of(fabric, workload, "MP2-DP5-PP2"), repeats=False).iteration


def test_a_store_ends_at_one_controller_after_the_other() -> None:
    """Acks come between two of them, so that many take longer; loads do not wait for any."""
    few = [
        {"count": 2, "npus": 4, "io_controllers": 1, "record": "l1-12"},
        {"count": 3, "npus": 4, "io_controllers": 0, "record": "l1-12"},
    ]
    all_of_them, two = iteration(), iteration(l1=few)
    times_us = []
    for found in (all_of_them, two):
        load, store = (
            next(one.profile.time_s for one in found.tasks if one.name.startswith(name))
            for name in ("weights of layer", "gradients of layer")
        )
        times_us.append([round(1e6 * one, 1) for one in (found.time_s, load, store)])
    assert times_us == [[140.2, 1.7, 8.6], [128.8, 1.7, 2.0]]
    # What is between two controllers is the same for each of the others.
    more = (times_us[0][2] - times_us[1][2]) / (18 - 2)
    assert more == pytest.approx(0.41, abs=0.02)
