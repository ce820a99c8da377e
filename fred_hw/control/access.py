"""Software access to the registers of a switch by name, over any bus."""

from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from fred_hw.checks import check_int

from .registers import WORD_BITS, WORD_BYTES, Register, RegisterMap
from .switch_map import CAUSES, COMMANDS, COUNTERS, ID, PORT_COUNTERS, VERSION

__all__ = [
    "Access",
    "AccessError",
    "AsyncAccess",
    "Errors",
    "FirstError",
    "Identity",
    "RefusedError",
]

P = ParamSpec("P")
T = TypeVar("T")


class AccessError(Exception):
    """The device is no such switch, or a command does not end."""


class RefusedError(AccessError):
    """The switch has refused a command."""


@dataclass(frozen=True)
class Identity:
    """Identification of a switch: registers VERSION, SHAPE and FLIT."""

    version: tuple[int, int]
    ports: int
    middle_switches: int
    phases: int
    packet_flits: int
    data_bytes: int
    entry_words: int


@dataclass(frozen=True)
class FirstError:
    """Cause and port of an error; the port is 0 where the cause has none."""

    cause: str
    port: int


@dataclass(frozen=True)
class Errors:
    """Errors since they were cleared.

    Parameters
    ----------
    raised : tuple of str
        Causes with their bit set in ERROR.
    first : FirstError or None
        The one that came before all others.
    counts : dict of str to int
        Errors by cause; 2^32 - 1 stands for more, too.
    """

    raised: tuple[str, ...]
    first: FirstError | None
    counts: dict[str, int]


