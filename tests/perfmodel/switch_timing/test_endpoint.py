"""Tests of perfmodel.switch_timing.endpoint."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from fred_hw.errors import InputError
from fred_hw.protocol import ProtocolSpec
from perfmodel.switch_timing.endpoint import SHIPPED_ENDPOINTS, EndpointTiming, load_endpoint_record
from perfmodel.switch_timing.measured_record import Clock
from tests.records import shipped
from tests.written import written

CYCLE_S = 1e-9
FIGURES = {
    "start_cycles": 40,
    "ring_start_cycles": 50,
    "command_cycles": 60,
    "finish_cycles": 20,
    "ack_cycles": 10,
    "answer_cycles": 4,
    "next_cycles": 30,
    "received_cycles": 40,
    "step_cycles": 25,
    "turn_cycles": 4,
    "credit_cycles": 5,
    "flits_per_cycle": 0.9,
    "ring_flits_per_cycle": 0.5,
}


def content(**changes: Any) -> dict[str, Any]:
    """Return a record with round figures: flits of 512 B, four machines, slots of 128 flits."""
    data = shipped("endpoint")
    data["endpoint"] = FIGURES | changes
    data["clock"]["hz"] = 1e9
    return data


def timing(folder: Path, memory_s: float = 0.0, **changes: Any) -> EndpointTiming:
    path = written(folder / "record.json", content(**changes))
    return load_endpoint_record(str(path), memory_s=memory_s)


def test_shipped_record_is_of_the_published_endpoint() -> None:
    [name] = SHIPPED_ENDPOINTS
    record = load_endpoint_record(name).record
    assert (record.spec.lanes, record.spec.endpoint.fsms) == (256, 4)
    assert record.clock.hz * 512 == 600e9


def test_times_are_cycles_at_the_clock_and_memory(tmp_path: Path) -> None:
    one = timing(tmp_path, memory_s=100 * CYCLE_S)
    assert one.start_s == pytest.approx(140 * CYCLE_S)
    assert one.ring_start_s == pytest.approx(150 * CYCLE_S)
    assert one.next_s == pytest.approx(130 * CYCLE_S)
    assert (one.finish_s, one.ack_s) == pytest.approx((20 * CYCLE_S, 10 * CYCLE_S))
    # Of 4,096 + 56 + 32 bits of a flit, payload is 4,096.
    assert one.efficiency == pytest.approx(0.9 * 4096 / 4192)
    use = one.use("endpoints")
    assert (use.measured, use.latency_cycles, use.efficiency) == ("endpoint", 60, one.efficiency)


def test_an_ack_comes_at_once_behind_whole_intervals(tmp_path: Path) -> None:
    one = timing(tmp_path, ack_cycles=20)
    for flits, cycles in ((1, 20), (120, 20), (121, 4), (128, 4), (129, 20), (1024, 4)):
        assert one.acked_s(flits * 512) == pytest.approx(cycles * CYCLE_S)
    assert timing(tmp_path, ack_cycles=10).acked_s(128 * 512) == 0


def test_an_ack_comes_earlier_by_the_pause_of_the_protocol(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = timing(tmp_path, ack_cycles=20)
    monkeypatch.setattr(ProtocolSpec, "quiet_cycles", 7)
    assert one.acked_s(128 * 512) == pytest.approx((20 - 7) * CYCLE_S)


def test_a_chunk_is_loaded_before_it_goes(tmp_path: Path) -> None:
    one = timing(tmp_path)
    assert one.load_s(10 * 512) == pytest.approx(10 * CYCLE_S)
    assert one.load_s(1000 * 512) == pytest.approx(128 * CYCLE_S)
    assert one.with_ports(5).load_s(1000 * 512) == pytest.approx(128 * CYCLE_S)
    assert one.with_ports(5).load_s(100 * 512) == pytest.approx(20 * CYCLE_S)
    # Of a ring of four, a message of 32; of little data, such that each machine has one.
    assert one.ring_load_s(4, 1000 * 512) == pytest.approx(32 * CYCLE_S)
    assert one.ring_load_s(4, 8 * 512) == pytest.approx(2 * CYCLE_S)


def test_a_link_carries_a_buffer_in_each_round_trip_of_credits(tmp_path: Path) -> None:
    one = timing(tmp_path)
    assert one.link_share(0.0, 0) == one.link_share(20e-9, 10) == one.efficiency  # 72 in 55 cycles
    assert one.link_share(40e-9, 10) == pytest.approx(72 / 95 * 4096 / 4192)
    # Of a slower link it holds up less: what it carries never falls as the link gets quicker.
    assert one.link_share(40e-9, 10, 0.5) == one.efficiency
    carried = [rate * one.link_share(40e-9, 10, rate) for rate in (0.1, 0.5, 0.7, 0.76, 0.9, 1.0)]
    assert carried == pytest.approx(sorted(carried))
    assert carried[-1] == pytest.approx(carried[-2]) == pytest.approx(72 / 95 * 4096 / 4192)


def test_state_machines_wait_for_the_way_or_for_the_link(tmp_path: Path) -> None:
    one, rate = timing(tmp_path), 512 * 1e9 / 2
    # Four messages of 32 at half of the link take 256 cycles; alone one takes 32 + 100 + 24. Behind
    # the last one there are a way and a step.
    assert one.ring_s(4, 128 * 512, 100 * CYCLE_S, rate) == pytest.approx(893 * CYCLE_S)
    assert one.ring_s(4, 1280 * 512, 100 * CYCLE_S, rate) == pytest.approx(7805 * CYCLE_S)
    assert one.ring_s(4, 100 * 512, 300 * CYCLE_S, rate) == pytest.approx(3 * 349 * CYCLE_S)
    # What four messages have no room for are two rounds of equal ones, of 17 flits, and of 21.
    assert one.ring_s(4, 129 * 512, 300 * CYCLE_S, rate) == pytest.approx(3 * 682 * CYCLE_S)
    assert one.ring_s(4, 161 * 512, 300 * CYCLE_S, rate) == pytest.approx(6 * 345 * CYCLE_S)
    assert one.ring_s(4, 4 * 512, 100 * CYCLE_S, rate) == pytest.approx(3 * 118 * CYCLE_S)
    second = one.ring_s(4, 1280 * 512, 100 * CYCLE_S, rate, first=False)
    assert second == pytest.approx(7680 * CYCLE_S)


def test_the_first_message_waits_for_what_it_is_reduced_with(tmp_path: Path) -> None:
    """A message of each state machine is loaded before: that takes longer than a short way."""
    one, rate = timing(tmp_path), 512 * 1e9
    # Four messages of 64, of 10, and of 64 again; a step takes 25.
    for flits, way, cycles in ((256, 66, 256), (256, 300, 325), (40, 20, 45), (2048, 100, 256)):
        free, waits = (
            one.ring_s(2, flits * 512, way * CYCLE_S, rate, reduces=reduces)
            for reduces in (False, True)
        )
        assert free == pytest.approx((flits + way + 25) * CYCLE_S)
        assert waits == pytest.approx((flits + cycles) * CYCLE_S)
    later = one.ring_s(2, 256 * 512, 66 * CYCLE_S, rate, first=False, reduces=True)
    assert later == pytest.approx(256 * CYCLE_S)


def test_what_is_added_has_a_port_of_its_own_where_there_are_two(tmp_path: Path) -> None:
    """Nothing waits for it, and of the blocks that are loaded it has all but the first."""
    one, rate = timing(tmp_path), 512 * 1e9
    two, hz = one.with_read_ports(2), 2e9
    assert (one.read_ports, two.read_ports) == (1, 2)
    assert two.with_clock(Clock(hz=hz, source="another")).read_ports == 2
    for flits, way in ((256, 66), (40, 20), (2048, 100)):
        args = 2, flits * 512, way * CYCLE_S, rate
        assert two.ring_s(*args, reduces=True) == one.ring_s(*args) == two.ring_s(*args)
    # Five blocks take longer to load on one port than four on a link; four on a port do not.
    args = 5, 2048 * 512, 0.0, rate
    free = two.ring_s(*args, first=False)
    assert two.ring_s(*args, first=False, loads=5) == free < 5 * 2048 * CYCLE_S
    assert one.ring_s(*args, first=False, loads=5) == pytest.approx(5 * 2048 * CYCLE_S)


def test_a_packet_that_is_short_is_read_sooner(tmp_path: Path) -> None:
    """The record is of packets of 8 flits; messages of 6 leave 2 cycles earlier."""
    one = timing(tmp_path)
    for flits, cycles in ((64, 25), (8, 25), (6, 23), (1, 18)):
        assert one.step_s(flits * 512) == pytest.approx(cycles * CYCLE_S)
    # 24 flits in four machines.
    assert one.ring_step_s(20, 24 * 512) == pytest.approx(23 * CYCLE_S)


def test_time_of_a_ring_never_falls_as_it_has_more_to_do(tmp_path: Path) -> None:
    one = timing(tmp_path)
    for members in (2, 5, 20):
        times = [one.ring_s(members, size * 512, 1e-7, 6e11) for size in range(1, 2000)]
        assert times == sorted(times)
    ways = [one.ring_s(5, 4096, way * 1e-8, 6e11) for way in range(50)]
    assert ways == sorted(ways)


def test_what_is_no_record_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"must be endpoint or a path ending in .json, not 'l1-12'$"
    ):
        load_endpoint_record("l1-12")
    path = tmp_path / "record.json"
    for change, message in (
        ({"name": "other"}, "name must be fred_m3_p12_fp16x256, the name of spec, not other"),
        ({"schema": "fred-timing/2"}, "schema: must be 'fred-endpoint-timing/1'"),
        (
            {"measured_spec": content()["spec"] | {"ports": 4}},
            "measured_spec must differ from spec in lanes only",
        ),
    ):
        path.write_text(json.dumps(content() | change), encoding="utf-8")
        with pytest.raises(InputError, match=re.escape(message)):
            load_endpoint_record(str(path))
