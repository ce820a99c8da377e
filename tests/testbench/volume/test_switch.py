"""The whole switch under load and faults; a plain switch in C++, and broken ones."""

# Amaranth has no types.
# pyright: reportReturnType=false, reportArgumentType=false
# pyright: reportAttributeAccessIssue=false, reportOperatorIssue=false

import random
from bisect import bisect_right
from collections.abc import Sequence
from functools import cache
from itertools import pairwise, permutations
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Const, Module, Mux, Signal, Value

from fred_hw.compiler.flows import Flow
from fred_hw.datapath.interconnect import latency_cycles
from fred_hw.link.circuit_credits import CircuitCredits
from fred_hw.link.flit_check import FlitCheck
from fred_hw.protocol import ProtocolSpec
from fred_hw.spec import SwitchSpec
from fred_hw.switch.acknowledger import Acknowledger
from fred_hw.switch.ports.circuit_queue import CircuitQueue
from fred_hw.switch.ports.output_port import OutputPort
from fred_hw.switch.switch import added_cycles
from testbench.stimulus.phases import Phase, make_turn, phase_table
from testbench.stimulus.traffic import routed
from testbench.volume.switch import (
    FAULT_KINDS,
    HUB_FAULTS,
    Burst,
    Fault,
    Stop,
    Traffic,
    Unicast,
    build_hub,
    build_switch,
    configure,
    random_traffic,
    recovery_cycles,
    run_switch,
)

pytestmark = pytest.mark.sim

# The hub adds whole flits.
SPEC = SwitchSpec(
    ports=4, lanes=1, format="int32", overflow="wrap", protocol=ProtocolSpec(phases=8)
)
TABLE = phase_table(random.Random(1), SPEC, 8)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("faults", [0, 300, 10_000])
def test_hub_passes(seed: int, faults: int) -> None:
    result = run_switch(
        build_hub(SPEC),
        SPEC,
        random_traffic(SPEC, TABLE, flits=200_000, seed=seed),
        seed=seed,
        delay=1 + 19 * seed,
        faults_per_million=faults,
        stall_percent=25 * seed,
        start_spread=1000 * seed,
        gap_cycles=200 * seed,
    )
    assert result["right"], (result["messages"], result["state"])
    assert result["packets"] == result["wanted_packets"]
    assert result["flits"] >= 200_000
    assert result["preemptions"] > 100
    assert result["late_flits"] == 0
    for direction in ("faults_to_switch", "faults_from_switch"):
        assert all((count > 0) == (faults > 0) for count in result[direction].values())


def test_faults_of_every_kind_are_counted() -> None:
    result = run_switch(
        build_hub(SPEC),
        SPEC,
        random_traffic(SPEC, TABLE, flits=200_000),
        faults_per_million=10_000,
    )
    assert result["right"]
    for direction in ("to_switch", "from_switch"):
        counts, flits = result[f"faults_{direction}"], sum(result[direction].values())
        assert sum(counts[kind] for kind in FAULT_KINDS[:-1]) == pytest.approx(flits / 100, rel=0.1)
        assert counts["lost_acks"] == pytest.approx(result[direction]["ack"] / 10, rel=0.2)


def test_another_width_and_packet_size() -> None:
    protocol = ProtocolSpec(
        phases=5,
        packet_flits=3,
        round_trip_cycles=20,
        buffer_packets=9,
        ack_interval=1,
        window_packets=16,
        timeout_cycles=300,
        idle_cycles=7,
        patience_cycles=30,
    )
    spec = SwitchSpec(ports=5, lanes=1, format="int8", overflow="wrap", protocol=protocol)
    table = phase_table(random.Random(2), spec, 5)
    result = run_switch(
        build_hub(spec),
        spec,
        random_traffic(spec, table, flits=100_000),
        delay=6,
        faults_per_million=3000,
        stall_percent=20,
    )
    assert result["right"], (result["messages"], result["state"])


@pytest.mark.parametrize("fault", HUB_FAULTS[1:])
def test_broken_switch_is_noticed(fault: str) -> None:
    result = run_switch(
        build_hub(SPEC, fault),
        SPEC,
        random_traffic(SPEC, TABLE, flits=100_000),
        faults_per_million=5000,
        stall_percent=30,
        idle_limit=50_000,
    )
    assert not result["right"]


