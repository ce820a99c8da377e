"""Tests of perfmodel.switch_timing.router."""

import re
from pathlib import Path
from typing import Any

import pytest

from fred_hw.errors import InputError
from perfmodel.switch_timing.record import SwitchTiming
from perfmodel.switch_timing.router import SHIPPED_ROUTERS, RouterTiming, load_link_record
from tests.records import shipped
from tests.written import written


def write(folder: Path, data: object) -> str:
    return str(written(folder / "record.json", data))


def router(name: str, **others: Any) -> RouterTiming:
    timing = load_link_record(name, **others)
    assert isinstance(timing, RouterTiming)
    return timing


def test_shipped_record_is_of_the_published_mesh() -> None:
    [name] = SHIPPED_ROUTERS
    record = router(name).record
    assert (record.spec.width, record.spec.height, record.spec.lanes) == (5, 4, 256)
    # 750 GB/s are a flit of 512 B each cycle.
    assert record.clock.hz * 512 == 750e9


def test_latency_is_cycles_at_the_clock(tmp_path: Path) -> None:
    data = shipped("mesh-5x4")
    data["router"]["latency_cycles"], data["clock"]["hz"] = 12, 4e9
    timing = router(write(tmp_path, data))
    assert (timing.latency_cycles, timing.latency_s) == (12, pytest.approx(3e-9))
    assert timing.link_share == data["router"]["payload_share"] < 1
    data["router"]["preemption_cycles"] = 4
    assert router(write(tmp_path, data)).preemption_s == pytest.approx(1e-9)
    use = timing.use("routers")
    assert (use.measured, use.latency_cycles, use.efficiency) == ("router", 12, timing.link_share)
    assert use.measured_by.startswith("icarus ") and "; seed 1; " in use.measured_by


def test_ideal_protocol_takes_nothing() -> None:
    timing = router("mesh-5x4", protocol="ideal")
    assert (timing.latency_s, timing.preemption_s, timing.link_share) == (0.0, 0.0, 1.0)


def test_record_of_a_switch_is_taken_for_its_links() -> None:
    timing = load_link_record("l1-12")
    assert isinstance(timing, SwitchTiming) and timing.link_share == timing.efficiency < 1
    assert load_link_record("l1-12", protocol="ideal").link_share == 1


BAD = {
    "name": ({"name": "x"}, "name must be mesh_5x4_fp16x256_link, the name of spec, not x"),
    "share": (
        {"router": {**shipped("mesh-5x4")["router"], "payload_share": 0.5}},
        "router.payload_share must be 0.969525, .* and flits of 4096 bits, not 0.5",
    ),
    "measured": (
        {"measured_spec": {**shipped("mesh-5x4")["measured_spec"], "routing": "odd_even"}},
        "measured_spec must differ from spec in size and lanes only",
    ),
    "latency": (
        {"router": {**shipped("mesh-5x4")["router"], "latency_cycles": -1}},
        "router.latency_cycles: must be .*, not -1",
    ),
    "follow": (
        {"router": {**shipped("mesh-5x4")["router"], "follow_cycles": 9}},
        "router.follow_cycles must be at most router.latency_cycles, 8, not 9",
    ),
    "preemption": (
        {"router": {**shipped("mesh-5x4")["router"], "preemption_cycles": None}},
        r"router\.preemption_cycles: must be a valid integer, not None",
    ),
    "before": (
        {
            "router": {
                k: v for k, v in shipped("mesh-5x4")["router"].items() if k != "preemption_cycles"
            }
        },
        r"router\.preemption_cycles: is required and was not given",
    ),
    "schema": ({"schema": "fred-mesh-timing/9"}, "schema: must be 'fred-timing/2', not .*"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_record_is_refused(what: str, tmp_path: Path) -> None:
    changes, line = BAD[what]
    path = write(tmp_path, shipped("mesh-5x4") | changes)
    with pytest.raises(InputError, match=f"^{re.escape(path)}: {line}$"):
        load_link_record(path)


def test_unknown_name_is_refused() -> None:
    line = "timing record: must be mesh-5x4, l1-11, l1-12, l2-10 or a path ending in .json, not 'm'"
    with pytest.raises(InputError, match=f"^{re.escape(line)}$"):
        load_link_record("m")
