"""Endpoints back to back under load and under faults; and harnesses that must notice."""

# Fields of a specification go by name as keyword arguments.
# pyright: reportArgumentType=false

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from fred_hw.protocol import ProtocolSpec
from fred_hw.spec import SwitchSpec
from fred_hw.virtual_channels import DEFAULT_CHANNELS
from gen.emitter import VerilogEmitter
from testbench.faults.fault import Fault, FaultyEmitter, noticed_by
from testbench.sim.runner import BenchRun, run_bench
from testbench.sim.tools import icarus_bin
from testbench.volume.link import EndpointPair, LinkRun, build_link, run_link
from tests.testbench.cases import payload_share

pytestmark = [pytest.mark.sim, pytest.mark.slow]


def sized(**protocol: int) -> SwitchSpec:
    return SwitchSpec(ports=2, lanes=2, protocol=ProtocolSpec(**protocol))


SMALL = sized()
SPECS = {
    "published": SMALL,
    "single flits": sized(
        packet_flits=1, buffer_packets=47, window_packets=64, round_trip_cycles=20
    ),
    "odd packets, ack of each": sized(
        packet_flits=5,
        buffer_packets=11,
        packet_timeout_cycles=20,
        ack_interval=1,
        window_packets=32,
        nack_timeout_cycles=3,
        timeout_cycles=150,
    ),
}


@cache
def link(spec: SwitchSpec) -> Path:
    """Build a link, or find it built: only to look costs seconds."""
    return build_link(spec)


@pytest.mark.parametrize(
    "spec",
    [
        # Switches of two ports have links of single flits in co-simulation.
        pytest.param(spec, id=name, marks=[pytest.mark.long] if name == "single flits" else [])
        for name, spec in SPECS.items()
    ],
)
def test_no_flit_is_lost_doubled_or_changed(spec: SwitchSpec) -> None:
    program = link(spec)
    longest = spec.protocol.packet_flits
    for seed in range(3):
        plain = run_link(
            program, LinkRun(flits=90_000, seed=seed, stall_percent=25 * seed, packet_flits=longest)
        )
        assert plain["right"], plain
        assert plain["rewinds"] == plain["dropped"] == 0
        faulty = run_link(
            program,
            LinkRun(
                flits=60_000,
                seed=seed,
                faults_per_million=5_000,
                stall_percent=20,
                link_stall_percent=10 * seed,
                packet_flits=longest,
                delay=3 + 12 * seed,
                rounds=5,
            ),
        )
        assert faulty["right"], faulty
        assert faulty["rewinds"] > 0


def test_a_million_flits_and_thousands_of_faults_of_every_kind() -> None:
    result = run_link(
        link(SMALL),
        LinkRun(flits=1_000_000, seed=7, faults_per_million=3_000, stall_percent=10, rounds=20),
    )
    assert result["right"], result
    assert sum(result["faults"].values()) >= 1_000
    assert min(result["faults"].values()) >= 100


@pytest.mark.parametrize("flow", range(DEFAULT_CHANNELS.classes))
def test_full_packets_of_one_flow_fill_the_link(flow: int) -> None:
    result = run_link(link(SMALL), LinkRun(flits=200_000, fixed=True, flows=(flow,)))
    assert result["right"], result
    # Three handshakes, and a limit of each circuit, begin the link.
    assert result["from_0"] == {
        "data": 200_000,
        "ack": 0,
        "nack": 0,
        "credit": 3,
        "sync": 0,
        "ask": 0,
        "handshake": 3,
    }
    assert result["flits"] / result["span_cycles"] > 0.999
    # One ack in 16 packets of 8 flits.
    assert result["from_1"]["ack"] / result["flits"] == pytest.approx(1 / 128, rel=0.01)


def test_both_directions_carry_their_control_flits_and_fill_the_link() -> None:
    result = run_link(link(SMALL), LinkRun(flits=600_000, fixed=True))
    assert result["right"], result
    for end in ("from_0", "from_1"):
        control = sum(result[end].values()) - result[end]["data"]
        # Credits ride in data flits.
        assert control / result[end]["data"] == pytest.approx(1 / 128, rel=0.05)
    assert payload_share(result["flits"] / 2 / result["span_cycles"]) >= 0.968


def test_short_packets_fill_the_link_too() -> None:
    result = run_link(
        link(SMALL), LinkRun(flits=40_000, packet_flits=1, fixed=True, flows=(0, 1, 2))
    )
    assert result["right"], result
    # 3 x 9 packets in a round trip of 2 x 20 cycles and those in the ends.
    assert result["flits"] / result["span_cycles"] > 0.5


def test_a_link_that_loses_a_fifth_of_all_flits_still_delivers() -> None:
    run = LinkRun(flits=6_000, delay=2, faults_per_million=60_000)
    results = [run_link(link(SMALL), replace(run, seed=seed)) for seed in range(1, 4)]
    assert all(result["right"] for result in results), results
    # A circuit waits until it requests credits when its last link sequence number is lost.
    assert sum(result[way]["sync"] for result in results for way in ("from_0", "from_1")) > 0


FAULTS = noticed_by("link")
WRONG = [fault for fault, said in FAULTS.items() if said == "wrong"]


@cache
def faulty_link() -> tuple[Path, FaultyEmitter]:
    emitter = FaultyEmitter(FAULTS)
    return build_link(SMALL, emitter), emitter


@pytest.mark.parametrize("fault", WRONG)
def test_fault_of_a_receiver_is_noticed(fault: Fault) -> None:
    program, emitter = faulty_link()
    plusargs = emitter.plusargs(fault)
    found = run_link(
        program,
        LinkRun(flits=60_000, faults_per_million=5_000, idle_limit=20_000, plusargs=plusargs),
    )
    assert not found["right"]
    assert found["wrong"] > 0
    plain = run_link(program, LinkRun(flits=60_000, plusargs=plusargs))
    assert plain["right"], plain


@pytest.mark.parametrize("fault", FAULTS.keys() - {*WRONG})
def test_fault_of_a_sender_is_noticed(fault: Fault) -> None:
    program, emitter = faulty_link()
    found = run_link(
        program, LinkRun(flits=60_000, stall_percent=50, plusargs=emitter.plusargs(fault))
    )
    assert not found["right"]
    assert any(FAULTS[fault] in message for message in found["messages"])


def test_flits_of_another_width_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^data_width must be 32 to 64 for the harness, not 128$"):
        build_link(SMALL.with_changes(lanes=8))


@pytest.mark.skipif(icarus_bin() is None, reason="Icarus is not installed")
def test_nothing_is_undefined_in_icarus(tmp_path: Path) -> None:
    small = sized(packet_flits=4, buffer_packets=12, timeout_cycles=200)
    emitter, pair = VerilogEmitter(), EndpointPair(small)
    emitter.add(pair)
    bench = BenchRun(module="testbench.benches.tb_link")
    result = run_bench(emitter.verilog(), pair.unit_name, bench, tmp_path)
    assert [(test.passed, test.message) for test in result.tests] == [(True, "")]