def one_way(packets: int) -> Traffic:
    return Traffic((), {}, (Unicast(0, 1, 0, packets),), full=True)


def test_full_packets_fill_the_links() -> None:
    result = run_switch(build_hub(SPEC), SPEC, one_way(4000))
    assert result["right"]
    assert result["flits"] == 4000 * SPEC.protocol.packet_flits
    # Nothing else goes on these directions of the links.
    assert result["in"][0]["rate"] == result["out"][1]["rate"] == 1.0
    acks = result["to_switch"]["ack"]
    assert acks == 4000 // SPEC.protocol.ack_interval


def test_lone_packet_shows_the_latency() -> None:
    # The hub takes a flit, gives it at once if its packet is whole, and shows it a cycle later.
    flits = SPEC.protocol.packet_flits
    assert run_switch(build_hub(SPEC), SPEC, one_way(1))["latency_cycles"] == flits


@pytest.mark.parametrize("kind", FAULT_KINDS[:-1])
def test_recovery_from_a_single_fault(kind: str) -> None:
    hub, traffic = build_hub(SPEC), one_way(400)

    def run(fault: Fault | None) -> dict[str, Any]:
        return run_switch(hub, SPEC, traffic, interval_cycles=16, trace=True, fault=fault)

    clean, faulty = run(None), run(Fault(port=1, at=803, kind=kind))
    assert clean["right"]
    assert faulty["right"]
    assert recovery_cycles(clean, clean) == 0
    assert sum(faulty["faults_from_switch"].values()) == 1
    recovery = recovery_cycles(clean, faulty)
    if kind == "doubled":
        assert recovery == 0
    else:
        # The nack's way, the packet's, and time to catch up, as half of the cycles are spare.
        assert 4 * 20 < recovery < 400


def test_packets_wait_for_their_interval() -> None:
    result = run_switch(build_hub(SPEC), SPEC, one_way(100), interval_cycles=32)
    assert result["right"]
    assert result["out"][1]["rate"] == pytest.approx(8 / 32, rel=0.02)


def test_stuck_switch_ends_with_its_state() -> None:
    result = run_switch(
        build_hub(SPEC, "no_answer"),
        SPEC,
        random_traffic(SPEC, TABLE, flits=100_000),
        faults_per_million=20_000,
        idle_limit=20_000,
    )
    assert not result["right"]
    assert result["packets"] < result["wanted_packets"]
    assert "port 0 circuit 0: burst" in result["state"]


def test_same_seed_gives_the_same_run() -> None:
    traffic = random_traffic(SPEC, TABLE, flits=20_000)

    def run(seed: int) -> dict[str, Any]:
        return run_switch(
            build_hub(SPEC), SPEC, traffic, seed=seed, faults_per_million=5000, stall_percent=20
        )

    assert run(4) == run(4)
    assert run(4) != run(5)


def test_unicasts_of_two_ports_stay_on_a_circuit() -> None:
    bursts = (Burst(0, 1), Unicast(0, 1, 2, 1), Unicast(1, 0, 0, 1), Unicast(0, 1, 1, 1))
    with pytest.raises(
        ValueError, match=r"^circuit of unicasts from 0 to 1 must be 2 as before, not 1$"
    ):
        Traffic((), {}, bursts)


def test_wide_flits_are_refused() -> None:
    wide = SwitchSpec(ports=2, lanes=5)
    with pytest.raises(
        ValueError, match=r"^data_width must be 64 or less for the harness, not 80$"
    ):
        build_hub(wide)


def test_links_without_the_link_layer_have_no_hub() -> None:
    bare = SwitchSpec(ports=2, lanes=1, protocol=ProtocolSpec(link=False))
    with pytest.raises(ValueError, match=r"^link must be True for the hub, not False$"):
        build_hub(bare)


# ---- The hardware: three builds, and those of broken units ----

