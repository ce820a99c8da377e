"""Tests of studies.saturation."""

import json
from pathlib import Path
from typing import Any

import pytest

from fred_hw.errors import InputError
from fred_hw.files import validate
from perfmodel.published_routers import PATTERN_CURVES, UNIFORM_CURVES
from studies.saturation import (
    FLOOR,
    SHIPPED_SATURATION,
    MeasuredCurve,
    beyond_share,
    knee,
    load_saturation,
    misses,
)
from tests.written import written


def made_up(latencies: list[float], passes: float) -> MeasuredCurve:
    """Return a curve with these latencies at 0.1, 0.2 and so on of a capacity of half a flit."""

    def row(share: float, accepted: float, cycles: float) -> dict[str, Any]:
        return {
            "share": share,
            "offered": share / 2,
            "accepted": accepted,
            "latency_cycles": cycles,
            "packets": 100,
            "lost_messages": 0,
        }

    shares = [(place + 1) / 10 for place in range(len(latencies))]
    curve = {
        "pattern": "uniform",
        "routing": "xy",
        "packet_flits": 5,
        "buffer_flits": 65,
        "capacity": 0.5,
        "rows": [row(a, a / 2, b) for a, b in zip(shares, latencies, strict=True)],
        "full": row(2.0, passes / 2, 999.0),
    }
    return validate(MeasuredCurve, curve, "made up")


GOOD = [10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0, 40.0]


@pytest.mark.parametrize(
    ("factor", "load"), [(1.5, 0.25), (2.0, 0.3), (2.5, 0.325), (4.0, 0.4), (4.1, None)]
)
def test_knee_is_where_a_straight_line_reaches_it(factor: float, load: float | None) -> None:
    points = [(0.1, 10.0), (0.2, 10.0), (0.3, 20.0), (0.4, 40.0)]
    assert knee(points, factor) == (None if load is None else pytest.approx(load))


def test_knee_is_the_first_load_that_reaches_it() -> None:
    assert knee([(1, 10.0), (2, 20.0), (3, 15.0), (4, 30.0)], 2.0) == pytest.approx(2)


def test_curve_that_rises_and_is_not_below_the_floor_misses_nothing() -> None:
    assert misses(made_up(GOOD, 0.7)) == []


@pytest.mark.parametrize(
    ("latencies", "passes", "said"),
    [
        (
            [10.0, 11.0, 10.5, *GOOD[3:]],
            0.7,
            ["latency falls from 11.0 at 0.2 of capacity to 10.5"],
        ),
        (
            [10.0, 11.0, 11.0, *GOOD[3:]],
            0.7,
            ["latency falls from 11.0 at 0.2 of capacity to 11.0"],
        ),
        (GOOD, 0.65, ["0.650 of capacity pass, not 0.656"]),
        (
            [10.0, 11.0, 12.0, 13.0, 25.0, 100.0],
            0.7,
            ["latency is 2 times at 0.458 of capacity, not 0.546", "latency is 3 times at 0.507"],
        ),
        ([10.0, 11.0, 12.0, 13.0, 14.0, 21.0, 22.0, 40.0], 0.7, []),
    ],
)
def test_wrong_shapes_and_less_than_the_floor_are_told(
    latencies: list[float], passes: float, said: list[str]
) -> None:
    found = misses(made_up(latencies, passes))
    assert len(found) == len(said)
    assert all(one.startswith(words) for one, words in zip(found, said, strict=True))


def test_what_passes_is_a_share_of_the_capacity() -> None:
    assert beyond_share(made_up(GOOD, 0.7)) == pytest.approx(0.7)
    assert FLOOR.beyond is not None
    assert beyond_share(FLOOR) == pytest.approx(FLOOR.beyond.value / 0.5)
    assert beyond_share(UNIFORM_CURVES["1 flit, 8 VC x 8"]) is None


@pytest.mark.parametrize(
    ("name", "twice", "three_times"),
    [("5 flits, 8 VC x 8", 0.812, 0.854), ("20 flits, 2 VC x 16", 0.546, 0.597)],
)
def test_knees_of_published_curves_by_hand(name: str, twice: float, three_times: float) -> None:
    points = UNIFORM_CURVES[name].points
    assert knee(points, 2.0) == pytest.approx(twice, abs=5e-4)
    assert knee(points, 3.0) == pytest.approx(three_times, abs=5e-4)


def test_shipped_curves_have_the_shape_and_are_not_below_the_floor() -> None:
    """`make bench` measures them anew, and says the same of what it finds."""
    for curve in load_saturation().uniform:
        assert misses(curve) == []


def test_shipped_record_has_what_stands_beside_published_curves() -> None:
    record = load_saturation()
    assert [one.packet_flits for one in record.uniform] == [5, 8, 10]
    for one in PATTERN_CURVES:
        curve = record.curve(one.pattern, one.routing, 5)
        # Uniform traffic goes to the source itself there.
        assert curve.capacity == pytest.approx(one.capacity, abs=0.01)
        assert knee(curve.points, 3.0) is not None
    with pytest.raises(KeyError):
        record.curve("transpose", "xy", 7)


def test_loads_that_do_not_ascend_are_refused(tmp_path: Path) -> None:
    record = json.loads(SHIPPED_SATURATION.read_text(encoding="utf-8"))
    rows = record["curves"][0]["rows"]
    rows[0], rows[1] = rows[1], rows[0]
    said = r"curves\.0: rows: must have ascending shares, not 0.1 before 0.05"
    with pytest.raises(InputError, match=f"{said}$"):
        load_saturation(written(tmp_path / "record.json", record))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"schema": "fred-mesh-saturation/2"}, "schema: .*"),
        ({"curves": []}, "curves: .*"),
        ({"seed": "1"}, "seed: .*"),
        ({"speed": 1}, "speed: .*"),
    ],
)
def test_other_records_are_refused(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    record = json.loads(SHIPPED_SATURATION.read_text(encoding="utf-8"))
    path = written(tmp_path / "record.json", {**record, **change})
    with pytest.raises(InputError, match=f"^{path}: {said}"):
        load_saturation(path)
