"""Tests of perfmodel.compare."""

import pytest

from fred_hw.errors import InputError
from perfmodel.compare import compare
from perfmodel.topology.parse import FABRICS
from perfmodel.workload import WORKLOADS


def test_every_fabric_meets_every_workload() -> None:
    rows = [row.estimate for row in compare()]
    assert [(row.workload, row.topology) for row in rows] == [
        (workload, fabric) for workload in WORKLOADS for fabric in FABRICS
    ]
    for row in rows:
        assert row.iteration_time_s == row.compute_s + row.exposed_s.total_s


def test_speedup_is_over_the_first_fabric_and_fred_d_is_fastest() -> None:
    rows = compare(workloads=["resnet-152"])
    first = rows[0].estimate.iteration_time_s
    assert rows[0].speedup == 1.0
    assert max(rows, key=lambda row: row.speedup).estimate.topology == "fred-d"
    for row in rows:
        assert row.speedup == pytest.approx(first / row.estimate.iteration_time_s)


def test_unknown_name_is_refused() -> None:
    with pytest.raises(InputError, match=r"^workload: must be .*, not 'bert'$"):
        compare(workloads=["bert"])