LINK = SwitchSpec(
    ports=4, lanes=2, format="int16", overflow="wrap", protocol=ProtocolSpec(phases=6)
)
BARE = LINK.with_changes(middle=2, protocol=ProtocolSpec(link=False, phases=6))
ODD = SwitchSpec(
    ports=5,
    middle=2,
    lanes=1,
    protocol=ProtocolSpec(
        phases=5,
        packet_flits=3,
        round_trip_cycles=20,
        buffer_packets=7,
        ack_interval=1,
        window_packets=16,
        timeout_cycles=300,
        idle_cycles=7,
        patience_cycles=30,
    ),
)
SPECS = {"link": LINK, "bare": BARE, "odd": ODD}
FAULTY = {name: spec for name, spec in SPECS.items() if spec.protocol.link}


def each_of(specs: dict[str, SwitchSpec]) -> Any:
    return pytest.mark.parametrize("spec", specs.values(), ids=specs.keys())


@cache
def program(spec: SwitchSpec) -> Path:
    """Build a switch, or find it built: only to look costs seconds."""
    return build_switch(spec)


def run_random(spec: SwitchSpec, seed: int, flits: int, **options: Any) -> dict[str, Any]:
    rng = random.Random(seed)
    table = phase_table(rng, spec, spec.protocol.phases)
    result = run_switch(
        program(spec),
        spec,
        random_traffic(spec, table, flits=flits, seed=seed, full=seed % 5 == 4),
        configure(spec, table),
        seed=seed,
        **options,
    )
    assert result["right"], (result["messages"], result["state"])
    # With faults, copies may still be on their way when all is acknowledged.
    assert result["late_flits"] == 0 or "faults_per_million" in options
    return result


def run_flows(
    spec: SwitchSpec,
    flows: Sequence[tuple[int, Sequence[int], Sequence[int]]],
    bursts: Sequence[Burst | Unicast],
    packet_flits: int = 0,
    **options: Any,
) -> dict[str, Any]:
    """Run bursts of phases of one flow each: its circuit, sources and destinations."""
    length = packet_flits or spec.protocol.packet_flits
    rng = random.Random(1)
    phases = []
    for number, (circuit, sources, destinations) in enumerate(flows):
        flow = Flow(tuple(sources), tuple(destinations))
        configuration = routed([flow], spec)
        assert configuration is not None
        phases.append(Phase(number, circuit, (flow,), configuration))
    pools = {
        phase.number: tuple(make_turn(rng, spec, phase, [length]) for _ in range(67))
        for phase in phases
    }
    result = run_switch(
        program(spec),
        spec,
        Traffic(tuple(phases), pools, tuple(bursts), full=True),
        configure(spec, phases),
        **{"delay": 24, "trace": True, **options},
    )
    assert result["right"], (result["messages"], result["state"])
    return result


def shares(result: dict[str, Any]) -> dict[str, int]:
    """Return the packets of each port and flow that had come when the first flow was through."""
    end = min(cycles[-1] for cycles in result["arrivals"].values())
    return {name: bisect_right(cycles, end) for name, cycles in result["arrivals"].items()}


def longest_wait(cycles: Sequence[int]) -> int:
    return max(later - earlier for earlier, later in pairwise(sorted(cycles)))


@each_of(SPECS)
@pytest.mark.parametrize("seed", range(5))
def test_hardware_passes(spec: SwitchSpec, seed: int) -> None:
    result = run_random(
        spec,
        seed,
        flits=80_000,
        delay=1 + 10 * seed,
        stall_percent=15 * seed,
        start_spread=1000 * seed,
        gap_cycles=100 * seed,
    )
    assert result["packets"] == result["wanted_packets"]
    assert result["flits"] > 70_000
    assert result["stomped"] == 0
    if spec.protocol.link:
        assert result["preemptions"] > 100


@each_of(FAULTY)
@pytest.mark.parametrize("faults", [1_000, 30_000])
def test_hardware_passes_faults_of_every_kind(spec: SwitchSpec, faults: int) -> None:
    result = run_random(spec, 1, flits=100_000, faults_per_million=faults, stall_percent=20)
    assert result["stomped"] > 20
    assert result["resent"] > 1000
    for direction in ("faults_to_switch", "faults_from_switch"):
        assert min(result[direction].values()) > 0


