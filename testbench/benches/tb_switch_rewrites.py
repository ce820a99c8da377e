"""cocotb tests of entries that are written while packets of their phases are on the way."""

from typing import Any

import cocotb

from fred_hw.compiler.flows import Flow
from fred_hw.control.phase_entry import entry_word
from testbench.benches.agents.switch import SwitchBench

from .tb_switch import (
    PORTS,
    PROTOCOL,
    SPEC,
    everyone,
    finish,
    phase_of,
    scenario,
    started,
    turns_of,
)

PACKETS, MOST = 12, PROTOCOL.packet_flits
DELAY, ROUNDS = 80, 12
test, rewrite_test = scenario(), scenario(PROTOCOL.phases >= 3)


@rewrite_test
@cocotb.parametrize(wait=list(range(0, 24, 4)), command=["write", "erase"])
async def phase_in_use_may_be_rewritten(dut: Any, wait: int, command: str) -> None:
    """Write an entry again, or erase it, at any cycle of a burst: all other phases go on.

    The numbers of its packets start at 0, which its sources are not told here.
    """
    used, urgent, patient = everyone(0, 1), everyone(1, 0), phase_of(2, 2, Flow((0,), (PORTS - 1,)))
    bench, rng = await started(dut, 0.0, [used, urgent, patient])
    for _ in range(PACKETS):
        for phase in (used, patient, urgent):
            bench.play(turns_of(rng, phase, 1, MOST))
    await bench.cycles(wait + rng.randrange(4))
    word = entry_word(SPEC, used.configuration, used.flows, used.circuit)
    if command == "write":
        await bench.access.write_phase(used.number, word)
    else:
        await bench.access.erase_phase(used.number)
    for phase in (urgent, patient):
        bench.play(turns_of(rng, phase, PACKETS))
    await bench.arrive([urgent, patient])


@rewrite_test
async def phase_that_is_served_goes_by_its_new_entry(dut: Any) -> None:
    bench, rng = await started(dut)
    for distance in (0, 1, 0):
        flows = [Flow((k,), ((k + distance) % PORTS,)) for k in range(PORTS)]
        phase = phase_of(0, distance, *flows)
        await bench.write(phase)
        bench.play(turns_of(rng, phase, 2))
        await bench.drain()
    finish(bench)


@test
async def copies_of_before_are_not_added_to_what_comes_behind(dut: Any) -> None:
    """Write a phase again and use it at once, while copies of old packets are on the way.

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
        bench.play(turns_of(rng, phase, few))
        await bench.acknowledged()
        if not number:  # packets and acks both come that way
            slow = max(0, slow + (PROTOCOL.timeout_cycles - (bench.cycle - begun)) // 2)
        await bench.write(phase)
    bench.play(turns_of(rng, phase, few))
    await bench.drain()
    assert sum((await bench.access.counters())["dropped"]), "no copy came too late"
    assert (await bench.access.errors()).raised == ()
    finish(bench)


@test
async def packets_in_queues_are_told_by_phase(dut: Any) -> None:
    bench, rng = await started(dut, phases=[everyone(0, 0), everyone(1, 1)][: PROTOCOL.phases])
    for phase in (everyone(0, 0), everyone(1, 1))[: PROTOCOL.phases]:
        others = [one for one in range(PROTOCOL.phases) if one != phase.number]
        assert not await bench.access.queued(phase.number)
        turns = turns_of(rng, phase, 2)
        bench.offer(turns, [PORTS - 1])
        bench.expect(turns)
        await bench.cycles(20)
        assert await bench.access.queued(phase.number)
        assert not any([await bench.access.queued(one) for one in others])
        bench.offer(turns, range(PORTS - 1))
        await bench.drain()
        assert not await bench.access.queued(phase.number)
    finish(bench)
