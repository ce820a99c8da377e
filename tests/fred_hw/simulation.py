"""Units in Amaranth's simulator, a cycle at a time: shared by the tests of fred_hw."""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeVar

from amaranth.hdl import Cat, ResetInserter, Signal, Value
from amaranth.sim import Simulator

from fred_hw.unit import Unit

__all__ = ["RST", "known", "port", "simulate", "trace"]

RST = Signal()
"""Resets any unit, if a bench sets it, or a :func:`trace` says so."""

_KNOWN: dict[tuple[type, str], Any] = {}

U = TypeVar("U", bound=Unit)


def known(unit: U) -> U:
    """Return the first unit of this class and name, which is then compiled once for all tests.

    Units with equal names are equal hardware.
    """
    return _KNOWN.setdefault((type(unit), unit.unit_name), unit)


class _Context:
    """What a bench reads and writes: inputs are set together before the next thing is read.

    Amaranth's own context lets the whole unit settle after each of them.
    """

    def __init__(self, ctx: Any) -> None:
        self._ctx = ctx
        self._ports: list[Value] = []
        self._word = self._width = 0

    def set(self, port: Any, value: int) -> None:
        """Set an input."""
        port = Value.cast(port)
        self._word |= (int(value) & (1 << len(port)) - 1) << self._width
        self._width += len(port)
        self._ports.append(port)

    def get(self, port: Any) -> Any:
        """Return what a port shows."""
        return self._settled().get(port)

    def tick(self) -> Any:
        """Wait for the clock."""
        return self._settled().tick()

    def delay(self, seconds: float) -> Any:
        """Wait for so long."""
        return self._settled().delay(seconds)

    def _settled(self) -> Any:
        if self._ports:
            self._ctx.set(Cat(self._ports), self._word)
            self._ports, self._word, self._width = [], 0, 0
        return self._ctx


class _Simulation:
    """A compiled design whose simulation begins anew with each bench."""

    def __init__(self, design: Any, clocked: bool) -> None:
        self._bench: Callable[[Any], Awaitable[None]] | None = None
        self._simulator = Simulator(design)
        if clocked:
            self._simulator.add_clock(1e-9)

    async def _play(self, ctx: Any) -> None:
        assert self._bench is not None
        await self._bench(_Context(ctx))

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