@pytest.mark.slow
@each_of(FAULTY)
@pytest.mark.parametrize("seed", range(40))
def test_hardware_passes_a_storm(spec: SwitchSpec, seed: int) -> None:
    rng = random.Random(seed)
    run_random(
        spec,
        seed,
        flits=60_000,
        delay=rng.choice((1, 2, 10, 24, 60)),
        faults_per_million=rng.choice((10_000, 30_000, 60_000)),
        stall_percent=rng.choice((0, 20, 60)),
        start_spread=rng.choice((0, 3000)),
        gap_cycles=rng.choice((0, 300)),
    )


@each_of({"link": LINK, "bare": BARE})
def test_all_ports_run_at_full_rate(spec: SwitchSpec) -> None:
    result = run_flows(spec, [(0, range(4), range(4))], [Burst(0, 3000)])
    least = 0.99 if spec.protocol.link else 1.0
    for port in range(4):
        assert result["in"][port]["rate"] >= least
        assert result["out"][port]["rate"] >= least
    assert result["resent"] == 0


@each_of(SPECS)
@pytest.mark.parametrize("flits", [1, 3])
def test_lone_packet_takes_the_cycles_of_the_contract(spec: SwitchSpec, flits: int) -> None:
    wanted = latency_cycles(spec) + added_cycles(spec)
    everyone = range(spec.ports)
    lone = run_flows(spec, [(1, everyone, everyone)], [Burst(0, 1)], packet_flits=flits)
    assert lone["latency_cycles"] == wanted
    # One more to find a path.
    assert run_flows(spec, [], [Unicast(0, 1, 2, 1)])["latency_cycles"] == wanted + 1


RING = [(0, [0], [1]), (0, [1], [2]), (0, [2], [3])]


@each_of({"link": LINK, "bare": BARE})
def test_flows_of_a_circuit_take_fair_turns(spec: SwitchSpec) -> None:
    bursts = [Burst(0, 6000), Burst(1, 300), Burst(2, 300), Unicast(3, 0, 0, 300)]
    result = run_flows(spec, RING, bursts)
    assert min(shares(result).values()) >= 295
    assert max(shares(result).values()) <= 305


def test_less_urgent_packets_wait_and_come_through() -> None:
    bursts = [Burst(0, 800), Burst(1, 800), Burst(2, 800), Unicast(3, 0, 1, 50)]
    result = run_flows(LINK, RING, bursts)
    urgent = max(cycles[-1] for name, cycles in result["arrivals"].items() if name[-1] in "012")
    assert urgent < 3 * 800 * 8 * 1.02
    assert result["arrivals"]["0/9"][0] > urgent - 1000


@each_of({"link": LINK, "bare": BARE})
@pytest.mark.parametrize("stall", [0, 80])
@pytest.mark.parametrize("sources", [[0, 1, 2], [0, 1, 2, 3], [1, 3]])
def test_sources_of_one_destination_have_equal_shares(
    spec: SwitchSpec, sources: list[int], stall: int
) -> None:
    bursts = [Unicast(source, 3, 0, 300) for source in sources]
    result = run_flows(spec, [], bursts, stall_percent=stall)
    # A source that pauses misses a turn now and then.
    assert min(shares(result).values()) >= (280 if stall else 295)
    if not stall:
        # A path is looked for between two packets.
        assert result["out"][3]["rate"] == pytest.approx(8 / 9, rel=0.01)


@pytest.mark.parametrize("seed", range(10))
def test_no_source_waits_for_ever_for_a_path(seed: int) -> None:
    rng = random.Random(seed)
    bursts = [
        Unicast(source, rng.randrange(4), 0, rng.choice((5, 40, 800)))
        for source in range(4)
        for _ in range(8)
    ]
    result = run_flows(BARE, [], bursts, seed=seed, start_spread=400)
    for source in range(4):
        mine = [
            cycle
            for name, cycles in result["arrivals"].items()
            if name.endswith(f"/{BARE.protocol.online + source}")
            for cycle in cycles
        ]
        assert longest_wait(mine) < 100


