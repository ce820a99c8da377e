"""Tests of fred_hw.control.access, over a model of the registers."""

import asyncio
import re
from collections.abc import Callable
from typing import Any

import pytest

from fred_hw.control.access import (
    Access,
    AccessError,
    AsyncAccess,
    Errors,
    FirstError,
    Identity,
    RefusedError,
)
from fred_hw.control.phase_entry import entry_bits
from fred_hw.control.switch_map import (
    CAUSES,
    COMMANDS,
    COUNTERS,
    PORT_COUNTERS,
    VERSION,
    switch_map,
)
from fred_hw.protocol import ProtocolSpec
from fred_hw.spec import SwitchSpec

SPEC = SwitchSpec(ports=4, lanes=2)
MAP = switch_map(SPEC)
BITS = entry_bits(SPEC)


class Model:
    """Words by address, and a configuration memory behind them that takes some reads."""

    def __init__(self) -> None:
        self.words = {
            word.address: sum(field.value << field.low for field in word.register.fields)
            for word in MAP.words()
        }
        self.entries = [0] * SPEC.protocol.phases
        self.accepts, self.busy, self.hangs = True, 0, False
        self.log: list[tuple[int, int]] = []

    def at(self, name: str) -> int:
        return MAP.register(name).address

    def read(self, address: int) -> int:
        if address == self.at("COMMAND_STATUS"):
            self.busy = max(self.busy - 1, 0)
            return int(self.busy > 0 or self.hangs) | (0 if self.accepts else 2)
        return self.words[address]

    def write(self, address: int, value: int) -> None:
        self.log.append((address, value))
        self.words[address] = value
        if address == self.at("COMMAND"):
            self.busy = 5
            self._act(COMMANDS[value])

    def _act(self, command: str) -> None:
        phase, entry = self.words[self.at("PHASE")], MAP.register("ENTRY")
        if command == "load":
            for index in range(entry.words):
                word = self.entries[phase] >> 32 * index & 0xFFFFFFFF
                self.words[entry.address + 4 * index] = word
        elif self.accepts:
            staged = [self.words[entry.address + 4 * index] for index in range(entry.words)]
            word = sum(word << 32 * index for index, word in enumerate(staged))
            self.entries[phase] = word if command == "commit" else 0


def opened() -> tuple[Model, Access]:
    model = Model()
    return model, Access(MAP, model.read, model.write, polls=20)


def test_identity_is_that_of_the_switch() -> None:
    _, access = opened()
    assert access.identify() == Identity(
        version=VERSION,
        ports=4,
        middle_switches=3,
        phases=16,
        packet_flits=8,
        data_bytes=4,
        entry_words=2,
    )


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("ID", 0xFFFFFFFF, "ID must be 0x46524544, not 0xffffffff"),
        ("VERSION", 1 << 16, "major version must be 3, not 1"),
    ],
)
def test_what_is_no_such_switch_is_refused(name: str, value: int, message: str) -> None:
    model, access = opened()
    model.words[model.at(name)] = value
    with pytest.raises(AccessError, match=f"^{re.escape(message)}$"):
        access.identify()


def test_later_minor_version_is_taken() -> None:
    model, access = opened()
    model.words[model.at("VERSION")] = 3 << 16 | 7
    assert access.identify().version == (3, 7)


def test_phases_are_written_read_and_erased() -> None:
    model, access = opened()
    entry = (1 << BITS) - 1
    access.write_phase(3, entry)
    assert model.entries == [entry if phase == 3 else 0 for phase in range(16)]
    access.write_phase(15, 5)
    assert (access.read_phase(3), access.read_phase(15), access.read_phase(0)) == (entry, 5, 0)
    access.erase_phase(3)
    assert access.read_phase(3) == 0


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda access: access.write_phase(3, 1), "the switch has refused to commit phase 3"),
        (lambda access: access.erase_phase(4), "the switch has refused to erase phase 4"),
    ],
    ids=["commit", "erase"],
)
def test_refused_command_is_reported(act: Callable[[Access], None], message: str) -> None:
    model, access = opened()
    model.accepts = False
    with pytest.raises(RefusedError, match=f"^{message}$"):
        act(access)


