"""Co-simulation of two link terminators, with a faulty link between them."""

from functools import partial
from pathlib import Path
from typing import Unpack

from fred_hw.checks import check_int
from fred_hw.endpoint.terminator import LinkTerminator
from fred_hw.spec import SwitchSpec
from gen.emitter import VerilogEmitter
from gen.ports import Port, head_of_top, instance, module_ports
from testbench.sim.kept import Kept, kept
from testbench.sim.runner import SimulationResult

from .benches import benches
from .launch import Options, launch

__all__ = ["cosimulate_terminator"]

_PAIR = "terminator_pair"
_SHARED = ("clk", "rst")


def cosimulate_terminator(
    spec: SwitchSpec, work: Path, *, packets: int = 6, **options: Unpack[Options]
) -> SimulationResult:
    """Run the regression of a pair of terminators.

    Parameters
    ----------
    spec, work, options
        As in :func:`launch`.
    packets : int
        Packets of each flow, 1 or more.

    Raises
    ------
    SimulatorError
        The simulator is not installed or failed.
    """
    check_int("packets", packets, minimum=1)
    make = partial(kept, _pair, spec)
    return launch(benches("terminator"), make, spec, work, {"FRED_PACKETS": packets}, options)


def _pair(spec: SwitchSpec, emitter: VerilogEmitter) -> Kept:
    """Generate a terminator and a top module with two, whose ports are those of ``a`` and ``b``."""
    unit = LinkTerminator(spec=spec)
    emitter.add(unit)
    own = module_ports(unit)
    ports: list[Port] = [port for port in own if port[0] in _SHARED]
    for end in "ab":
        ports += [(f"{end}_{name}", way, bits) for name, way, bits in own if name not in _SHARED]
    lines = head_of_top(_PAIR, ports)
    for end in "ab":
        pins = {name: name if name in _SHARED else f"{end}_{name}" for name, _, _ in own}
        lines += instance(unit.unit_name, end, pins)
    return Kept(_PAIR, "\n".join([emitter.verilog(), *lines, "endmodule", ""]))
