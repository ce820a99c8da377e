"""Tests of perfmodel.training.compare."""

from collections.abc import Sequence
from typing import Any

import pytest

from fred_hw.errors import InputError
from perfmodel.published import SPEEDUP_C
from perfmodel.topology.parse import FABRICS
from perfmodel.training.compare import Row, compare
from perfmodel.training.compute import PEAK_FLOPS
from perfmodel.training.request import read_requests
from perfmodel.workloads.workload import WORKLOADS


def run(
    topologies: Sequence[str] = FABRICS, workloads: Sequence[str] = WORKLOADS, **options: Any
) -> tuple[Row, ...]:
    return compare(read_requests(topologies, workloads, **options))


@pytest.mark.slow
def test_every_fabric_meets_every_workload() -> None:
    rows = [row.estimate for row in run()]
    assert [(row.workload, row.topology) for row in rows] == [
        (workload, fabric) for workload in WORKLOADS for fabric in FABRICS
    ]
    for row in rows:
        assert row.iteration_time_s == row.compute_s + row.exposed_s.total_s


def test_speedup_is_over_the_first_fabric_and_fred_d_is_fastest() -> None:
    rows = run(workloads=["resnet-152"])
    first = rows[0].estimate.iteration_time_s
    assert rows[0].speedup == 1.0
    assert max(rows, key=lambda row: row.speedup).estimate.topology == "fred-d"
    for row in rows:
        assert row.speedup == pytest.approx(first / row.estimate.iteration_time_s)


def test_unknown_name_is_refused() -> None:
    with pytest.raises(InputError, match=r"^workload: must be .*, not 'bert'$"):
        run(workloads=["bert"])


@pytest.mark.parametrize("first", FABRICS)
def test_any_fabric_can_come_first(first: str) -> None:
    rows = run([first, "fred-d"], ["resnet-152"])
    assert rows[0].speedup == 1.0 and rows[1].speedup >= 1.0


def test_calibrated_speedup_of_fred_c_is_the_published() -> None:
    rows = run(["mesh:5x4", "fred-c"], ["resnet-152"], compute="calibrated")
    assert rows[1].speedup == pytest.approx(SPEEDUP_C["resnet-152"].value, rel=1e-3)
    assert {row.estimate.compute_model for row in rows} == {"calibrated"}


def test_given_npu_is_used() -> None:
    slow = {"peak_flops": PEAK_FLOPS / 10}
    usual, other = (run(["fred-d"], ["resnet-152"], npu=npu) for npu in ({}, slow))
    assert other[0].estimate.compute_s > usual[0].estimate.compute_s


def test_strategy_that_does_not_fit_a_fabric_is_refused() -> None:
    message = r"^strategy: must fit the 4 NPUs of mesh:2x2, not need 20 as MP1-DP20-PP1$"
    with pytest.raises(InputError, match=message):
        run(["mesh:5x4", "mesh:2x2"], ["resnet-152"])


def test_readings_give_the_range_of_a_speedup() -> None:
    requests = read_requests(["mesh:5x4", "fred-d"], ["resnet-152"])
    readings = {"weights": {"compute": "weights"}, "auto": {"algorithm": "auto"}}
    base, fred = compare(requests, readings)
    assert base.readings == {"weights": 1.0, "auto": 1.0} and base.band == (1.0, 1.0)
    for name, options in readings.items():
        changed = run(["mesh:5x4", "fred-d"], ["resnet-152"], **options)
        assert fred.readings[name] == changed[1].speedup
    every = (fred.speedup, *fred.readings.values())
    assert fred.band == (min(every), max(every)) and fred.band[1] > fred.speedup
    assert fred.estimate == run(["fred-d"], ["resnet-152"])[0].estimate


def test_readings_are_compared_on_equal_terms_too() -> None:
    requests = [
        *read_requests(["mesh:5x4"], ["resnet-152"], protocol="ideal"),
        *read_requests(["fred-d"], ["resnet-152"]),
    ]
    with pytest.raises(InputError, match=r"^compute: must be first-principles for fabrics some of"):
        compare(requests, {"calibrated": {"compute": "calibrated"}})
