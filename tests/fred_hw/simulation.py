"""Units in Amaranth's simulator, a cycle at a time: shared by the tests of fred_hw."""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import lru_cache, wraps
from inspect import signature
from typing import Any, NamedTuple, TypeVar

from amaranth.hdl import ResetInserter, Signal, Value, ValueCastable
from amaranth.hdl._ast import Slice
from amaranth.sim import Simulator

from fred_hw.unit import Unit
from tests.fred_hw.quick_compiler import quick_compiler

__all__ = ["RST", "high", "known", "played", "port", "simulate", "trace"]

RST = Signal()
"""Resets any unit, if a bench sets it, or a :func:`trace` says so."""

_KNOWN: dict[tuple[type, str], Any] = {}

U = TypeVar("U", bound=Unit)


def known(unit: U) -> U:
    """Return the first unit of this class and name, which is then compiled once for all tests.

    Units with equal names are equal hardware.
    """
    return _KNOWN.setdefault((type(unit), unit.unit_name), unit)


class _Bits(NamedTuple):
    """The bits of a signal that a port is: all, or some of it."""

    state: Any
    start: int
    mask: int

    def put(self, value: int) -> None:
        """Set them when the unit settles next."""
        state, start, mask = self
        state.update(state.next & ~(mask << start) | (int(value) & mask) << start)


class _Ports:
    """Where the simulator of a design keeps the values of its ports."""

    def __init__(self) -> None:
        self._found: dict[int, tuple[Any, _Bits | None]] = {}

    def bits(self, ctx: Any, port: Any) -> _Bits | None:
        """Return the bits of a port; None if they are no part of one unsigned signal."""
        found = self._found.get(id(port))
        if found is None:  # the port is kept, so that no other is given its number
            found = self._found[id(port)] = (port, self._bits(ctx, Value.cast(port)))
        return found[1]

    @staticmethod
    def _bits(ctx: Any, value: Value) -> _Bits | None:
        start, mask = 0, (1 << len(value)) - 1
        while isinstance(value, Slice):
            value, start = value.value, start + value.start
        if not isinstance(value, Signal) or value.shape().signed:
            return None
        states = ctx._engine.state
        return _Bits(states.slots[states.get_signal(value)], start, mask)


class _Context:
    """What a bench reads and writes: inputs are set together before the next thing is read.

    Amaranth's own context lets the whole unit settle after each of them, and looks up each signal
    whenever it is used.
    """

    def __init__(self, ctx: Any, ports: _Ports) -> None:
        self._ctx = ctx
        self._ports = ports
        self._settles = True

    def set(self, port: Any, value: int) -> None:
        """Set an input."""
        bits = self._ports.bits(self._ctx, port)
        if bits is None or bits.state.is_comb:  # which is refused
            self._ctx.set(Value.cast(port), int(value))
            return
        bits.put(value)
        self._settles = False

    def get(self, port: Any) -> Any:
        """Return what a port shows."""
        ctx = self._settled()
        bits = None if isinstance(port, ValueCastable) else self._ports.bits(ctx, port)
        return ctx.get(port) if bits is None else bits.state.curr >> bits.start & bits.mask

    def tick(self) -> Any:
        """Wait for the clock."""
        return self._settled().tick()

    def delay(self, seconds: float) -> Any:
        """Wait for so long."""
        return self._settled().delay(seconds)

    def _settled(self) -> Any:
        if not self._settles:
            self._ctx._engine.step_design()
            self._settles = True
        return self._ctx


class _Simulation:
    """A compiled design whose simulation begins anew with each bench."""

    def __init__(self, design: Any, clocked: bool) -> None:
        self._bench: Callable[[Any], Awaitable[None]] | None = None
        self._ports = _Ports()
        with quick_compiler():
            self._simulator = Simulator(design)
        if clocked:
            self._simulator.add_clock(1e-9)

    async def _play(self, ctx: Any) -> None:
        assert self._bench is not None
        await self._bench(_Context(ctx, self._ports))

    def run(self, bench: Callable[[Any], Awaitable[None]]) -> None:
        """Run a bench from reset values on until it ends."""
        first, self._bench = self._bench is None, bench
        if first:
            self._simulator.add_testbench(self._play)
        else:
            self._simulator.reset()
        self._simulator.run()


@lru_cache(maxsize=16)
def _simulation(unit: Any) -> _Simulation:
    clocked = not isinstance(unit, Unit) or unit.clocked
    resets = isinstance(unit, Unit) and unit.clocked
    return _Simulation(ResetInserter(RST)(unit) if resets else unit, clocked)


def simulate(unit: Any, bench: Callable[[Any], Awaitable[None]]) -> None:
    """Run a testbench on a unit until it ends; a unit without registers has no clock.

    A unit that was simulated before is not compiled again.
    """
    try:
        _simulation(unit).run(bench)
    except BaseException:
        _simulation.cache_clear()  # it stands where the bench has left it
        raise


def played(make: Callable[[], Any]) -> Callable[[Callable[..., Awaitable[None]]], Any]:
    """Make a coroutine of a bench and its context a test: it is played on the ``dut`` of a new one.

    Parameters
    ----------
    make : callable
        Makes the bench, such as its class.
    """

    def of(coroutine: Callable[..., Awaitable[None]]) -> Any:
        @wraps(coroutine)
        def test(**cases: Any) -> None:
            bench = make()
            simulate(bench.dut, lambda ctx: coroutine(bench, ctx, **cases))

        given = signature(coroutine)
        # What is left comes from the parameters of the test.
        left = list(given.parameters.values())[2:]
        test.__signature__ = given.replace(parameters=left)  # pyright: ignore[reportAttributeAccessIssue]
        return test

    return of


def high(values: Sequence[int]) -> list[int]:
    """Return the cycles in which a bit is high."""
    return [cycle for cycle, value in enumerate(values) if value]


def port(unit: Any, path: str) -> Value:
    """Return the bits of a port such as ``i.valid`` or ``o[1].data``."""
    found = unit
    for part in re.findall(r"\w+", path):
        found = found[int(part)] if part.isdigit() else getattr(found, part)
    return Value.cast(found)


def trace(
    unit: Any, inputs: Sequence[Mapping[str, int]], watch: Sequence[str] = (), **rest: int
) -> list[Any]:
    """Return what ports show in each cycle, before the clock edge that ends it.

    Parameters
    ----------
    unit : Unit
        What to simulate, from its reset on.
    inputs : sequence of Mapping
        For each cycle the inputs that are set in it, by path; in other cycles they are as in
        ``rest``, else 0. ``rst`` resets the unit.
    watch : sequence of str
        Paths of the ports to return, one value if it is one, else a tuple.
    **rest : int
        Inputs that have another value than 0 when nothing is said of them; they are top members.
    """
    unit = known(unit)
    driven = {name: rest.get(name, 0) for cycle in inputs for name in cycle} | rest
    ends = {name: RST if name == "rst" else port(unit, name) for name in driven}
    watched = [port(unit, name) for name in watch]
    seen: list[Any] = []

    async def bench(ctx: Any) -> None:
        for cycle in inputs:
            for name, value in (driven | dict(cycle)).items():
                ctx.set(ends[name], value)
            values = tuple(ctx.get(value) for value in watched)
            seen.append(values[0] if len(watch) == 1 else values)
            if unit.clocked:
                await ctx.tick()
            else:
                await ctx.delay(1e-9)

    simulate(unit, bench)
    return seen
