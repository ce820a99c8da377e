"""Tests of perfmodel.training.compute_models.calibrated."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fred_hw.errors import InputError
from perfmodel import published
from perfmodel.published import SPEEDUP_C, SPEEDUP_D, Published
from perfmodel.switch_timing.record import PROTOCOL_MODELS, ProtocolModel
from perfmodel.topology.graph import Topology
from perfmodel.topology.parse import BASELINE, shared_topology
from perfmodel.training.compute import EFFICIENCY, Npu
from perfmodel.training.compute_models import calibrated
from perfmodel.training.compute_models.calibrated import FABRIC, calibrate, solve
from perfmodel.training.equal_terms import on_equal_terms
from perfmodel.training.estimate import estimate
from perfmodel.training.request import Request, read_requests
from perfmodel.workloads.workload import PUBLISHED, load_workload
from tests.written import written

CALIBRATED = [
    "resnet-152",
    *(pytest.param(name, marks=pytest.mark.slow) for name in PUBLISHED if name != "resnet-152"),
]
"""Workloads whose scale is solved: that of a residual network in a moment."""

Give = Callable[[float, dict[str, int]], None]


FITTED: dict[str, Any] = {"compute": "calibrated"}


def fresh(name: str) -> calibrated.Calibration:
    """Solve it again, whatever was solved before."""
    return solve(name, "ideal")


@pytest.mark.parametrize("workload", CALIBRATED)
def test_speedup_of_fred_c_is_reached_and_that_of_fred_d_predicted(workload: str) -> None:
    found = calibrate(workload, "ideal")
    assert found.reached and found.workload == workload
    assert (found.published, found.source) == (
        SPEEDUP_C[workload].value,
        SPEEDUP_C[workload].source,
    )
    job = load_workload(workload)
    mesh, c, d = (
        estimate(Request.of(shared_topology(name, "ideal"), job, compute="calibrated"))
        for name in (BASELINE, FABRIC, "fred-d")
    )
    speedup = mesh.iteration_time_s / c.iteration_time_s
    assert speedup == pytest.approx(found.speedup, rel=1e-9)
    assert speedup == pytest.approx(SPEEDUP_C[workload].value, rel=1e-3)
    predicted = mesh.iteration_time_s / d.iteration_time_s
    assert predicted == pytest.approx(SPEEDUP_D[workload].value, rel=0.05)
    assert c.compute_model == "calibrated" and c.compute_scale == found.scale
    assert any("compute is calibrated" in text for text in c.provenance.assumptions)


@pytest.mark.parametrize("workload", CALIBRATED)
def test_scale_lies_inside_the_bounds_of_the_search(workload: str) -> None:
    assert 1.1e-4 < calibrate(workload, "ideal").scale < 1.0


def test_scale_depends_neither_on_fred_d_nor_on_its_speedup(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []

    def parse(name: str, protocol: ProtocolModel) -> Topology:
        asked.append(name)
        return shared_topology(name, protocol)

    monkeypatch.setattr(calibrated, "shared_topology", parse)
    monkeypatch.setattr(published, "SPEEDUP_D", {})
    for name in PUBLISHED:
        monkeypatch.setitem(SPEEDUP_D, name, Published("100", "made up"))
    assert fresh("resnet-152").scale == calibrate("resnet-152", "ideal").scale
    assert set(asked) == {BASELINE, FABRIC} == {"mesh:5x4", "fred-c"}


@pytest.mark.parametrize(("more", "smaller"), [(1.1, True), (1 / 1.1, False)])
def test_higher_speedup_implies_less_compute(
    monkeypatch: pytest.MonkeyPatch, more: float, smaller: bool
) -> None:
    name = "resnet-152"
    usual = calibrate(name, "ideal").scale
    monkeypatch.setitem(SPEEDUP_C, name, Published(str(SPEEDUP_C[name].value * more), "made up"))
    found = fresh(name)
    assert found.reached and (found.scale < usual) == smaller


@pytest.mark.parametrize(("wanted", "scale"), [(50.0, 1e-4), (0.5, 10.0)])
def test_speedup_out_of_reach_is_told_and_the_nearest_scale_taken(
    monkeypatch: pytest.MonkeyPatch, wanted: float, scale: float
) -> None:
    monkeypatch.setitem(SPEEDUP_C, "resnet-152", Published(str(wanted), "made up"))
    found = fresh("resnet-152")
    assert not found.reached
    assert found.scale == pytest.approx(scale, rel=1e-3)
    assert found.source == "made up"


@pytest.mark.parametrize(
    ("workload", "protocol"),
    [("resnet-152", "ideal"), pytest.param("transformer-17b", "measured", marks=pytest.mark.slow)],
)
def test_scale_multiplies_all_compute_of_the_roofline(
    workload: str, protocol: ProtocolModel
) -> None:
    job, fabric = load_workload(workload), shared_topology("fred-b", protocol)
    roofline, scaled = (
        estimate(Request.of(fabric, job, compute=model))
        for model in ("first-principles", "calibrated")
    )
    assert scaled.busy_s == pytest.approx(calibrate(workload, protocol).scale * roofline.busy_s)
    assert scaled.communication_s == pytest.approx(roofline.communication_s)


@pytest.mark.parametrize(
    ("npu", "message"),
    [
        (Npu(peak_flops=5e14), r"peak_flops: must be 9.894e\+14 where .*, not 5e\+14"),
        (Npu(hbm_bytes_per_s=1e12), r"hbm_bytes_per_s: must be 3e\+12 where .*, not 1e\+12"),
        (
            Npu(efficiency={**EFFICIENCY, "matmul": 0.5}),
            r"efficiency\.matmul: must be 0\.75 where compute is calibrated, not 0\.5",
        ),
    ],
)
def test_other_compute_rates_than_those_of_the_calibration_are_refused(
    npu: Npu, message: str
) -> None:
    with pytest.raises(InputError, match=rf"^npu: {message}$"):
        estimate(
            Request.of(
                shared_topology("fred-d"),
                load_workload("resnet-152"),
                npu=npu,
                compute="calibrated",
            )
        )


@pytest.mark.parametrize(
    "workload", ["resnet-152", pytest.param("transformer-17b", marks=pytest.mark.slow)]
)
def test_scale_is_solved_with_the_protocol_of_the_fabric(
    give_whole_switches: Give, workload: str
) -> None:
    give_whole_switches(0.5, {"l1-11": 15, "l1-12": 15, "l2-10": 15})
    measured = solve(workload, "measured").scale
    ideal = solve(workload, "ideal").scale  # not cached: independent of earlier tests
    # Messages take twice as long, so the same speed-up leaves room for twice the compute.
    assert measured == pytest.approx(2 * ideal, rel=0.02)


def test_fabrics_of_both_protocols_are_not_calibrated_together() -> None:
    fabrics = [shared_topology("mesh:5x4", "ideal"), shared_topology("fred-d")]
    job = load_workload("resnet-152")
    message = r"^compute: must be first-principles for fabrics some of whose protocols are ideal$"
    with pytest.raises(InputError, match=message):
        on_equal_terms([Request.of(one, job, compute="calibrated") for one in fabrics])
    assert len(on_equal_terms([Request.of(one, job) for one in fabrics])) == 2


def test_files_of_both_protocols_are_not_calibrated_together(tmp_path: Path) -> None:
    path = written(tmp_path / "mesh.yaml", "kind: mesh\ncolumns: 5\nrows: 4\nprotocol: ideal\n")
    message = r"^compute: must be first-principles for fabrics some of whose protocols are ideal$"
    with pytest.raises(InputError, match=message):
        on_equal_terms(read_requests([str(path), "fred-d"], ["resnet-152"], **FITTED))
    for protocol in PROTOCOL_MODELS:
        requests = read_requests([str(path), "fred-d"], ["resnet-152"], protocol=protocol, **FITTED)
        assert on_equal_terms(requests) == requests


def test_other_memory_than_that_of_the_calibration_is_allowed() -> None:
    fabric, job = shared_topology("fred-d"), load_workload("resnet-152")
    small, usual = (
        estimate(Request.of(fabric, job, npu=npu, compute="calibrated"))
        for npu in (Npu(hbm_bytes=40e9), Npu())
    )
    assert small.iteration_time_s == usual.iteration_time_s


@pytest.mark.parametrize(
    ("workload", "share"),
    [
        ("resnet-152", 10),
        pytest.param("transformer-17b", 6.2, marks=pytest.mark.slow),
        pytest.param("gpt-3", 14.8, marks=pytest.mark.slow),
    ],
)
def test_calibrated_compute_is_above_the_peak_of_the_npu_and_says_so(
    workload: str, share: float
) -> None:
    fabric, job = shared_topology("fred-d", "ideal"), load_workload(workload)
    found = estimate(Request.of(fabric, job, compute="calibrated"))
    assert calibrate(workload, "ideal").identified
    assert found.peak_share == pytest.approx(share, rel=0.03)
    said = f"NPUs then compute at {found.peak_share:.3g} times their peak of 9.894e+14 FLOP/s"
    assert any(said in text for text in found.provenance.assumptions)


def test_compute_that_a_figure_does_not_tell_has_no_rate() -> None:
    # Without any compute, too, FRED-C is 1.43 times as fast with Transformer-1T: 1.4 as printed.
    found = calibrate("transformer-1t", "ideal")
    assert not found.identified and found.reached
    fabric, job = shared_topology("fred-d", "ideal"), load_workload("transformer-1t")
    result = estimate(Request.of(fabric, job, compute="calibrated"))
    assert result.peak_share is None
    assert any("does not tell the compute" in text for text in result.provenance.assumptions)
    assert not any("times their peak" in text for text in result.provenance.assumptions)


@pytest.mark.parametrize("name", ["mine.yaml", "bert", ""])
def test_workload_without_a_published_speedup_is_refused(name: str) -> None:
    known = ", ".join(PUBLISHED)
    message = rf"^compute: must be first-principles for {name}; calibrated needs one of {known}$"
    with pytest.raises(InputError, match=message):
        calibrate(name)
    job = replace(load_workload("gpt-3"), name=name)
    with pytest.raises(InputError, match=message):
        estimate(Request.of(shared_topology("fred-d"), job, compute="calibrated"))
