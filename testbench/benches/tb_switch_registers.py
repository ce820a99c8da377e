"""cocotb tests of the switch's registers: errors, counters, identification."""

import random
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import cocotb
from cocotbext.axi import AxiResp

from fred_hw.compiler.flows import Flow
from fred_hw.control.access import FirstError, RefusedError
from fred_hw.control.phase_entry import entry_word, phase_fields
from fred_hw.control.switch_map import CAUSES
from fred_hw.networks.network import NETWORKS
from fred_hw.protocol import KINDS
from testbench.agents.switch import SwitchBench
from testbench.stimulus.addresses import address_of

from .tb_switch import (
    PACKETS,
    PORTS,
    PROTOCOL,
    SPEC,
    everyone,
    phase_of,
    runs_of,
    scenario,
    several,
    started,
)

CAUSE_BITS = {cause: 1 << place for place, cause in enumerate(CAUSES)}
test, one_phase_each = scenario(), scenario(PROTOCOL.phases >= 2)
parts_test = scenario(PROTOCOL.packet_flits > 1)


async def expect_error(bench: SwitchBench, cause: str, port: int) -> None:
    """Check that exactly one error is reported in all registers and on ``irq``; then clear it."""
    found = await bench.access.errors()
    assert found.raised == (cause,), f"{found}, not {cause}"
    assert found.first == FirstError(cause, port)
    assert {name for name, count in found.counts.items() if count} == {cause}
    assert int(bench.dut.irq.value) == 0
    await bench.access.write("IRQ_ENABLE", CAUSE_BITS[cause])
    await bench.cycles(4)
    assert int(bench.dut.irq.value) == 1
    await bench.access.clear_errors()
    await bench.cycles(4)
    assert int(bench.dut.irq.value) == 0
    assert not (await bench.access.errors()).raised


async def while_others_run(
    dut: Any, act: Callable[[SwitchBench], Awaitable[None]], cause: str, port: int = 0
) -> SwitchBench:
    """Cause an error while all ports send unicasts; check that it is reported and nothing lost."""
    bench, rng = await started(dut)
    others = list(range(1, PORTS))
    for source in others:
        bench.unicast(source, rng.choice(others), PACKETS)
    await act(bench)
    await bench.drain()
    await expect_error(bench, cause, port)
    for source in range(PORTS):
        bench.unicast(source, rng.randrange(PORTS), 2)
    await bench.finish_clean()
    return bench


@test
async def packet_of_a_phase_without_a_configuration_is_reported(dut: Any) -> None:
    phase = phase_of(0, 0, Flow((0,), (0,)))

    async def act(bench: SwitchBench) -> None:
        runs = runs_of(bench.rng, phase, 1)
        bench.offer(runs)
        while not await bench.access.read("ERROR"):
            pass
        word = entry_word(SPEC, phase.configuration, phase.flows, phase.circuit)
        await bench.access.write_phase(phase.number, word)
        bench.expect(runs)  # the source still holds it, and retransmits it

    await while_others_run(dut, act, "phase")


@test
async def packet_that_is_too_long_is_reported(dut: Any) -> None:
    phase, most = phase_of(0, 0, Flow((0,), (0,))), PROTOCOL.packet_flits

    async def act(bench: SwitchBench) -> None:
        await bench.write(phase)
        last_fits = most < 1 << PROTOCOL.fields["last"]
        places = {"last": most} if last_fits else {"index": 1, "last": 0}
        bench.ports[0].to_switch.put(bench.codec.pack(7, phase=0, circuit=0, **places))
        bench.play(runs_of(bench.rng, phase, 2))

    await while_others_run(dut, act, "length")


@parts_test
async def packets_of_unequal_length_in_a_flow_are_reported(dut: Any) -> None:
    phase = phase_of(0, 0, Flow((0, 1), (0, 1)))

    async def act(bench: SwitchBench) -> None:
        await bench.write(phase)
        (run,) = runs_of(bench.rng, phase, 1, 2)
        changed: list[int] = []

        def shorten(flit: Any) -> Sequence[Any]:
            """End the first packet after one flit, with a valid CRC."""
            fields = bench.codec.unpack(flit)
            if fields["kind"] or fields["phase"] or len(changed) == 2:
                return (flit,)
            changed.append(fields["index"])
            return () if fields["index"] else (bench.codec.pack(flit.data, **fields | {"last": 0}),)

        bench.ports[1].to_switch.change = shorten
        bench.play([run, *runs_of(bench.rng, phase, 2)])

    await while_others_run(dut, act, "length")


