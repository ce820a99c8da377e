"""cocotb tests of the control unit: its bus, the configuration memory, errors and counters."""

import os
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge, RisingEdge
from cocotbext.axi import AxiResp

from fred_hw.control.access import FirstError, RefusedError
from fred_hw.control.phase_entry import entry_bits
from fred_hw.control.registers import Word
from fred_hw.control.switch_map import CAUSES, COMMANDS, PORT_CAUSES, switch_map
from fred_hw.networks.network import NETWORKS
from fred_hw.spec import SwitchSpec
from testbench.agents.control import COUNTED, ERRORS, ControlBench, Events

SPEC = SwitchSpec.model_validate_json(os.environ["FRED_SPEC"])
REGISTERS = switch_map(SPEC)
WORDS = list(REGISTERS.words())
BITS = entry_bits(SPEC)
PHASES, PORTS = SPEC.protocol.phases, SPEC.ports
test = cocotb.test(timeout_time=20, timeout_unit="ms")
stalls = cocotb.parametrize(stall=[0.0, 0.3, 0.8])


async def started(dut: Any, stall: float) -> ControlBench:
    bench = ControlBench(dut, SPEC, stall)
    await bench.start()
    return bench


def mask(word: Word, accesses: tuple[str, ...]) -> int:
    """Return the bits of a word that belong to fields with the given access types."""
    return sum(
        ((1 << word.register.width(field, word.index)) - 1) << field.low
        for field in word.register.fields
        if field.access in accesses
    )


def at_reset(word: Word) -> int:
    """Return the value of a word after reset: constants, and initial values of ``rw`` fields."""
    values = sum(field.value << field.low for field in word.register.fields)
    return values & mask(word, ("constant", "rw"))


@test
@stalls
async def registers_read_their_reset_values(dut: Any, stall: float) -> None:
    bench = await started(dut, stall)
    for word in WORDS:
        value = await bench.read(word.address)
        if word.register.name != "CYCLES":
            assert value == at_reset(word), f"{word}: {value:#x}"
    identity = await bench.access.identify()
    assert (identity.ports, identity.middle_switches, identity.phases) == (
        PORTS,
        NETWORKS[SPEC.network].middle_switches(SPEC),
        PHASES,
    )
    assert identity.packet_flits == SPEC.protocol.packet_flits
    assert identity.data_bytes * 8 == SPEC.data_width
    assert identity.entry_words == REGISTERS.register("ENTRY").words
    await bench.finish()


@test
@stalls
@cocotb.parametrize(data_first=[None, False, True])
async def written_values_stay(dut: Any, stall: float, data_first: bool | None) -> None:
    bench = await started(dut, stall)
    able = [word for word in WORDS if mask(word, ("rw",))]
    kept = {word.address: at_reset(word) & mask(word, ("rw",)) for word in able}
    for _ in range(60):
        word = bench.rng.choice(able)
        # Unused bits, constants and pulses must not keep a written value; pulses are left out here.
        value = bench.rng.getrandbits(32) & ~mask(word, ("pulse",))
        resp = await bench.write_raw(word.address, value, data_first=data_first)
        assert resp == AxiResp.OKAY
        kept[word.address] = value & mask(word, ("rw",))
        probe = bench.rng.choice(able).address
        assert await bench.read(probe) == kept[probe]
    for address, value in kept.items():
        assert await bench.read(address) == value
    await bench.finish()


@test
@stalls
async def reads_and_writes_pass_each_other(dut: Any, stall: float) -> None:
    bench = await started(dut, stall)
    counts = [0, 0]

    async def write() -> None:
        for value in range(1, 101):
            await bench.write(REGISTERS.register("PHASE").address, value)
            counts[0] = value

    async def read() -> None:
        address = REGISTERS.register("PHASE").address
        while counts[0] < 100:
            oldest = counts[0]
            assert oldest <= await bench.read(address) <= counts[0] + 1
            counts[1] += 1

    tasks = [cocotb.start_soon(write()), cocotb.start_soon(read())]
    for task in tasks:
        await task
    assert counts[1] > 20
    await bench.nothing_left()


