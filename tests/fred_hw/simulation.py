"""Units in Amaranth's simulator, a cycle at a time: shared by the tests of fred_hw."""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import lru_cache, wraps
from inspect import signature
from typing import Any, TypeVar

from amaranth.hdl import Cat, ResetInserter, Signal, Value
from amaranth.sim import Simulator

from fred_hw.unit import Unit

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


class _Context:
    """The context of a bench: inputs that are set together take effect together.

    Amaranth lets the design settle after each input that is set. Here it settles before the next
    value is read, since that takes most of the time of a simulation.
    """

    def __init__(self, ctx: Any) -> None:
        self._ctx = ctx
        self._inputs: list[tuple[Value, int]] = []

    def set(self, port: Any, value: int) -> None:
        """Set an input."""
        self._inputs.append((Value.cast(port), int(value)))

    def get(self, port: Any) -> Any:
        """Return the value of a port."""
        return self._settled().get(port)

    def tick(self) -> Any:
        """Wait for the clock."""
        return self._settled().tick()

    def delay(self, seconds: float) -> Any:
        """Wait for so long."""
        return self._settled().delay(seconds)

    def _settled(self) -> Any:
        if self._inputs:
            bits = start = 0
            for port, value in self._inputs:
                bits |= (value & (1 << len(port)) - 1) << start
                start += len(port)
            self._ctx.set(Cat(port for port, _ in self._inputs), bits)
            self._inputs.clear()
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
