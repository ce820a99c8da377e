"""cocotb tests that count cycles of the whole switch, with links without delay."""

from collections import Counter
from itertools import pairwise
from typing import Any

from fred_hw.compiler.flows import Flow
from fred_hw.protocol import KINDS
from testbench.agents.line import Fault
from testbench.agents.measurements import record
from testbench.agents.switch import SwitchBench
from testbench.models.endpoint import Flit
from testbench.stimulus.addresses import address_of
from testbench.stimulus.traffic import random_flit
from testbench.volume.loaded_switch import recovery_cycles

from .efficiency import shares
from .tb_switch import (
    LATENCY,
    PORTS,
    PROTOCOL,
    SEEN_CYCLES,
    SPEC,
    contest,
    everyone,
    phase_of,
    runs_of,
    scenario,
    started,
)

MOST = PROTOCOL.packet_flits
test, phases_test = scenario(), scenario(PROTOCOL.phases >= 2)
follow_test = scenario(PORTS >= 2)


def into(bench: SwitchBench, port: int) -> Any:
    """Return whether a flit of a port enters the interconnect."""
    return bench.dut.core["crossing"][f"i__{port}__valid"]


@test
async def lone_flit_takes_the_latency_that_is_stated(dut: Any) -> None:
    phases = [everyone(), *(phase_of(1, 1, Flow((PORTS - 1,), (0,))),) * (PROTOCOL.phases > 1)]
    bench, rng = await started(dut, 0.0, phases)
    found = set()
    for phase in phases:
        source, target = phase.flows[0].inputs[-1], phase.flows[0].outputs[0]
        bench.probe(
            head=dut.core[f"input_{source}"].head__waiting,
            load=dut.core.scheduler.service__load,
            enters=into(bench, source),
            leaves=dut.core["crossing"][f"o__{target}__valid"],
        )
        came, went = len(bench.inputs[source].beats), len(bench.data(bench.outputs[target]))
        bench.play(runs_of(rng, phase, 1, 1))
        await bench.drain()
        times = [
            bench.inputs[source].beats[came].cycle,
            *(bench.seen[name][0] for name in ("head", "load", "enters", "leaves")),
            bench.data(bench.outputs[target])[went].cycle,
        ]
        found.add(tuple(later - earlier for earlier, later in pairwise(times)))
    assert len(found) == 1, f"stages differ: {found}"
    (cycles,) = found
    assert sum(cycles) == LATENCY, f"counted {cycles}, but stated are {LATENCY}"
    names = ("receive", "schedule", "start", "interconnect", "send")
    record("switch_latency_cycles", sum(cycles), "cycles", "A lone flit, port to port")
    record(
        "stages",
        dict(zip(names, cycles, strict=True)),
        "cycles",
        "Parts of `switch_latency_cycles`: `receive` from the beat on `s_axis` to the head of a "
        "queue, `schedule` until its phase is loaded, `start` until the flit enters the "
        "interconnect, `interconnect` until it leaves, `send` until the beat on `m_axis`",
    )
    bench.finish()


@follow_test
async def flit_that_follows_another_one_takes_as_long_between_all_ports(dut: Any) -> None:
    # The measured flit follows one that is acknowledged already, as with long links.
    bench, rng = await started(dut, 0.0)
    found: dict[str, set[int]] = {"alone": set(), "follows": set()}
    for source in range(PORTS):
        target = (source + 1) % PORTS
        for cycles in found.values():
            packet = [(random_flit(rng, SPEC),)]
            bench.ports[source].send(PROTOCOL.online, 0, packet, address_of(target))
            bench.want(target, PROTOCOL.online, address_of(source), packet)
            await bench.drain()
            begin = bench.data(bench.inputs[source])[-1].cycle
            cycles.add(bench.data(bench.outputs[target])[-1].cycle - begin)
    (follows,) = found["follows"]
    record(
        "switch_follow_cycles",
        follows,
        "cycles",
        "A lone flit of a unicast, port to port, on the path of the unicast before it",
    )
    # A path is found within three cycles.
    assert LATENCY - 3 <= follows < min(found["alone"]) <= LATENCY, f"counted {found}"
    bench.finish()


@test
async def links_carry_data_at_full_load(dut: Any) -> None:
    phase, count = everyone(), max(80, 5 * PROTOCOL.ack_interval)
    bench, rng = await started(dut, 0.0, [phase])
    bench.play(runs_of(rng, phase, count, MOST))
    await bench.drain()
    for watch in bench.outputs:
        assert len(bench.data(watch)) == count * MOST
    efficiency = shares(bench, bench.outputs)
    record(
        "efficiency",
        efficiency,
        "",
        "Shares of cycles in which the links from the switch are used, all-reduce of all ports",
    )
    data = efficiency["data_flits_per_cycle"]
    # An ack takes the time of one flit for each ``ack_interval`` packets, and no cycle is lost. At
    # the first and the last of them, acks may be a flit closer together.
    most = 1 - 1 / (1 + PROTOCOL.ack_interval * MOST)
    assert data >= most - 0.002, efficiency
    assert data + efficiency["control_share"] >= 1 - 1e-9, efficiency
    bench.finish()


