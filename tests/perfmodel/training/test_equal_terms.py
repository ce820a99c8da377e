"""Tests of perfmodel.training.equal_terms."""

from dataclasses import replace

import pytest

from fred_hw.errors import InputError
from perfmodel.topology.parse import shared_topology
from perfmodel.training.compute import EFFICIENCY, Npu
from perfmodel.training.equal_terms import equal_npus, on_equal_terms
from perfmodel.training.request import Request
from perfmodel.workloads.workload import load_workload

ALIKE = {"mesh:5x4": Npu(), "fred-d": Npu()}
SLOW = Npu(peak_flops=1e12)
OTHERS = {
    "peak_flops": SLOW,
    "hbm_bytes_per_s": Npu(hbm_bytes_per_s=1e12),
    "hbm_bytes": Npu(hbm_bytes=1e9),
    "efficiency.matmul": Npu(efficiency={**EFFICIENCY, "matmul": 0.5}),
}


def test_equal_npus_are_compared() -> None:
    assert equal_npus(ALIKE) == ALIKE


@pytest.mark.parametrize("field", OTHERS)
def test_npus_that_differ_are_refused_with_the_field(field: str) -> None:
    npus = ALIKE | {"own.yaml": OTHERS[field]}
    base, other = Npu().rates[field], OTHERS[field].rates[field]
    message = (
        "topology: must have equal NPUs unless npu_from or as_is is given, "
        f"not {field} {base:g} and {other:g} of mesh:5x4 and own.yaml"
    )
    with pytest.raises(InputError) as caught:
        equal_npus(npus)
    assert str(caught.value) == message


def test_all_fields_that_differ_are_named() -> None:
    with pytest.raises(
        InputError, match=r"not peak_flops .* and 1e\+12, hbm_bytes 8e\+10 and 1 of"
    ):
        equal_npus(ALIKE | {"own.yaml": replace(SLOW, hbm_bytes=1.0)})


def test_npu_of_one_topology_is_given_to_all() -> None:
    npus = ALIKE | {"own.yaml": SLOW}
    assert equal_npus(npus, "own.yaml") == dict.fromkeys(npus, SLOW)
    assert equal_npus(npus, "fred-d") == dict.fromkeys(npus, Npu())


def test_npus_that_differ_are_kept_as_they_are_on_request() -> None:
    npus = ALIKE | {"own.yaml": SLOW}
    assert equal_npus(npus, as_is=True) == npus


@pytest.mark.parametrize(
    ("name", "as_is", "message"),
    [
        ("fred-c", False, "must be one of mesh:5x4, fred-d, not 'fred-c'; did you mean 'fred-d'?"),
        ("fred-d", True, "must not be given if NPUs are compared as they are"),
    ],
)
def test_bad_choice_is_refused(name: str, as_is: bool, message: str) -> None:
    with pytest.raises(InputError) as caught:
        equal_npus(ALIKE, name, as_is=as_is)
    assert str(caught.value) == f"npu_from: {message}"


def test_requests_get_the_npu_and_keep_all_else() -> None:
    job = load_workload("resnet-152")
    mesh, fred = shared_topology("mesh:5x4"), shared_topology("fred-d")
    requests = [Request.of(mesh, job, npu=SLOW), Request.of(fred, job, algorithm="auto")]
    with pytest.raises(
        InputError, match=r"^topology: must have equal NPUs unless .*, not peak_flops 1e\+12"
    ):
        on_equal_terms(requests)
    assert on_equal_terms(requests, as_is=True) == tuple(requests)
    assert on_equal_terms(requests, "fred-d") == (replace(requests[0], npu=Npu()), requests[1])
