"""Units in Amaranth's simulator, a cycle at a time: shared by the tests of fred_hw."""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from amaranth.hdl import ResetInserter, Signal, Value
from amaranth.sim import Simulator

from fred_hw.unit import Unit

__all__ = ["port", "simulate", "trace"]


def simulate(unit: Any, bench: Callable[[Any], Awaitable[None]]) -> None:
    """Run a testbench on a unit until it ends; a unit without registers has no clock."""
    simulator = Simulator(unit)
    if not isinstance(unit, Unit) or unit.clocked:
        simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()


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
    again = Signal()
    driven = {name: rest.get(name, 0) for cycle in inputs for name in cycle} | rest
    seen: list[Any] = []

    async def bench(ctx: Any) -> None:
        for cycle in inputs:
            for name, value in (driven | dict(cycle)).items():
                ctx.set(again if name == "rst" else port(unit, name), value)
            values = tuple(ctx.get(port(unit, name)) for name in watch)
            seen.append(values[0] if len(watch) == 1 else values)
            if unit.clocked:
                await ctx.tick()
            else:
                await ctx.delay(1e-9)

    simulate(ResetInserter(again)(unit) if "rst" in driven else unit, bench)
    return seen