@phases_test
async def phases_of_the_same_ports_follow_each_other(dut: Any) -> None:
    """Alternate two phases on one virtual channel, each from half of the ports to all."""
    half, count = PORTS // 2, 8
    first = phase_of(0, 0, Flow(tuple(range(half)), tuple(range(PORTS))))
    second = phase_of(1, 0, Flow(tuple(range(half, PORTS)), tuple(range(PORTS))))
    bench, rng = await started(dut, 0.0, [first, second])
    await bench.access.clear_counters()
    bench.probe(first=into(bench, 0), second=into(bench, PORTS - 1))
    for phase in (first, second):
        bench.play(runs_of(rng, phase, count, MOST))
    await bench.drain()
    events = sorted((cycle, name) for name, cycles in bench.seen.items() for cycle in cycles)
    gaps = Counter(
        later - earlier - 1
        for (earlier, before), (later, after) in pairwise(events)
        if before != after
    )
    assert gaps.total() >= count, f"{gaps.total()} changes of the phase"
    starts = await bench.access.read("PHASE_STARTS")
    counted = await bench.access.read("RECONFIGURATION_CYCLES") / starts
    record(
        "reconfiguration_cycles",
        max(gaps),
        "cycles",
        "Longest gap in the interconnect when one phase follows another at the same ports",
    )
    record(
        "counted_reconfiguration_cycles",
        counted,
        "cycles",
        "The register RECONFIGURATION_CYCLES per start of a phase, in the same run",
    )
    assert max(gaps) <= 1, f"cycles between phases, and how often: {gaps}"
    assert counted <= 1
    bench.finish()


@phases_test
async def urgent_packet_waits_for_the_end_of_one_packet_at_most(dut: Any) -> None:
    patient, urgent = contest()
    bench, rng = await started(dut, 0.0, [patient, urgent])
    found: dict[int, tuple[int, int]] = {}
    for wait in range(4 * MOST + 4):
        waiting = dut.core[f"input_{PORTS - 1}"].head__waiting
        bench.probe(head=waiting, patient=into(bench, 0), urgent=into(bench, PORTS - 1))
        bench.play(runs_of(rng, patient, max(5, 16 // MOST), MOST))
        await bench.cycles(4 + wait)
        bench.play(runs_of(rng, urgent, 1, MOST))
        await bench.drain()
        head, starts = bench.seen["head"][0], bench.seen["urgent"][0]
        flits = bench.seen["patient"]
        if head not in flits or flits[-1] < starts:
            continue
        before = max(cycle for cycle in flits if cycle < starts)
        after = min(cycle for cycle in flits if cycle > starts)
        found.setdefault(flits.index(head) % MOST, (starts - head, after - before - 1 - MOST))
        if len(found) == MOST:
            break
    assert len(found) == MOST, f"only at {sorted(found)}"
    record(
        "preemption_cycles",
        found[0][0],
        "cycles",
        "From an urgent packet at the head of its queue to its first flit in the interconnect, "
        "when a less urgent packet enters the interconnect in the same cycle",
    )
    record(
        "preemption_lost_cycles",
        found[0][1],
        "cycles",
        "Cycles that the less urgent phase loses beyond the flits of the urgent packet",
    )
    record(
        "preemption_by_flit",
        [list(found[place]) for place in range(MOST)],
        "cycles",
        "Both figures when the urgent packet comes at each flit of the less urgent packet",
    )
    for place, (waited, lost) in found.items():
        # A packet that starts before the urgent one is seen goes first.
        ends = -(-(place + SEEN_CYCLES + 1) // MOST) * MOST
        assert waited <= ends - place + 1, f"{waited} cycles at flit {place}"
        assert lost <= 4, f"{lost} cycles lost at flit {place}"
    bench.finish()


async def arrivals(bench: SwitchBench, count: int) -> dict[str, list[int]]:
    """Send packets from all ports at half of the full rate; return arrival times by port."""
    phase, start = everyone(), bench.cycle
    runs = runs_of(bench.rng, phase, count, MOST)
    before = [len(port.received.get((0, 0), ())) for port in bench.ports]
    for port in bench.ports:
        port.endpoint.interval = 2 * MOST
    bench.play(runs)
    came: list[list[int]] = [[] for _ in bench.ports]
    while any(len(cycles) < count for cycles in came):
        for port, old, cycles in zip(bench.ports, before, came, strict=True):
            new = len(port.received.get((0, 0), ())) - old - len(cycles)
            cycles += [bench.cycle - start] * new
        await bench.cycles(1)
    await bench.drain()
    return {f"{port}": cycles for port, cycles in enumerate(came)}


@test
async def single_loss_is_caught_up(dut: Any) -> None:
    """Delays of the links are extra: the nack crosses two of them, and so does the packet."""
    bench, rng = await started(dut, 0.0, [everyone()])
    count = 3 * PROTOCOL.ack_interval + max(2 * MOST, 128 // MOST)
    found: dict[str, int] = {}
    clean = await arrivals(bench, count)
    for name, direction in (("input", "to_switch"), ("output", "from_switch")):
        for place in sorted({0, MOST // 2, MOST - 1}):
            lost: list[int] = []

            def lose(_: Flit, lost: list[int] = lost) -> tuple[Flit, ...]:
                lost.append(bench.cycle)
                return ()

            port = bench.ports[rng.randrange(PORTS)]
            fault = Fault(
                bench.codec,
                lambda fields: fields["kind"] == KINDS.index("data"),
                lose,
                (PROTOCOL.ack_interval + 1) * MOST + place,
            )
            getattr(port, direction).change = fault
            start = bench.cycle
            late = await arrivals(bench, count)
            cycles = recovery_cycles(
                {"arrivals": clean}, {"arrivals": late, "fault_cycle": lost[0] - start}
            )
            most = 2 * PROTOCOL.timeout_cycles
            assert 0 < cycles < most, f"{name}, flit {place}: {cycles} cycles"
            found[name] = max(found.get(name, 0), cycles)
    record(
        "recovery_cycles",
        found,
        "cycles",
        "Longest time from the loss of a data flit until no delay remains, on a link to the switch "
        "(`input`) and on one from it (`output`), in an all-reduce at half of the full rate",
    )
    bench.finish()
