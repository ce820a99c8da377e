"""A fabric as compiled code: each distinct unit is Verilated once, and joined in C++."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fred_hw.ace.memory_port import READ_PORTS
from fred_hw.ace.npu_endpoint import NpuEndpoint
from fred_hw.control.axi_lite import PREFIX
from fred_hw.fabric_plan import Joint
from fred_hw.mesh.router import MeshRouter
from fred_hw.switch.switch import Switch
from fred_hw.unit import Unit
from gen.design import generate
from testbench.sim.kept import kept
from testbench.sim.tools import SimulatorError
from testbench.sim.verilate import link_models, verilate_model
from testbench.volume.program import program_sources, run_program

from .bench_text import AXIL_TIED, AXIL_WIRES
from .fabric import Finished, Sizes, collected, write_memories
from .plane import PlaneRun, options_of, write_programs
from .units import router_verilog

__all__ = ["Instance", "Netlist", "build_joined", "run_joined"]

_READ = ("m_axis_{0}read_tvalid", "m_axis_{0}read_tready", "m_axis_{0}read_tdata")
_READ += ("s_axis_{0}data_tvalid", "s_axis_{0}data_tready", "s_axis_{0}data_tdata")
"""Pins of a port to read, in the order of ReadPins."""

_WRITE = {
    "write_valid": "m_axis_write_tvalid",
    "write_ready": "m_axis_write_tready",
    "write_address": "m_axis_write_tuser",
    "write_data": "m_axis_write_tdata",
}


@dataclass(frozen=True)
class Instance:
    """A unit of a fabric.

    Parameters
    ----------
    unit : Unit
        An endpoint, a switch or a router; alike if their ``unit_name`` is.
    pins : mapping of str to int
        Inputs that are constant, beside ``session_id``.
    """

    unit: Unit
    pins: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Netlist:
    """The connections of a fabric.

    Parameters
    ----------
    name : str
        Name of the program.
    instances : sequence of Instance
        Endpoints, then the other units; units with registers before those without.
    joints : sequence of Joint
        Links; a port without a link has no neighbour.
    """

    name: str
    instances: Sequence[Instance]
    joints: Sequence[Joint]

    @property
    def npus(self) -> int:
        """Number of endpoints."""
        return sum(isinstance(one.unit, NpuEndpoint) for one in self.instances)

    @property
    def kinds(self) -> dict[str, Unit]:
        """Each distinct unit by name, the endpoint first."""
        return {one.unit.unit_name: one.unit for one in self.instances}


def _ports(unit: Unit) -> list[str]:
    """Return the link numbers in a unit's port names; an endpoint has none."""
    if isinstance(unit, MeshRouter):
        return [str(number) for number in unit.numbers]
    return [str(number) for number in range(unit.spec.ports)] if isinstance(unit, Switch) else [""]


def _constants(unit: Unit) -> dict[str, int]:
    """Return the values of constant inputs; slow links change some of a switch's."""
    constants = {f"m{port}_axis_tready": 1 for port in _ports(unit)}
    if not isinstance(unit, MeshRouter):
        constants |= {PREFIX + name: value for name, value in AXIL_TIED.items()}
    return constants | {"session_id": 9}


def _maker(prefix: str, unit: Unit) -> list[str]:
    """Return the C++ function that creates a unit of a class."""
    lines = [f"inline Unit make_{prefix}() {{", "    Unit unit;"]
    # A separate context for each, so that evaluations on different threads share nothing.
    lines += [f"    auto* top = new {prefix}(new VerilatedContext);"]
    lines += ["    unit.eval = [top] { top->eval(); };"]
    lines += [f"    unit.{pin} = &top->{pin};" for pin in ("clk", "rst", "session_id")]
    lines += [f"    top->{name} = {value};" for name, value in _constants(unit).items()]
    if isinstance(unit, MeshRouter):
        lines += ["    unit.position = &top->position;"]
    else:
        lines += [f"    unit.bus.{name} = &top->{PREFIX}{name};" for name in AXIL_WIRES]
    for port in _ports(unit):
        s, m = f"top->s{port}_axis_", f"top->m{port}_axis_"
        ready = f"&{m}tready" if isinstance(unit, Switch) else "nullptr"
        sends, takes = (
            ", ".join(f"&{one}t{wire}" for wire in ("valid", "last", "data", "user"))
            for one in (m, s)
        )
        lines += [f"    unit.sends.push_back({{{sends}, {ready}}});"]
        lines += [f"    unit.takes.push_back({{{takes}}});"]
    if isinstance(unit, NpuEndpoint):
        lines += [f"    unit.memory.{name} = &top->{pin};" for name, pin in _WRITE.items()]
        for prefix in READ_PORTS[: unit.spec.endpoint.read_ports]:
            pins = ", ".join(f"&top->{pin.format(prefix)}" for pin in _READ)
            lines += [f"    unit.memory.reads.push_back({{{pins}}});"]
    return [*lines, "    return unit;", "}"]