@test
async def addresses_of_no_register_are_refused(dut: Any) -> None:
    bench = await started(dut, 0.1)
    known = {word.address: word for word in WORDS}
    await bench.access.freeze_counters()
    before = {address: await bench.read(address) for address in known}
    span = range(0, 1 << REGISTERS.address_bits, 4)
    for address in (*span, *(4 * bench.rng.randrange(len(span)) + k for k in (1, 2, 3) * 20)):
        found = known.get(address)
        value, resp = await bench.read_raw(address)
        if found is None:
            assert (value, resp) == (0, AxiResp.SLVERR), f"read of {address:#x}"
        else:
            assert resp == AxiResp.OKAY, f"read of {address:#x}"
        if found is None or not found.register.writable:
            resp = await bench.write_raw(address, 0xFFFFFFFF)
            assert resp == AxiResp.SLVERR, f"write to {address:#x}"
        bench.errors["address"] += (found is None) + (found is None or not found.register.writable)
    found = await bench.access.errors()
    assert found.counts == bench.errors
    assert found.first == FirstError("address", 0)
    await bench.access.clear_errors()
    assert {address: await bench.read(address) for address in known} == before
    await bench.nothing_left()


@test
async def writes_of_less_than_a_word_are_refused(dut: Any) -> None:
    bench = await started(dut, 0.3)
    await bench.access.freeze_counters()
    before = {word.address: await bench.read(word.address) for word in WORDS}
    able = [word.address for word in WORDS if word.register.writable]
    for address in (*able, REGISTERS.register("COMMAND").address):
        for strobe in range(15):
            assert await bench.write_raw(address, 0xFFFFFFFF, strobe) == AxiResp.SLVERR
            bench.errors["strobe"] += 1
    nowhere = (1 << REGISTERS.address_bits) - 4
    assert await bench.write_raw(nowhere, 0, 3) == AxiResp.SLVERR
    bench.errors["strobe"] += 1
    bench.errors["address"] += 1
    await bench.check_errors()
    await bench.access.clear_errors()
    assert {word.address: await bench.read(word.address) for word in WORDS} == before
    assert not bench.core.writes
    await bench.nothing_left()


@test
@stalls
async def entries_are_written_read_and_erased(dut: Any, stall: float) -> None:
    bench = await started(dut, stall)
    want = list(bench.core.entries)
    for _ in range(40):
        number, entry = bench.rng.randrange(PHASES), bench.rng.getrandbits(BITS)
        match bench.rng.randrange(4):
            case 0:
                await bench.access.write_phase(number, entry)
                want[number] = entry
                assert bench.core.writes[-1] == (number, entry)
            case 1:
                await bench.access.erase_phase(number)
                want[number] = 0
                assert bench.core.writes[-1] == (number, 0)
            case 2:
                assert await bench.access.read_phase(number) == want[number]
            case _:
                bench.core.accepts = False
                await refused(bench, bench.access.write_phase(number, entry))
                bench.core.accepts = True
        assert bench.core.entries == want
    assert [await bench.access.read_phase(number) for number in range(PHASES)] == want
    await bench.finish()


async def refused(bench: ControlBench, command: Any) -> None:
    """Check that a command is refused and counted."""
    bench.errors["configuration"] += 1
    try:
        await command
    except RefusedError:
        return
    raise AssertionError("the command was carried out")


@test
async def refused_entry_leaves_staging_and_is_reported_until_the_next_command(dut: Any) -> None:
    bench = await started(dut, 0.2)
    bench.core.accepts = False
    entry = bench.rng.getrandbits(BITS)
    await refused(bench, bench.access.write_phase(PHASES - 1, entry))
    await refused(bench, bench.access.erase_phase(0))
    words = REGISTERS.register("ENTRY").words
    staged = [await bench.access.read("ENTRY", index) for index in range(words)]
    assert sum(word << 32 * index for index, word in enumerate(staged)) == entry
    assert await bench.access.read("COMMAND_STATUS") == 0b10
    assert (await bench.access.errors()).first == FirstError("configuration", 0)
    await bench.access.write("COMMAND", 0)
    assert await bench.access.read("COMMAND_STATUS") == 0b10
    bench.core.accepts = True
    await bench.access.read_phase(0)
    assert await bench.access.read("COMMAND_STATUS") == 0
    await bench.check_errors()


