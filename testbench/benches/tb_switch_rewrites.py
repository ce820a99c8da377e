"""cocotb tests of phase entries that are rewritten while their packets are in flight."""

from typing import Any

import cocotb

from fred_hw.compiler.flows import Flow
from fred_hw.control.access import RefusedError
from fred_hw.control.phase_entry import entry_word
from testbench.agents.switch import SwitchBench
from testbench.stimulus.addresses import address_of
from testbench.stimulus.phases import Phase

from .tb_switch import PORTS, PROTOCOL, SPEC, everyone, phase_of, runs_of, scenario, started

PACKETS, MOST = 12, PROTOCOL.packet_flits
DELAY, ROUNDS, WRITES = 80, 12, 20
test, rewrite_test = scenario(), scenario(PROTOCOL.phases >= 3)


def word_of(phase: Phase, generation: int) -> int:
    return entry_word(SPEC, phase.configuration, phase.flows, phase.circuit, generation=generation)


def others_of(used: Phase) -> list[Phase]:
    """Return entries to replace an all-reduce: with fewer ports, or less urgent."""
    few, all_ports = (0, PORTS - 1), tuple(range(PORTS))
    return [
        phase_of(used.number, used.circuit, Flow(few, all_ports)),
        phase_of(used.number, used.circuit + 1, Flow(few, few)),
        everyone(used.number, used.circuit + 1),
    ]


@rewrite_test
@cocotb.parametrize(wait=list(range(0, 24, 4)), command=["write", "change", "erase"])
async def phase_in_use_may_be_rewritten(dut: Any, wait: int, command: str) -> None:
    """Rewrite, replace or erase an entry during a burst; all other phases must continue.

    The numbers of its packets restart at 0, of which its sources are not informed here.
    """
    used, urgent = everyone(0, 1), phase_of(1, 0, Flow((0, 1), (1,)))
    patient = phase_of(2, 2, Flow((0,), (PORTS - 1,)))
    bench, rng = await started(dut, 0.0, [used, urgent, patient])
    for _ in range(PACKETS):
        for phase in (used, patient, urgent):
            bench.play(runs_of(rng, phase, 1, MOST))
    await bench.cycles(wait + rng.randrange(4))
    if command == "erase":
        await bench.access.erase_phase(used.number)
    else:
        changed = others_of(used)[wait % 3] if command == "change" else used
        await bench.access.write_phase(used.number, word_of(changed, 1))
    for phase in (urgent, patient):
        bench.play(runs_of(rng, phase, PACKETS))
    await bench.arrive([urgent, patient])


async def ready(bench: SwitchBench) -> None:
    """Wait until a command is complete; until then ENTRY and COMMAND are locked."""
    end = bench.cycle + bench.timeout
    while await bench.access.read_field("COMMAND_STATUS", "busy"):
        assert bench.cycle < end, "a command does not end"


async def write_when_taken(bench: SwitchBench, phase: Phase) -> None:
    """Write a phase; while that is refused since old packets are queued, erase it and retry."""
    end = bench.cycle + bench.timeout
    while True:
        try:
            await bench.write(phase)
            return
        except RefusedError:
            assert bench.cycle < end, "a phase is never taken"
            await bench.emptied(phase.number)


async def write_anything(bench: SwitchBench, number: int) -> None:
    """Write any writable register, locked or not, except phases that other traffic uses.

    Routes of unused addresses are written too.
    """
    rng, own = bench.rng, {address_of(port) for port in range(PORTS)}
    registers = [one for one in bench.access.registers.registers if one.writable]
    register = rng.choice(registers)
    index = rng.choice(
        [k for k in range(register.words) if register.name != "ROUTE" or k not in own]
    )
    word = rng.getrandbits(32)
    if register.name == "PHASE":
        word = rng.choice([number, number, PROTOCOL.phases, word | 1 << 31])
    elif register.name == "COMMAND":
        word = rng.randrange(4)
    strobe = 15 if rng.random() < 0.9 else rng.randrange(15)
    await bench.registers.write_raw(register.address + 4 * index, word, strobe)