def _header(netlist: Netlist, size: Sizes) -> str:
    """Return the part of the harness that depends on the fabric."""
    prefixes = {kind: f"Vu{number}" for number, kind in enumerate(netlist.kinds)}
    lines = ["#pragma once", "#include <ctime>", "#include <functional>", "#include <vector>"]
    for prefix in prefixes.values():
        lines += [f'#include "{prefix}.h"']
    lines += [
        '#include "verilated.h"',
        "template <class T> using Plain = std::remove_reference_t<T>;",
        "using Data = Plain<decltype(Vu0::m_axis_tdata)>;",
        "struct Sends { CData *valid, *last; Data* data; VlWide<3>* user; CData* ready; };",
        "struct Takes { CData *valid, *last; Data* data; VlWide<3>* user; };",
        "struct Bus {",
        "    SData *awaddr = nullptr, *araddr;",
        "    CData *awvalid = nullptr, *awready, *wvalid, *wready, *bresp, *bvalid;",
        "    CData *arvalid, *arready, *rresp, *rvalid; IData *wdata, *rdata;",
        "};",
        "struct ReadPins {",
        "    CData *valid, *ready; QData* address; CData *data_valid, *data_ready; Data* data;",
        "};",
        "struct MemoryPins {",
        "    std::vector<ReadPins> reads;",
        "    CData *write_valid, *write_ready; QData* write_address; Data* write_data;",
        "};",
        "struct Unit {",
        "    std::function<void()> eval; CData *clk, *rst, *session_id;",
        "    CData* position = nullptr; Bus bus;",
        "    MemoryPins memory; std::vector<Sends> sends; std::vector<Takes> takes;",
        "    void step() {  // a cycle, up to its rising edge",
        "        *clk = 0;",
        "        eval();",
        "        *clk = 1;",
        "        eval();",
        "    }",
        "};",
        f"constexpr unsigned NPUS = {netlist.npus}, LINK_CYCLES = {size.link_cycles};",
        f"constexpr unsigned MEMORY_CYCLES = {size.memory_cycles};",
    ]
    for kind, unit in netlist.kinds.items():
        lines += _maker(prefixes[kind], unit)
    lines += ["inline std::vector<Unit> make_units() {"]
    lines += ["    std::vector<Unit> units;"]
    for one in netlist.instances:
        lines += [f"    units.push_back(make_{prefixes[one.unit.unit_name]}());"]
        lines += [f"    *units.back().{name} = {value};" for name, value in one.pins.items()]
    lines += [
        "    return units;",
        "}",
        "struct Joined { unsigned unit, port, other, entry, pace; };",
    ]
    links = ", ".join(f"{{{', '.join(map(str, one))}}}" for one in netlist.joints)
    return "\n".join([*lines, f"const std::vector<Joined> LINKS{{{links}}};"])


def _verilog(unit: Unit) -> str:
    """Return the Verilog of a unit, shared by all fabrics that contain it."""
    if isinstance(unit, MeshRouter):
        return router_verilog(unit)
    assert isinstance(unit, Switch | NpuEndpoint)
    return kept(
        generate, unit.spec, level="switch" if isinstance(unit, Switch) else "endpoint"
    ).verilog


def build_joined(netlist: Netlist, size: Sizes) -> Path:
    """Return the compiled program of a fabric.

    Raises
    ------
    SimulatorError
        Verilator is not installed or could not build.
    """
    slow = {type(netlist.instances[one.unit].unit) for one in netlist.joints if one.pace > 1}
    assert slow <= {Switch}, "others have no pin that makes them wait"
    models = [
        verilate_model(_verilog(unit), kind, f"Vu{number}")
        for number, (kind, unit) in enumerate(netlist.kinds.items())
    ]
    sources = program_sources(Path(__file__).with_name("joined.cpp"))
    sources["joined_model.hpp"] = _header(netlist, size)
    return link_models(netlist.name, sources, models)


def run_joined(
    model: Path, run: PlaneRun, work: Path, *, plain: bool = False, threads: int | None = None
) -> Finished:
    """Simulate until all programs have ended.

    Parameters
    ----------
    model : Path
        Model from ``build_joined``.
    run : PlaneRun
        Inputs of the run.
    work : Path
        Folder for files of the run.
    plain : bool
        Whether all units are simulated one cycle at a time, instead of each for as many cycles as a
        link takes. The results are the same.
    threads : int, optional
        Number of threads, all cores by default, at least 1. The results are the same.

    Raises
    ------
    SimulatorError
        The run did not end well.
    """
    work.mkdir(parents=True, exist_ok=True)
    write_programs(work, run)
    write_memories(work, run.memories)
    options = options_of(run) | {"plain": int(plain)}
    options["threads"] = (os.cpu_count() or 1) if threads is None else threads
    try:
        reported = run_program(model, options, folder=work, timeout_s=None)
    except RuntimeError as error:
        raise SimulatorError(f"fabric: {error}") from None
    return collected(run.program.link, run.program.endpoints, reported, work)