@test
async def phase_out_of_range_is_refused(dut: Any) -> None:
    bench = await started(dut, 0.2)
    numbers = [PHASES, PHASES + 1, 64, 255, 256, 1 << 31, (1 << 32) - 1]
    staged = bench.rng.getrandbits(32) & mask(WORDS[-1], ("rw",))
    await bench.access.write("ENTRY", staged, WORDS[-1].index)
    for number in (number for number in numbers if number >= PHASES):
        for command in range(1, len(COMMANDS)):
            await bench.access.write("PHASE", number)
            await bench.access.write("COMMAND", command)
            bench.errors["configuration"] += 1
            assert await bench.access.read("COMMAND_STATUS") == 0b10
    await bench.check_errors()
    assert await bench.access.read("ENTRY", WORDS[-1].index) == staged
    assert not bench.core.writes


@test
async def staging_is_locked_while_an_entry_is_written(dut: Any) -> None:
    bench = await started(dut, 0.2)
    bench.core.hangs = True
    for index in range(REGISTERS.register("ENTRY").words):
        await bench.access.write("ENTRY", index + 1, index)
    await bench.access.write("PHASE", 1)
    await bench.access.write("COMMAND", COMMANDS.index("commit"))
    assert await bench.access.read("COMMAND_STATUS") == 1
    for name in ("ENTRY", "COMMAND"):
        address = REGISTERS.register(name).address
        assert await bench.write_raw(address, 3) == AxiResp.SLVERR
        bench.errors["configuration"] += 1
    await bench.access.write("PHASE", 0)  # ready for the next command; the core checks the number
    await bench.check_errors()
    assert await bench.access.read("COMMAND_STATUS") == 1
    bench.core.hangs = False
    while await bench.access.read_field("COMMAND_STATUS", "busy"):
        pass
    assert await bench.access.read("COMMAND_STATUS") == 0
    entry = sum((index + 1) << 32 * index for index in range(REGISTERS.register("ENTRY").words))
    assert bench.core.writes == [(1, entry)]
    await bench.access.write("ENTRY", 7, 0)
    assert await bench.access.read("ENTRY", 0) == 7


@test
@cocotb.parametrize(share=[0.02, 0.3, 1.0])
async def errors_of_all_ports_are_counted(dut: Any, share: float) -> None:
    bench = await started(dut, 0.2)
    for _ in range(8):
        events = Events(bench)
        await events.give(50, ERRORS, share)
        for cause in PORT_CAUSES:
            bench.errors[cause] = sum(events.counts[f"errors__{cause}"])
        await bench.check_errors()
        found = await bench.access.errors()
        assert found.first == (FirstError(*events.first) if events.first else None)
        await bench.access.clear_errors()
        bench.errors = dict.fromkeys(CAUSES, 0)
        await bench.check_errors()
        assert (await bench.access.errors()).first is None


@test
async def each_route_reads_back_and_reaches_the_core(dut: Any) -> None:
    bench = await started(dut, 0.0)
    count = REGISTERS.register("ROUTE").count or 1
    width = len(dut.routes) // count
    wanted = 0
    for address in range(count):
        port = bench.rng.randrange(PORTS)
        wanted |= (port + 1) << width * address
        await bench.access.write_route(address, port)
        assert await bench.access.read_route(address) == port
    await bench.cycles(2)
    assert int(dut.routes.value) == wanted


