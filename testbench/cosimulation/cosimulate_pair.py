"""Co-simulation of two endpoints or terminators, with a faulty link between them."""

from functools import partial
from pathlib import Path
from typing import Unpack

from fred_hw.ace.npu_endpoint import NpuEndpoint
from fred_hw.checks import check_int
from fred_hw.endpoint.terminator import LinkTerminator
from fred_hw.spec import SwitchSpec
from fred_hw.unit import Unit
from gen.emitter import VerilogEmitter
from gen.ports import Port, head_of_top, instance, module_ports
from testbench.sim.kept import Kept, kept
from testbench.sim.runner import SimulationResult

from .benches import benches
from .launch import Options, launch

__all__ = ["cosimulate_endpoint", "cosimulate_terminator", "pair_of"]

_SHARED = ("clk", "rst")


def cosimulate_endpoint(
    spec: SwitchSpec, work: Path, *, flits: int = 32, **options: Unpack[Options]
) -> SimulationResult:
    """Run the regression of a pair of collective endpoints.

    Parameters
    ----------
    spec, work, options
        As in :func:`launch`.
    flits : int
        Flits of each buffer, 1 or more.

    Raises
    ------
    TypeError, ValueError
        ``flits`` is no integer, or below 1.
    SimulatorError
        The simulator is not installed or failed.
    """
    check_int("flits", flits, minimum=1)
    make = partial(kept, _endpoints, spec)
    return launch(benches("endpoint"), make, spec, work, {"FRED_FLITS": flits}, options)


def cosimulate_terminator(
    spec: SwitchSpec, work: Path, *, packets: int = 6, **options: Unpack[Options]
) -> SimulationResult:
    """Run the regression of a pair of link terminators.

    Parameters
    ----------
    spec, work, options
        As in :func:`launch`.
    packets : int
        Packets of each flow, 1 or more.

    Raises
    ------
    TypeError, ValueError
        ``packets`` is no integer, or below 1.
    SimulatorError
        The simulator is not installed or failed.
    """
    check_int("packets", packets, minimum=1)
    make = partial(kept, _terminators, spec)
    return launch(benches("terminator"), make, spec, work, {"FRED_PACKETS": packets}, options)


def _endpoints(spec: SwitchSpec, emitter: VerilogEmitter) -> Kept:
    return pair_of(NpuEndpoint(spec=spec), "endpoint_pair", emitter)


def _terminators(spec: SwitchSpec, emitter: VerilogEmitter) -> Kept:
    return pair_of(LinkTerminator(spec=spec), "terminator_pair", emitter)


def pair_of(unit: Unit, name: str, emitter: VerilogEmitter) -> Kept:
    """Generate a unit and a top module with two, whose ports are those of ``a`` and ``b``.

    Parameters
    ----------
    unit : Unit
        The unit; used up.
    name : str
        Name of the top module.
    emitter : VerilogEmitter
        The writer.
    """
    emitter.add(unit)
    own = module_ports(unit)
    ports: list[Port] = [port for port in own if port[0] in _SHARED]
    for end in "ab":
        ports += [(f"{end}_{port}", way, bits) for port, way, bits in own if port not in _SHARED]
    lines = head_of_top(name, ports)
    for end in "ab":
        pins = {port: port if port in _SHARED else f"{end}_{port}" for port, _, _ in own}
        lines += instance(unit.unit_name, end, pins)
    return Kept(name, "\n".join([emitter.verilog(), *lines, "endmodule", ""]), tuple(ports))
