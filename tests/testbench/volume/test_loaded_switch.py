"""The whole switch under load and faults, and broken ones."""

# A frozen model of pydantic is hashable; the type checker does not see it.
# pyright: reportArgumentType=false

import random
from bisect import bisect_right
from collections.abc import Sequence
from functools import cache
from itertools import pairwise, permutations
from pathlib import Path
from typing import Any

import pytest

from fred_hw.compiler.flows import Flow
from fred_hw.datapath.interconnect import latency_cycles
from fred_hw.protocol import ProtocolSpec
from fred_hw.spec import SwitchSpec
from fred_hw.switch.switch import ADDED_CYCLES
from testbench.faults.fault import Fault, noticed_by
from testbench.stimulus.phases import Phase, make_phase_run, phase_table
from testbench.stimulus.traffic import routed
from testbench.volume.conditions import FAULT_KINDS
from testbench.volume.loaded_switch import (
    LinkFault,
    Slow,
    Stop,
    SwitchConditions,
    build_switch,
    recovery_cycles,
    run_switch,
)
from testbench.volume.scenario import Burst, Unicast
from testbench.volume.traffic import Traffic, configure, random_traffic
from tests.testbench.cases import payload_share
from tests.testbench.volume.pair import PAIR, faulty_pair

pytestmark = [pytest.mark.sim, pytest.mark.slow]

LINK = SwitchSpec(
    ports=4, lanes=2, format="int16", overflow="wrap", protocol=ProtocolSpec(phases=6)
)
ODD = SwitchSpec(
    ports=5,
    middle_switches=2,
    lanes=1,
    protocol=ProtocolSpec(
        phases=5,
        packet_flits=3,
        round_trip_cycles=20,
        buffer_packets=7,
        ack_interval=1,
        window_packets=16,
        timeout_cycles=300,
        nack_timeout_cycles=7,
        packet_timeout_cycles=30,
    ),
)
SPECS = {"default sizes": LINK, "odd sizes": ODD}


each = pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS.keys())


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
        SwitchConditions(seed=seed, **options),
    )
    assert result["right"], (result["messages"], result["state"])
    # With faults, copies may still be on their way when all is acknowledged.
    assert result["late_flits"] == 0 or "faults_per_million" in options
    return result


def one_way(packets: int) -> Traffic:
    return Traffic((), {}, (Unicast(0, 1, 0, packets),), full=True)


def test_faults_of_every_kind_are_counted() -> None:
    result = run_random(LINK, 1, flits=100_000, faults_per_million=10_000)
    for direction in ("to_switch", "from_switch"):
        counts, flits = result[f"faults_{direction}"], sum(result[direction].values())
        assert sum(counts[kind] for kind in FAULT_KINDS[:-1]) == pytest.approx(flits / 100, rel=0.1)
        assert counts["lost_acks"] == pytest.approx(result[direction]["ack"] / 10, rel=0.3)


def test_full_packets_fill_the_links() -> None:
    result = run_switch(program(LINK), LINK, one_way(4000))
    assert result["right"]
    assert result["flits"] == 4000 * LINK.protocol.packet_flits
    # Credits and acks of these packets go the other way.
    assert result["in"][0]["rate"] == result["out"][1]["rate"] == 1.0
    assert result["to_switch"]["ack"] == 4000 // LINK.protocol.ack_interval