@test
async def bits_of_phases_and_of_ports_read_as_they_are(dut: Any) -> None:
    bench = await started(dut, 0.1)
    for name in ("QUEUED", "LINKS", "UNICASTS"):
        pins = dut[name.lower()]
        for place in range(len(pins)):
            pins.value = 1 << place
            await bench.cycles(2)
            for word in range(-(-len(pins) // 32)):
                assert await bench.access.read(name, word) == (1 << place >> 32 * word) % (1 << 32)
        pins.value = 0


@test
async def each_error_has_its_bit_and_its_interrupt(dut: Any) -> None:
    bench = await started(dut, 0.1)
    every = (1 << len(CAUSES)) - 1
    for cause in PORT_CAUSES:
        place = list(CAUSES).index(cause)
        for enabled in (0, 1 << place, every & ~(1 << place)):
            await bench.access.write("IRQ_ENABLE", enabled)
            assert int(dut.irq.value) == 0
            port = bench.rng.randrange(PORTS)
            dut[f"errors__{cause}"].value = 1 << port
            await RisingEdge(dut.clk)
            dut[f"errors__{cause}"].value = 0
            await bench.cycles(3)
            assert int(dut.irq.value) == (enabled == 1 << place)
            assert await bench.access.read("ERROR") == 1 << place
            assert (await bench.access.errors()).first == FirstError(cause, port)
            await bench.access.write("ERROR", every & ~(1 << place))
            assert await bench.access.read("ERROR") == 1 << place
            await bench.access.write("ERROR", 1 << place)
            await bench.access.write_field("ERROR_FIRST", "valid", 1)
            assert await bench.access.read("ERROR") == 0
            assert (await bench.access.errors()).first is None
            assert await bench.access.read("ERROR_COUNT", place) > 0
            assert int(dut.irq.value) == 0


@test
@cocotb.parametrize(share=[0.1, 1.0])
async def counters_count_unless_frozen(dut: Any, share: float) -> None:
    bench = await started(dut, 0.2)
    names = COUNTED
    want = {name: [0] * len(dut[name]) for name in names}
    for frozen in (False, True, False):
        await bench.access.freeze_counters(frozen)
        events = Events(bench)
        await events.give(100, names, share)
        if not frozen:
            for name in names:
                pairs = zip(want[name], events.counts[name], strict=True)
                want[name] = [one + other for one, other in pairs]
        await check_counters(bench, want)
    assert max(want["counts__flits_in"]) > 10
    await bench.access.clear_counters()
    await check_counters(bench, {name: [0] * len(dut[name]) for name in names})
    await bench.check_errors()


async def check_counters(bench: ControlBench, want: dict[str, list[int]]) -> None:
    """Compare all counters except CYCLES."""
    found = await bench.access.counters()
    for name, counts in found.items():
        if name != "cycles":
            assert list(counts) == want[f"counts__{name}"], name


@test
async def cycles_are_counted_and_can_stand_still(dut: Any) -> None:
    bench = await started(dut, 0.0)
    await bench.access.freeze_counters()
    first = await bench.access.read("CYCLES")
    await bench.cycles(100)
    assert await bench.access.read("CYCLES") == first
    await bench.access.freeze_counters(False)
    early = await bench.access.read("CYCLES")
    await bench.cycles(100)
    between = await bench.access.read("CYCLES") - early
    assert 100 <= between <= 115
    await bench.access.clear_counters()
    assert await bench.access.read("CYCLES") < 20


@test
async def status_shows_what_is_active(dut: Any) -> None:
    bench = await started(dut, 0.3)
    for phase in range(PHASES + 1):
        for active in (0, 1):
            dut.active.value, dut.active_phase.value = active, phase
            await bench.cycles(1)
            assert await bench.access.read("STATUS") == active | phase << 8


@test
async def reset_forgets_what_is_under_way(dut: Any) -> None:
    bench = await started(dut, 0.2)
    bench.core.hangs = True
    await bench.access.write("IRQ_ENABLE", 0xFF)
    await bench.access.write("PHASE", PHASES)
    await bench.access.write("COMMAND", 1)
    await bench.access.write("PHASE", 0)
    await bench.access.write("COMMAND", 1)
    await bench.cycles(2)
    assert int(dut.irq.value) == 1 and int(dut.table__write.value) == 1
    dut.rst.value = 1
    await bench.cycles(2)
    await FallingEdge(dut.clk)
    assert int(dut.irq.value) == 0 and int(dut.table__write.value) == 0
    assert int(dut.s_axil_bvalid.value) == 0 and int(dut.s_axil_rvalid.value) == 0