class AsyncAccess:
    """Read and write the registers of a switch over coroutines.

    Parameters
    ----------
    registers : RegisterMap
        Of ``switch_map``.
    read, write : Callable
        Read, and write, the word at an address [bytes].
    polls : int
        Reads of COMMAND_STATUS before a command is taken to hang, 1 or more.

    Raises
    ------
    TypeError, ValueError
        ``polls`` is none of these. All methods: a name is unknown, an index or value out of range,
        or what is to be written is read-only.
    """

    def __init__(
        self,
        registers: RegisterMap,
        read: Callable[[int], Awaitable[int]],
        write: Callable[[int, int], Awaitable[None]],
        *,
        polls: int = 100_000,
    ) -> None:
        self.registers = registers
        self.polls = check_int("polls", polls, minimum=1)
        self._read_word, self._write_word = read, write

    async def read(self, register: str, index: int = 0) -> int:
        """Return a word of a register."""
        return await self._read_word(self._address(self.registers.register(register), index))

    async def write(self, register: str, value: int, index: int = 0) -> None:
        """Write a word of a register; bits that no field can take must be 0."""
        found = self.registers.register(register)
        address = self._address(found, index)
        if not found.writable:
            raise ValueError(f"register must be one that can be written, not {register!r}")
        check_int(f"value of {register}", value, minimum=0, maximum=(1 << WORD_BITS) - 1)
        allowed = sum(
            ((1 << found.width(field, index)) - 1) << field.low
            for field in found.fields
            if field.writable
        )
        if value & ~allowed:
            raise ValueError(
                f"value of {register} must have no bits but {allowed:#x}, not {value:#x}"
            )
        await self._write_word(address, value)

    async def read_field(self, register: str, field: str, index: int = 0) -> int:
        """Return a field of a word of a register."""
        found = self.registers.register(register).field(field)
        return (await self.read(register, index) & found.mask) >> found.low

    async def write_field(self, register: str, field: str, value: int, index: int = 0) -> None:
        """Write a field, and leave the others of its register as they are."""
        found = self.registers.register(register)
        meant = found.field(field)
        if not meant.writable:
            raise ValueError(f"field of {register} must be one that can be written, not {field!r}")
        most = (1 << found.width(meant, index)) - 1
        check_int(f"{field} of {register}", value, minimum=0, maximum=most)
        # A zero leaves bits alone that clear or act, but a value that is kept is written again.
        kept = sum(one.mask for one in found.fields if one.access == "rw" and one is not meant)
        others = await self.read(register, index) & kept if kept else 0
        await self.write(register, others | value << meant.low, index)

    async def identify(self) -> Identity:
        """Return what the switch says about itself.

        Raises
        ------
        AccessError
            It is no switch of this kind, or of another major version.
        """
        if (found := await self.read("ID")) != ID:
            raise AccessError(f"ID must be {ID:#x}, not {found:#x}")
        major = await self.read_field("VERSION", "major")
        if major != VERSION[0]:
            raise AccessError(f"major version must be {VERSION[0]}, not {major}")
        shape = {
            name: await self.read_field("SHAPE", name)
            for name in ("ports", "middle_switches", "phases", "packet_flits")
        }
        return Identity(
            version=(major, await self.read_field("VERSION", "minor")),
            **shape,
            data_bytes=await self.read_field("FLIT", "data_bytes"),
            entry_words=await self.read_field("FLIT", "entry_words"),
        )

    async def write_phase(self, number: int, entry_word: int) -> None:
        """Write the entry of a phase, which only then exists.

        Raises
        ------
        RefusedError
            The entry does not keep flows apart; the phase is as it was.
        AccessError
            The switch does not come to an end.
        """
        entry = self.registers.register("ENTRY")
        bits = entry.total_bits or WORD_BITS * entry.words
        self._check_phase(number)
        check_int("entry_word", entry_word, minimum=0, maximum=(1 << bits) - 1)
        for index in range(entry.words):
            word = entry_word >> (WORD_BITS * index) & ((1 << WORD_BITS) - 1)
            await self.write("ENTRY", word, index)
        await self._command("commit", number)

    async def read_phase(self, number: int) -> int:
        """Read the entry of a phase from the switch."""
        self._check_phase(number)
        await self._command("load", number)
        words = self.registers.register("ENTRY").words
        return sum(
            [await self.read("ENTRY", index) << (WORD_BITS * index) for index in range(words)]
        )

    async def erase_phase(self, number: int) -> None:
        """Write zeros to the entry of a phase; there is no such phase then."""
        self._check_phase(number)
        await self._command("erase", number)

    async def write_route(self, address: int, port: int | None) -> None:
        """Let unicasts to an address leave by a port, or by none."""
        ports = self.registers.register("SHAPE").field("ports").value
        if port is not None:
            check_int("port", port, minimum=0, maximum=ports - 1)
        await self.write("ROUTE", 0 if port is None else port + 1, address)

    async def read_route(self, address: int) -> int | None:
        """Return the port by which unicasts to an address leave, if there is one."""
        found = await self.read("ROUTE", address)
        return found - 1 if found else None

    async def queued(self, number: int) -> bool:
        """Return whether a packet of a phase is in a queue; docs/how-to/driver.md says what for."""
        self._check_phase(number)
        word = await self.read("QUEUED", number // WORD_BITS)
        return bool(word >> number % WORD_BITS & 1)

    async def unicasts(self, port: int) -> bool:
        """Return whether a queue of an input port holds a unicast; see docs/how-to/driver.md."""
        ports = self.registers.register("SHAPE").field("ports").value
        check_int("port", port, minimum=0, maximum=ports - 1)
        word = await self.read("UNICASTS", port // WORD_BITS)
        return bool(word >> port % WORD_BITS & 1)

    async def errors(self) -> Errors:
        """Return the errors since they were cleared."""
        bits, first = await self.read("ERROR"), await self.read("ERROR_FIRST")
        causes = list(CAUSES)
        fields = self.registers.register("ERROR_FIRST")
        valid, cause, port = (
            (first & field.mask) >> field.low
            for field in (fields.field(name) for name in ("valid", "cause", "port"))
        )
        return Errors(
            raised=tuple(name for place, name in enumerate(causes) if bits >> place & 1),
            first=FirstError(causes[cause], port) if valid else None,
            counts={
                name: await self.read("ERROR_COUNT", place) for place, name in enumerate(causes)
            },
        )

    async def clear_errors(self) -> None:
        """Forget all errors, the first one and the counts."""
        await self.write_field("CONTROL", "clear_errors", 1)

    async def counters(self) -> dict[str, tuple[int, ...]]:
        """Return the performance counters: one number each, or one for each port."""
        return {
            name: tuple(
                [
                    await self.read(name.upper(), index)
                    for index in range(self.registers.register(name.upper()).words)
                ]
            )
            for name in (*COUNTERS, *PORT_COUNTERS)
        }

    async def clear_counters(self) -> None:
        """Set the performance counters to 0."""
        await self.write_field("CONTROL", "clear", 1)

    async def freeze_counters(self, freeze: bool = True) -> None:
        """Make the performance counters stand still, or go on."""
        await self.write_field("CONTROL", "freeze", int(freeze))

    def _address(self, register: Register, index: int) -> int:
        check_int(f"index of {register.name}", index, minimum=0, maximum=register.words - 1)
        return register.address + WORD_BYTES * index

    def _check_phase(self, number: int) -> None:
        phases = self.registers.register("SHAPE").field("phases").value
        check_int("phase", number, minimum=0, maximum=phases - 1)

    async def _command(self, command: str, number: int) -> None:
        """Give a command and wait until it is carried out."""
        await self.write("PHASE", number)
        await self.write("COMMAND", COMMANDS.index(command))
        for _ in range(self.polls):
            if not await self.read_field("COMMAND_STATUS", "busy"):
                break
        else:
            raise AccessError(f"{command} of phase {number} has not ended in {self.polls} polls")
        if await self.read_field("COMMAND_STATUS", "refused"):
            raise RefusedError(f"the switch has refused to {command} phase {number}")


def _plain(
    method: Callable[Concatenate[AsyncAccess, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate["Access", P], T]:
    """Return a method that carries out a coroutine which waits for nothing."""

    @wraps(method)
    def call(access: "Access", *args: P.args, **options: P.kwargs) -> T:
        try:
            method(access._access, *args, **options).send(None)
        except StopIteration as done:
            return done.value
        raise TypeError("read and write must be plain functions, not wait for something")

    return call


class Access:
    """Read and write the registers of a switch over plain calls; else as :class:`AsyncAccess`.

    Parameters
    ----------
    registers : RegisterMap
        Of ``switch_map``.
    read, write : Callable
        Read, and write, the word at an address [bytes].
    polls : int
        Reads of COMMAND_STATUS before a command is taken to hang, 1 or more.
    """

    def __init__(
        self,
        registers: RegisterMap,
        read: Callable[[int], int],
        write: Callable[[int, int], None],
        *,
        polls: int = 100_000,
    ) -> None:
        async def read_word(address: int) -> int:
            return read(address)

        async def write_word(address: int, value: int) -> None:
            write(address, value)

        self._access = AsyncAccess(registers, read_word, write_word, polls=polls)

    read = _plain(AsyncAccess.read)
    write = _plain(AsyncAccess.write)
    read_field = _plain(AsyncAccess.read_field)
    write_field = _plain(AsyncAccess.write_field)
    identify = _plain(AsyncAccess.identify)
    write_phase = _plain(AsyncAccess.write_phase)
    read_phase = _plain(AsyncAccess.read_phase)
    erase_phase = _plain(AsyncAccess.erase_phase)
    write_route = _plain(AsyncAccess.write_route)
    read_route = _plain(AsyncAccess.read_route)
    queued = _plain(AsyncAccess.queued)
    unicasts = _plain(AsyncAccess.unicasts)
    errors = _plain(AsyncAccess.errors)
    clear_errors = _plain(AsyncAccess.clear_errors)
    counters = _plain(AsyncAccess.counters)
    clear_counters = _plain(AsyncAccess.clear_counters)
    freeze_counters = _plain(AsyncAccess.freeze_counters)