def test_all_permutations_find_their_paths_in_two_middle_subswitches() -> None:
    for number, destinations in enumerate(permutations(range(5))):
        bursts = [Unicast(k, destination, k % 3, 40) for k, destination in enumerate(destinations)]
        run_flows(ODD, [], bursts, seed=number, start_spread=100, delay=8)


@each_of(SPECS)
def test_ports_may_start_at_very_different_times(spec: SwitchSpec) -> None:
    everyone = range(spec.ports)
    flows = [(0, everyone, everyone), (0, everyone, [0, 1]), (1, [0, 1], [2, 3])]
    bursts = [Burst(0, 100), Burst(1, 100), Burst(2, 100), Burst(0, 50)]
    result = run_flows(spec, flows, bursts, start_spread=40_000)
    assert result["cycles"] > 10_000


@each_of({"link": LINK, "bare": BARE})
def test_port_that_stops_lets_others_go_on(spec: SwitchSpec) -> None:
    bursts = [Unicast(0, 1, 0, 3000), Unicast(2, 3, 0, 1000)]
    result = run_flows(spec, [], bursts, stop=Stop(port=3, at=2000, cycles=30_000))
    stopped = result["arrivals"][f"3/{spec.protocol.online + 2}"]
    other = result["arrivals"][f"1/{spec.protocol.online}"]
    assert longest_wait(stopped) > 29_000
    assert longest_wait(other) < 20
    assert other[-1] < 3000 * 8 * 1.02


# Two ports are enough for a broken unit to show.
PAIR = SwitchSpec(
    ports=2, lanes=2, format="int16", overflow="wrap", protocol=ProtocolSpec(phases=4)
)


class AnyNumber(CircuitQueue):
    """Takes a packet of any number as due."""

    def build(self, platform: object) -> Module:
        self.due = self.descriptor.sequence
        return super().build(platform)


class NoCrc(FlitCheck):
    """Takes every flit as right."""

    def build(self, platform: object) -> Module:
        m = super().build(platform)
        came = Signal()
        m.d.sync += came.eq(self.i.valid)
        m.d.comb += [self.good.eq(came), self.bad.eq(0)]
        return m


class EagerAck(Acknowledger):
    """Hands on an ack as soon as one output has sent it."""

    def _measure(self, m: Module, case: Any, mine: Value, flow: Any, acked: Any) -> Any:
        behind = super()._measure(m, case, mine, flow, acked)
        left = (flow.due - case.number)[: len(flow.due)]
        window = self.spec.protocol.window_packets
        m.d.sync += behind.after.eq(Mux(left <= window, left, 0))
        return behind


class NoCredit(CircuitCredits):
    """Starts packets without room for them in the next receiver."""

    def build(self, platform: object) -> Module:
        m = super().build(platform)
        m.d.comb += self.room.eq(1)
        return m


class KeepsCrc(OutputPort):
    """Gives the end of a broken packet a right CRC."""

    def build(self, platform: object) -> Module:
        self.bad = Const(0, 1)
        return super().build(platform)


BROKEN = {
    AnyNumber: "want",
    NoCrc: "want",
    EagerAck: "but a destination waits for",
    NoCredit: "but the limit is",
    KeepsCrc: "tlast 1 at flit",
}


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(kind, marks=[] if kind is AnyNumber else pytest.mark.slow, id=kind.__name__)
        for kind in BROKEN
    ],
)
def test_broken_unit_is_noticed(kind: type[Any]) -> None:
    latency = {"latency": latency_cycles(PAIR)} if kind is KeepsCrc else {}
    unit = kind(spec=PAIR, **latency)
    table = phase_table(random.Random(1), PAIR, 4)
    result = run_switch(
        build_switch(PAIR, replacements={unit.unit_name: unit}),
        PAIR,
        random_traffic(PAIR, table, flits=100_000),
        configure(PAIR, table),
        faults_per_million=5000,
        stall_percent=30,
        idle_limit=50_000,
    )
    assert not result["right"]
    assert any(BROKEN[kind] in message for message in result["messages"]), result["messages"]