def test_command_that_hangs_is_given_up() -> None:
    model, access = opened()
    model.hangs = True
    with pytest.raises(AccessError, match=r"^erase of phase 1 has not ended in 20 polls$"):
        access.erase_phase(1)


def test_errors_are_read_and_cleared() -> None:
    model, access = opened()
    assert access.errors() == Errors((), None, dict.fromkeys(CAUSES, 0))
    model.words[model.at("ERROR")] = 0b10000010
    model.words[model.at("ERROR_FIRST")] = 1 | 7 << 8 | 3 << 16
    model.words[model.at("ERROR_COUNT") + 4] = 9
    counts = {**dict.fromkeys(CAUSES, 0), "length": 9}
    assert access.errors() == Errors(("length", "strobe"), FirstError("strobe", 3), counts)
    access.freeze_counters()
    access.clear_errors()
    # The other bits of CONTROL stay, and pulses that were not meant are not given.
    assert model.log[-1] == (model.at("CONTROL"), 0b101)


def test_counters_are_read_cleared_and_frozen() -> None:
    model, access = opened()
    model.words[model.at("PREEMPTIONS")] = 7
    model.words[model.at("FLITS_OUT") + 8] = 11
    found = access.counters()
    assert found["preemptions"] == (7,)
    assert found["flits_out"] == (0, 0, 11, 0)
    assert list(found) == [*COUNTERS, *PORT_COUNTERS]
    access.clear_counters()
    access.freeze_counters()
    access.freeze_counters(False)
    assert [value for _, value in model.log] == [2, 1, 0]


def test_fields_are_read_and_written_alone() -> None:
    model, access = opened()
    access.write("IRQ_ENABLE", 0b10001)
    access.write_field("IRQ_ENABLE", "kind", 1)
    assert model.words[model.at("IRQ_ENABLE")] == 0b10101
    access.write_field("IRQ_ENABLE", "phase", 0)
    assert access.read("IRQ_ENABLE") == 0b10100
    assert access.read_field("IRQ_ENABLE", "stuck") == 1
    model.words[model.at("ERROR")] = 0xFF
    access.write_field("ERROR", "length", 1)
    assert model.log[-1] == (model.at("ERROR"), 2)


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda a: a.read("ENTRIES"), "register must be one of {known}, not 'ENTRIES'"),
        (lambda a: a.read("ENTRY", 2), "index of ENTRY must be 0 to 1, not 2"),
        (lambda a: a.read("ID", 1), "index of ID must be 0 to 0, not 1"),
        (lambda a: a.read("FLITS_IN", -1), "index of FLITS_IN must be 0 to 3, not -1"),
        (
            lambda a: a.read_field("STATUS", "busy"),
            "field of STATUS must be one of active, phase, not 'busy'",
        ),
        (lambda a: a.write("ID", 0), "register must be one that can be written, not 'ID'"),
        (
            lambda a: a.write("PHASE", 1 << 32),
            "value of PHASE must be 0 to 4294967295, not 4294967296",
        ),
        (lambda a: a.write("PHASE", -1), "value of PHASE must be 0 to 4294967295, not -1"),
        (lambda a: a.write("CONTROL", 8), "value of CONTROL must have no bits but 0x7, not 0x8"),
        (
            lambda a: a.write("ENTRY", 1 << 26, 1),
            "value of ENTRY must have no bits but 0x3ffffff, not 0x4000000",
        ),
        (
            lambda a: a.write_field("COMMAND", "command", 4),
            "command of COMMAND must be 0 to 3, not 4",
        ),
        (
            lambda a: a.write_field("ERROR_FIRST", "port", 0),
            "field of ERROR_FIRST must be one that can be written, not 'port'",
        ),
        (
            lambda a: a.write_field("ENTRY", "value", 1 << 26, 1),
            "value of ENTRY must be 0 to 67108863, not 67108864",
        ),
        (lambda a: a.write_phase(16, 0), "phase must be 0 to 15, not 16"),
        (lambda a: a.read_phase(-1), "phase must be 0 to 15, not -1"),
        (lambda a: a.erase_phase(16), "phase must be 0 to 15, not 16"),
        (lambda a: a.queued(16), "phase must be 0 to 15, not 16"),
        (lambda a: a.unicasts(4), "port must be 0 to 3, not 4"),
        (
            lambda a: a.write_phase(0, 1 << BITS),
            f"entry_word must be 0 to {(1 << BITS) - 1}, not {1 << BITS}",
        ),
    ],
)
def test_what_does_not_exist_is_refused(act: Callable[[Access], Any], message: str) -> None:
    model, access = opened()
    known = ", ".join(register.name for register in MAP.registers)
    with pytest.raises(ValueError, match=f"^{re.escape(message.replace('{known}', known))}$"):
        act(access)
    assert not model.log