@pytest.mark.parametrize(("flits", "rate"), [(1, 0.42), (2, 0.76), (4, 0.98)])
def test_short_packets_have_the_space_of_their_flits(flits: int, rate: float) -> None:
    everyone = tuple(range(LINK.ports))
    flow = Flow(everyone, everyone)
    configuration = routed([flow], LINK)
    assert configuration is not None
    phase = Phase(0, 0, (flow,), configuration)
    pools = {0: tuple(make_phase_run(random.Random(1), LINK, phase, [flits]) for _ in range(67))}
    traffic = Traffic((phase,), pools, (Burst(0, 3000 // flits),), full=True)
    conditions = SwitchConditions(delay=24)
    result = run_switch(program(LINK), LINK, traffic, configure(LINK, [phase]), conditions)
    assert result["right"], result["messages"]
    assert min(one["rate"] for one in result["out"]) > rate


@pytest.mark.parametrize("kind", FAULT_KINDS[:-1])
def test_recovery_from_a_single_fault(kind: str) -> None:
    def run(fault: LinkFault | None) -> dict[str, Any]:
        conditions = SwitchConditions(interval_cycles=16, trace=True, fault=fault)
        return run_switch(program(LINK), LINK, one_way(400), conditions=conditions)

    clean, faulty = run(None), run(LinkFault(port=1, at=803, kind=kind))
    assert clean["right"]
    assert faulty["right"]
    assert recovery_cycles(clean, clean) == 0
    assert faulty["faults_from_switch"] == {**dict.fromkeys(FAULT_KINDS, 0), kind: 1}
    recovery = recovery_cycles(clean, faulty)
    if kind == "doubled":
        assert recovery == 0
    else:
        # The nack's way, the packet's, and time to catch up, as half of the cycles are spare.
        assert 4 * 20 < recovery < 400


def test_a_run_that_ends_before_it_has_recovered_tells_nothing() -> None:
    clean, late = {"arrivals": {"0": [10, 20, 30]}}, {"arrivals": {"0": [10, 40, 50]}}
    with pytest.raises(ValueError, match=r"^runs must go on until flow 0 has caught up$"):
        recovery_cycles(clean, {**late, "fault_cycle": 15})
    late["arrivals"]["0"][-1] = 38
    assert recovery_cycles(clean, {**late, "fault_cycle": 15}) == 25


def test_packets_wait_for_their_interval() -> None:
    conditions = SwitchConditions(interval_cycles=32)
    result = run_switch(program(LINK), LINK, one_way(100), conditions=conditions)
    assert result["right"]
    assert result["out"][1]["rate"] == pytest.approx(8 / 32, rel=0.02)


def test_stuck_switch_ends_with_its_state() -> None:
    # A port that makes no space any more.
    conditions = SwitchConditions(stop=Stop(port=1, at=500, cycles=10**9), idle_limit=5_000)
    result = run_switch(program(LINK), LINK, one_way(400), conditions=conditions)
    assert not result["right"]
    assert result["packets"] < result["wanted_packets"] == 400
    assert "port 0, virtual channel 0: burst" in result["state"]


def test_same_seed_gives_the_same_run() -> None:
    def run(seed: int) -> dict[str, Any]:
        conditions = SwitchConditions(seed=seed, faults_per_million=5000, stall_percent=20)
        return run_switch(program(LINK), LINK, one_way(1000), conditions=conditions)

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
        build_switch(wide)


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
        phase.number: tuple(make_phase_run(rng, spec, phase, [length]) for _ in range(67))
        for phase in phases
    }
    result = run_switch(
        program(spec),
        spec,
        Traffic(tuple(phases), pools, tuple(bursts), full=True),
        configure(spec, phases),
        SwitchConditions(**{"delay": 24, "trace": True, **options}),
    )
    assert result["right"], (result["messages"], result["state"])
    return result


def shares(result: dict[str, Any]) -> dict[str, int]:
    """Return the packets of each port and flow that had come when the first flow was through."""
    end = min(cycles[-1] for cycles in result["arrivals"].values())
    return {name: bisect_right(cycles, end) for name, cycles in result["arrivals"].items()}


def longest_wait(cycles: Sequence[int]) -> int:
    return max(later - earlier for earlier, later in pairwise(sorted(cycles)))


@each
@pytest.mark.parametrize(
    "seed", [pytest.param(one, marks=pytest.mark.long if one in (1, 3) else ()) for one in range(5)]
)
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
    assert result["preemptions"] > 100


# Storms have up to 60,000.
@each
@pytest.mark.parametrize("faults", [1_000, pytest.param(30_000, marks=pytest.mark.long)])
def test_hardware_passes_faults_of_every_kind(spec: SwitchSpec, faults: int) -> None:
    result = run_random(spec, 1, flits=100_000, faults_per_million=faults, stall_percent=20)
    assert result["stomped"] > 20
    assert result["resent"] > 1000
    for direction in ("faults_to_switch", "faults_from_switch"):
        assert min(result[direction].values()) > 0


@each
@pytest.mark.parametrize(
    "seed", [*range(3), *(pytest.param(one, marks=pytest.mark.long) for one in range(3, 24))]
)
def test_hardware_passes_a_storm(spec: SwitchSpec, seed: int) -> None:
    rng = random.Random(seed)
    run_random(
        spec,
        seed,
        flits=12_000,
        delay=rng.choice((1, 2, 10, 24, 60)),
        faults_per_million=rng.choice((10_000, 30_000, 60_000)),
        stall_percent=rng.choice((0, 20, 60)),
        start_spread=rng.choice((0, 3000)),
        gap_cycles=rng.choice((0, 300)),
    )


def test_all_ports_run_at_full_rate() -> None:
    result = run_flows(LINK, [(0, range(4), range(4))], [Burst(0, 3000)])
    for port in range(4):
        assert payload_share(result["in"][port]["rate"]) >= 0.968
        assert payload_share(result["out"][port]["rate"]) >= 0.968
    assert result["resent"] == 0


@each
@pytest.mark.parametrize("flits", [1, 3])
def test_lone_packet_takes_the_cycles_of_the_contract(spec: SwitchSpec, flits: int) -> None:
    wanted = latency_cycles(spec) + ADDED_CYCLES
    everyone = range(spec.ports)
    lone = run_flows(spec, [(1, everyone, everyone)], [Burst(0, 1)], packet_flits=flits)
    unicast = run_flows(spec, [], [Unicast(0, 1, 2, 1)])  # of as many flits as there may be
    assert lone["latency_cycles"] == wanted
    assert unicast["latency_cycles"] == wanted


RING = [(0, [0], [1]), (0, [1], [2]), (0, [2], [3])]


def test_flows_of_a_circuit_take_fair_turns() -> None:
    bursts = [Burst(0, 6000), Burst(1, 300), Burst(2, 300), Unicast(3, 0, 0, 300)]
    result = run_flows(LINK, RING, bursts)
    assert min(shares(result).values()) >= 295
    assert max(shares(result).values()) <= 305


@pytest.mark.parametrize("delay", [2, 24])
def test_a_flow_whose_space_comes_in_the_turns_of_others_has_its_share(delay: int) -> None:
    # All packets are of 8 flits, so that turns come at fixed times: without the guard 1 -> 2 has
    # 13 of 600. Its turns come later while space is kept for it, and then are not fixed any more.
    ends, count = [(0, [0], [2]), (0, [1], [2])], 600
    bursts = [Burst(0, count), Burst(1, count), Unicast(3, 2, 0, count), Unicast(2, 0, 0, count)]
    result = run_flows(LINK, ends, bursts, delay=delay)
    assert min(shares(result).values()) >= count // 3
    # Each of them takes 8 flits at output 2, which goes on meanwhile.
    assert result["out"][2]["rate"] > 0.95


@pytest.mark.parametrize("cycles", [270, 537])
def test_flows_to_a_receiver_that_makes_space_at_fixed_times_have_their_share(cycles: int) -> None:
    # It may do so in the watch of another queue each time: had the guard seen those 256 cycles
    # alone, one flow would have 4 packets when the first is through.
    ends, count = [(0, [0], [2]), (0, [1], [2])], 60
    others = [Unicast(3, 2, 0, count), Unicast(2, 0, 0, 100 * count)]
    slow = Slow(port=2, cycles=cycles)
    result = run_flows(LINK, ends, [Burst(0, count), Burst(1, count), *others], slow=slow)
    # What waits for longer than `timeout_cycles` is sent again, and takes space once more.
    assert min(shares(result)[name] for name in ("2/0", "2/1")) >= count // 2


def test_a_phase_has_its_turn_where_less_urgent_unicasts_bridge_pauses_of_urgent_ones() -> None:
    # A packet of 8 flits in 16 cycles each, to one output: 0 of 400 if it had to begin in a pause.
    others = [Unicast(2, 3, 0, 400), Unicast(1, 3, 2, 400)]
    result = run_flows(LINK, [(1, [0], [1])], [Burst(0, 400), *others], interval_cycles=16)
    assert min(shares(result).values()) >= 190


def test_a_phase_has_its_turn_among_unicasts_that_never_pause() -> None:
    # Unicasts of its circuit want its destinations, less urgent ones are what its sources have.
    mine, beside = [Unicast(2, 0, 1, 300), Unicast(3, 1, 1, 300)], [(0, 2), (1, 3)]
    others = [Unicast(source, end, 2, 900) for source, end in beside]
    result = run_flows(LINK, [(1, [0, 1], [0, 1])], [Burst(0, 300), *mine, *others])
    online = LINK.protocol.online
    urgent = {
        name: result["arrivals"][name]
        for name in ("0/0", "1/0", *(f"{k}/{online + 2 + k}" for k in (0, 1)))
    }
    assert min(shares({"arrivals": urgent}).values()) >= 290
    assert max(cycles[-1] for cycles in urgent.values()) < 2 * 300 * 8 * 1.1


@pytest.mark.parametrize(("packets", "cycles"), [(1, 151.5), (4, 151.5), (16, 135.5), (64, 138.5)])
def test_a_burst_behind_another_of_its_circuit_waits_for_its_acks_alone(
    packets: int, cycles: float
) -> None:
    # docs/decisions/0010: 96 cycles of links, and the switch on both ways.
    count = 2 * 20
    bursts = [Burst(number % 2, packets) for number in range(count)]
    result = run_flows(LINK, [(0, range(4), range(4))] * 2, bursts)
    flits = count * packets * LINK.protocol.packet_flits
    for port in result["out"]:
        beyond = (port["last"] - port["first"] - flits) / (count - 1)
        assert 96 < beyond < cycles


def test_less_urgent_packets_wait_and_come_through() -> None:
    bursts = [Burst(0, 800), Burst(1, 800), Burst(2, 800), Unicast(3, 0, 1, 50)]
    result = run_flows(LINK, RING, bursts)
    urgent = max(cycles[-1] for name, cycles in result["arrivals"].items() if name[-1] in "012")
    assert urgent < 3 * 800 * 8 * 1.02
    assert result["arrivals"]["0/9"][0] > urgent - 1000


@pytest.mark.parametrize("stall", [0, 80])
@pytest.mark.parametrize("sources", [[0, 1, 2], [0, 1, 2, 3], [1, 3]])
def test_sources_of_one_destination_have_equal_shares(sources: list[int], stall: int) -> None:
    bursts = [Unicast(source, 3, 0, 300) for source in sources]
    # A source that an ack comes to too late, as with two of the first twelve seeds, falls behind.
    result = run_flows(LINK, [], bursts, stall_percent=stall, seed=2)
    assert result["timeouts"] == 0
    # A source that pauses misses a grant now and then.
    assert min(shares(result).values()) >= (280 if stall else 295)
    if not stall:
        # Acks to port 3, of what it has sent to itself, are one in 16 packets of 8 flits there.
        assert result["out"][3]["rate"] >= 0.99


@pytest.mark.parametrize(
    "seed", [*range(4), *(pytest.param(one, marks=pytest.mark.long) for one in range(4, 10))]
)
def test_no_source_waits_for_ever_for_a_path(seed: int) -> None:
    # With two middle subswitches there may be no path for a packet yet.
    rng = random.Random(seed)
    bursts = [
        Unicast(source, rng.randrange(4), 0, rng.choice((5, 40, 800)))
        for source in range(4)
        for _ in range(8)
    ]
    result = run_flows(ODD, [], bursts, seed=seed, start_spread=400, delay=1)
    for source in range(4):
        mine = [
            cycle
            for name, cycles in result["arrivals"].items()
            if name.endswith(f"/{ODD.protocol.online + source}")
            for cycle in cycles
        ]
        # Behind a burst it waits for an ack too, which comes when nothing else does.
        assert longest_wait(mine) < 100 + ODD.protocol.nack_timeout_cycles


def test_all_permutations_find_their_paths_in_two_middle_subswitches() -> None:
    for number, destinations in enumerate(permutations(range(5))):
        bursts = [Unicast(k, destination, k % 3, 40) for k, destination in enumerate(destinations)]
        run_flows(ODD, [], bursts, seed=number, start_spread=100, delay=8)


@each
def test_ports_may_start_at_very_different_times(spec: SwitchSpec) -> None:
    everyone = range(spec.ports)
    flows = [(0, everyone, everyone), (0, everyone, [0, 1]), (1, [0, 1], [2, 3])]
    bursts = [Burst(0, 100), Burst(1, 100), Burst(2, 100), Burst(0, 50)]
    result = run_flows(spec, flows, bursts, start_spread=40_000)
    assert result["cycles"] > 10_000


def test_port_that_stops_lets_others_go_on() -> None:
    bursts = [Unicast(0, 1, 0, 3000), Unicast(2, 3, 0, 1000)]
    result = run_flows(LINK, [], bursts, stop=Stop(port=3, at=2000, cycles=30_000))
    stopped = result["arrivals"][f"3/{LINK.protocol.online + 2}"]
    other = result["arrivals"][f"1/{LINK.protocol.online}"]
    assert longest_wait(stopped) > 29_000
    assert longest_wait(other) < 20
    assert other[-1] < 3000 * 8 * 1.02


FAULTS = noticed_by("loaded switch")


def run_fault(fault: Fault) -> dict[str, Any]:
    table = phase_table(random.Random(1), PAIR, 4)
    pair, emitter = faulty_pair()
    return run_switch(
        pair,
        PAIR,
        random_traffic(PAIR, table, flits=100_000),
        configure(PAIR, table),
        SwitchConditions(
            seed=2,  # what is said first is of data
            faults_per_million=5000,
            stall_percent=30,
            idle_limit=50_000,
            plusargs=emitter.plusargs(fault),
        ),
    )


@pytest.mark.parametrize(("fault", "message"), FAULTS.items())
def test_fault_is_noticed(fault: Fault, message: str) -> None:
    result = run_fault(fault)
    assert not result["right"]
    if message:
        assert any(message in said for said in result["messages"]), result["messages"]
    else:  # packets that come again are answered by nothing: the switch stands still
        assert result["packets"] < result["wanted_packets"]