@rewrite_test
async def any_register_may_be_written_at_any_time(dut: Any) -> None:
    """Write other entries of a busy phase, and all registers, at random; others must continue.

    Sources are informed of an entry when it exists, and use it at once. Its packets have separate
    virtual channels, as they would block others while they are first in queues, and are more
    urgent, so that another phase is ready to be served in any cycle in which they stop.
    """
    used, others = everyone(0, 0), [phase_of(1, 2, Flow((0, 1), (1,))), everyone(2, 2)]
    bench, rng = await started(dut, 0.0, [used, *others])
    ends, entries = range(PORTS), [used, *others_of(used)]
    pairs = [(a, b) for a in ends for b in ends if (a + b) % 3 == 2]
    for number in range(WRITES):
        for phase in others:
            bench.play(runs_of(rng, phase, 6))
        bench.unicast(*rng.choice(pairs))
        bench.play(runs_of(rng, entries[number % len(entries)], 32, MOST))
        await bench.cycles(rng.randrange(4 * MOST))
        if number % 4 == 3:
            for _ in range(8):
                await write_anything(bench, used.number)
            await ready(bench)
        await write_when_taken(bench, entries[(number + 1) % len(entries)])
    bench.play(runs_of(rng, entries[WRITES % len(entries)], 2))
    await bench.drain()
    causes = {"phase", "address", "strobe", "configuration", "stuck"}
    assert set((await bench.access.errors()).raised) <= causes
    bench.finish()


@rewrite_test
async def phase_that_is_served_goes_by_its_new_entry(dut: Any) -> None:
    bench, rng = await started(dut)
    for distance in (0, 1, 0):
        flows = [Flow((k,), ((k + distance) % PORTS,)) for k in range(PORTS)]
        phase = phase_of(0, distance, *flows)
        await bench.write(phase)
        bench.play(runs_of(rng, phase, 2))
        await bench.drain()
    bench.finish()


@test
async def duplicates_are_not_added_to_later_packets(dut: Any) -> None:
    """Rewrite a phase and use it at once, while old retransmissions are in flight.

    Nothing is lost: acks come when sources have just begun to send everything again, as they have
    waited for them long enough. Generations come round on the way.
    """
    phase, few = everyone(), max(1, PROTOCOL.ack_interval // 2)
    bench = SwitchBench(dut, SPEC, delay=DELAY)
    await bench.start([phase])
    rng, slow = bench.rng, DELAY
    for number in range(ROUNDS):
        for port in bench.ports:
            port.from_switch.delay = slow + (rng.randrange(16) if number else 0)
        begun = bench.cycle
        bench.play(runs_of(rng, phase, few))
        await bench.acknowledged()
        if not number:  # packets and acks both arrive on this link
            slow = max(0, slow + (PROTOCOL.timeout_cycles - (bench.cycle - begun)) // 2)
        await bench.write(phase)
    bench.play(runs_of(rng, phase, few))
    await bench.drain()
    assert sum((await bench.access.counters())["dropped"]), "no copy came too late"
    await bench.finish_clean()


@test
async def packets_in_queues_are_reported_by_phase(dut: Any) -> None:
    bench, rng = await started(dut, phases=[everyone(0, 0), everyone(1, 1)][: PROTOCOL.phases])
    for phase in (everyone(0, 0), everyone(1, 1))[: PROTOCOL.phases]:
        others = [one for one in range(PROTOCOL.phases) if one != phase.number]
        assert not await bench.access.queued(phase.number)
        runs = runs_of(rng, phase, 2)
        bench.offer(runs, [PORTS - 1])
        bench.expect(runs)
        await bench.cycles(20)
        assert await bench.access.queued(phase.number)
        assert not any([await bench.access.queued(one) for one in others])
        bench.offer(runs, range(PORTS - 1))
        await bench.drain()
        assert not await bench.access.queued(phase.number)
    bench.finish()