def test_queued_is_the_bit_of_the_phase() -> None:
    registers = switch_map(SwitchSpec(ports=4, protocol=ProtocolSpec(phases=40)))
    words = {registers.register("QUEUED").address + 4 * k: 1 << 3 for k in range(2)}
    access = Access(registers, words.__getitem__, lambda _address, _value: None)
    assert [number for number in range(40) if access.queued(number)] == [3, 35]


def test_unicasts_is_the_bit_of_the_port() -> None:
    registers = switch_map(SwitchSpec(ports=40))
    words = {registers.register("UNICASTS").address + 4 * k: 1 << 3 for k in range(2)}
    access = Access(registers, words.__getitem__, lambda _address, _value: None)
    assert [port for port in range(40) if access.unicasts(port)] == [3, 35]


def test_routes_are_written_and_read_as_ports() -> None:
    model, access = opened()
    access.write_route(127, 3)
    assert model.words[model.at("ROUTE") + 4 * 127] == 4
    assert [access.read_route(address) for address in (126, 127)] == [None, 3]
    access.write_route(127, None)
    assert access.read_route(127) is None
    with pytest.raises(ValueError, match=r"^port must be 0 to 3, not 4$"):
        access.write_route(0, 4)
    with pytest.raises(ValueError, match=r"^index of ROUTE must be 0 to 127, not 128$"):
        access.write_route(128, 0)


def test_numbers_must_be_integers() -> None:
    _, access = opened()
    with pytest.raises(TypeError, match=r"^phase must be an integer, not '1'$"):
        access.read_phase("1")  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match=r"^polls must be 1 or more, not 0$"):
        Access(MAP, int, lambda _address, _value: None, polls=0)


def test_both_accesses_have_the_same_methods() -> None:
    def public(kind: type) -> set[str]:
        return {name for name in vars(kind) if not name.startswith("_")}

    assert public(Access) == public(AsyncAccess)


def test_coroutines_serve_as_well() -> None:
    model = Model()

    async def read(address: int) -> int:
        await asyncio.sleep(0)
        return model.read(address)

    async def write(address: int, value: int) -> None:
        await asyncio.sleep(0)
        model.write(address, value)

    async def test() -> int:
        access = AsyncAccess(MAP, read, write)
        await access.write_phase(7, 99)
        return await access.read_phase(7)

    assert asyncio.run(test()) == 99


def test_call_that_waits_is_refused_where_none_may() -> None:
    class Waits:
        def __await__(self) -> Any:
            yield

    access = Access(MAP, lambda _address: 0, lambda _address, _value: None)
    access._access._read_word = lambda _address: Waits()
    with pytest.raises(
        TypeError, match=r"^read and write must be plain functions, not wait for something$"
    ):
        access.read("ID")
