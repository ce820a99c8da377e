"""Links under load and under faults, in a compiled harness; and harnesses that must notice."""

# Amaranth has no types.
# pyright: reportReturnType=false

from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Module, Value
from amaranth.lib import data

from fred_hw.link.crc import FlitCrc
from fred_hw.link.receiver import LinkReceiver
from fred_hw.link.spec import LinkSpec
from fred_hw.unit import Unit
from testbench.link import LinkPair, build_link, run_link

pytestmark = pytest.mark.sim

SMALL = LinkSpec(flit_bytes=4)
SPECS = {
    "published": SMALL,
    "24 KB": LinkSpec(flit_bytes=4, buffer_packets=6),
    "single flits": LinkSpec(
        flit_bytes=4, packet_flits=1, buffer_packets=47, window_packets=64, round_trip_cycles=40
    ),
    "odd packets": LinkSpec(flit_bytes=4, packet_flits=5, buffer_packets=11),
    "ACK of each": LinkSpec(flit_bytes=4, ack_interval=1, window_packets=8, idle_cycles=3),
}


def good(result: dict[str, Any]) -> bool:
    return result["matched"] == result["flits"] and result["wrong"] == 0


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS.keys())
def test_no_flit_is_lost_doubled_or_changed(spec: LinkSpec) -> None:
    program = build_link(spec)
    longest = spec.packet_flits
    for seed in range(4):
        plain = run_link(
            program, flits=200_000, seed=seed, stall_percent=25 * seed, packet_flits=longest
        )
        assert good(plain), plain
        assert plain["retransmissions"] == 0
        faulty = run_link(
            program,
            flits=100_000,
            seed=seed,
            faults_per_million=10_000,
            stall_percent=20,
            packet_flits=longest,
            delay=3 + 12 * seed,
        )
        assert good(faulty), faulty
        assert faulty["retransmissions"] > 0


def test_ten_thousand_faults_of_every_kind() -> None:
    result = run_link(
        build_link(SMALL), flits=1_500_000, seed=7, faults_per_million=7_000, stall_percent=10
    )
    assert good(result), result
    assert result["faults"] >= 10_000
    assert min(result[kind] for kind in ("flipped", "bursts", "lost", "doubled", "runs")) > 1000
    assert result["control_faults"] > 50


@pytest.mark.slow
def test_ten_million_flits_with_random_pauses() -> None:
    result = run_link(build_link(SMALL), flits=10_000_000, seed=3, stall_percent=30)
    assert good(result), result


def test_full_packets_fill_the_link_over_the_published_distance() -> None:
    result = run_link(build_link(SMALL), flits=400_000, delay=20, fixed=True)
    assert good(result)
    assert result["flits"] / result["span_cycles"] > 0.999
    # One ACK in 16 packets of 8 flits.
    assert result["control_flits"] / result["flits"] == pytest.approx(1 / 128, rel=0.01)
    assert result["link_flits"] == result["flits"]
    # The published 24 KB lack one packet, as none may start without room for all of it.
    short = run_link(build_link(SPECS["24 KB"]), flits=400_000, delay=20, fixed=True)
    assert short["flits"] / short["span_cycles"] == pytest.approx(48 / 54, rel=0.001)


def test_a_link_that_loses_a_third_of_all_flits_still_delivers() -> None:
    result = run_link(build_link(SMALL), flits=3_000, delay=2, faults_per_million=300_000)
    assert good(result), result


class NoCrc(FlitCrc):
    """Says that every flit is right."""

    def build(self, platform: object) -> Module:
        m = Module()
        m.d.comb += self.crc.eq(0)
        return m


class AnyFlit(LinkReceiver):
    """Takes any flit of the packet that it expects."""

    def _is_next(self, header: data.View, expected: Value, index: Value) -> Value:
        return header.sequence == expected


class AnyPacket(LinkReceiver):
    """Takes any packet at all."""

    def _is_next(self, header: data.View, expected: Value, index: Value) -> Value:
        return header.index == index


@pytest.mark.parametrize("broken", [AnyFlit, AnyPacket])
def test_broken_receiver_is_noticed(broken: type[LinkReceiver], tmp_path: Path) -> None:
    program = build_link(SMALL, LinkPair(SMALL, receiver=broken(spec=SMALL)), tmp_path)
    assert not good(run_link(program, flits=20_000, faults_per_million=20_000, stall_percent=10))


def test_missing_crc_is_noticed(tmp_path: Path) -> None:
    unit: Unit = NoCrc(data_width=SMALL.data_width)
    program = build_link(SMALL, None, tmp_path, {unit.unit_name: unit})
    assert not good(run_link(program, flits=20_000, faults_per_million=20_000))
    assert good(run_link(program, flits=20_000))


def test_flits_of_another_width_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^flit_bytes must be 4 for the harness, not 8$"):
        build_link(LinkSpec(flit_bytes=8))
