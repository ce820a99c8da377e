"""Tests of studies.identify."""

import pytest

from perfmodel.published import SPEEDUP_C, Published
from perfmodel.training.compute_models.calibrated import Runs, calibrate
from studies.identify import identify


def test_interval_is_what_rounds_to_the_printed_digits() -> None:
    found, runs = identify("resnet-152", "ideal"), Runs("resnet-152", "ideal")
    low, high = found.scale
    assert found.identified and low < calibrate("resnet-152", "ideal").scale < high
    assert runs.speedup(low) == pytest.approx(1.415, abs=1e-4)
    assert runs.speedup(high) == pytest.approx(1.405, abs=1e-4)
    ends = (runs.speedup(high, "fred-d"), runs.speedup(low, "fred-d"))
    assert found.speedup_d == pytest.approx(ends, rel=1e-6)
    busy_s = runs.iteration("fred-d", low).busy_s
    assert found.compute_s[0] == pytest.approx(busy_s)


def test_fewer_digits_leave_more_open(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = identify("resnet-152", "ideal")
    monkeypatch.setitem(SPEEDUP_C, "resnet-152", Published("1.4", "made up"))
    rough = identify.__wrapped__("resnet-152", "ideal")
    assert rough.scale[0] < exact.scale[0] < exact.scale[1] < rough.scale[1]
    assert rough.speedup_d[0] < exact.speedup_d[0] < exact.speedup_d[1] < rough.speedup_d[1]


def test_interval_that_reaches_no_compute_identifies_nothing() -> None:
    found = identify("transformer-1t", "ideal")
    assert not found.identified
    assert found.compute_s[0] == found.scale[0] == 0.0 < found.compute_s[1]
    runs = Runs("transformer-1t", "ideal")
    assert SPEEDUP_C["transformer-1t"].rounds(runs.speedup(0.0))
    assert runs.speedup(found.scale[1]) == pytest.approx(1.35, abs=2e-3)
    assert found.speedup_d[1] - found.speedup_d[0] > 0.1