@test
async def unicast_to_an_address_without_a_route_is_reported(dut: Any) -> None:
    nowhere = {"unicast": 1, "destination": 0, "source": address_of(0)}

    async def act(bench: SwitchBench) -> None:
        data = bench.codec.pack(7, circuit=0, **nowhere)
        bench.ports[0].to_switch.put(data)

    bench = await while_others_run(dut, act, "route")
    assert await bench.access.read("DROPPED", 0) == 1


@test
async def unicast_goes_by_the_route_that_is_written_last(dut: Any) -> None:
    bench, _ = await started(dut)
    for source, destination in ((0, 1), (1, 0), (0, 0)):
        await bench.access.write_route(address_of(0), None)
        assert await bench.access.read_route(address_of(0)) is None
        bench.unicast(source, destination, 2)
        await bench.cycles(4 * PROTOCOL.packet_flits + 60)
        await bench.access.write_route(address_of(0), 0)
        await bench.drain()
    assert (await bench.access.errors()).raised == ("route",)
    bench.finish()


@test
async def header_of_unknown_kind_is_reported(dut: Any) -> None:
    async def act(bench: SwitchBench) -> None:
        bench.ports[0].to_switch.put(bench.codec.pack(7, kind=len(KINDS)))
        await bench.cycles(10)

    await while_others_run(dut, act, "kind")


@one_phase_each
async def entry_that_joins_two_flows_is_refused(dut: Any) -> None:
    phase, joined = phase_of(0, 1, *(Flow((k,), (k,)) for k in range(PORTS))), everyone()

    async def act(bench: SwitchBench) -> None:
        await bench.write(phase)
        good = entry_word(SPEC, phase.configuration, phase.flows, phase.circuit)
        wrong = entry_word(SPEC, joined.configuration, joined.flows, joined.circuit)
        low = (1 << phase_fields(SPEC)["configuration"]) - 1
        try:
            await bench.access.write_phase(phase.number, good & ~low | wrong & low)
        except RefusedError:
            pass
        else:
            raise AssertionError("the entry was not refused")
        assert await bench.access.read_field("COMMAND_STATUS", "refused") == 1
        assert await bench.access.read_phase(phase.number) == good
        bench.play(runs_of(bench.rng, phase, 2))

    await while_others_run(dut, act, "configuration")


@test
async def access_to_no_register_is_reported(dut: Any) -> None:
    async def act(bench: SwitchBench) -> None:
        registers = bench.registers
        top = 1 << bench.access.registers.address_bits
        assert await registers.read_raw(top - 4) == (0, AxiResp.SLVERR)
        assert await registers.write_raw(top - 4, 1) == AxiResp.SLVERR
        assert await bench.access.read("ERROR_COUNT", list(CAUSES).index("address")) == 2

    await while_others_run(dut, act, "address")


@test
async def write_of_a_part_of_a_register_is_reported(dut: Any) -> None:
    async def act(bench: SwitchBench) -> None:
        address = bench.access.registers.register("IRQ_ENABLE").address
        assert await bench.registers.write_raw(address, 0xFF, 3) == AxiResp.SLVERR
        assert await bench.access.read("IRQ_ENABLE") == 0

    await while_others_run(dut, act, "strobe")


@test
async def counters_agree_with_what_was_sent(dut: Any) -> None:
    table = several(random.Random(cocotb.RANDOM_SEED))
    bench, rng = await started(dut, 0.2, table)
    await bench.access.clear_counters()
    before = bench.cycle
    for _ in range(PACKETS):
        bench.play(runs_of(rng, rng.choice(table), PACKETS))
        bench.unicast(rng.randrange(PORTS), rng.randrange(PORTS))
    await bench.drain()
    await bench.access.freeze_counters()
    elapsed = bench.cycle - before
    found = await bench.access.counters()
    assert elapsed - 40 <= found["cycles"][0] <= elapsed + 5
    assert list(found["flits_in"]) == [len(bench.data(watch)) for watch in bench.inputs]
    assert list(found["flits_out"]) == [len(bench.data(watch)) for watch in bench.outputs]
    assert not any(found["dropped"]) and not any(found["rewinds"])
    assert 0 < found["phase_starts"][0] < elapsed
    assert found["reconfiguration_cycles"][0] <= found["phase_starts"][0]
    await bench.registers.report()
    await bench.finish_clean()


@test
async def switch_says_what_it_is(dut: Any) -> None:
    bench, _ = await started(dut)
    identity = await bench.access.identify()
    assert (identity.ports, identity.middle_switches) == (
        PORTS,
        NETWORKS[SPEC.network].middle_switches(SPEC),
    )
    assert (identity.phases, identity.packet_flits) == (PROTOCOL.phases, PROTOCOL.packet_flits)
    assert identity.data_bytes * 8 == SPEC.data_width
