"""A plane of a wafer in compiled code: each distinct unit Verilated once, and joined in C++.

It does what ``testbench.collectives.plane`` does in Icarus, for planes that are too large for that.
"""

import random
from collections.abc import Sequence
from pathlib import Path

from fred_hw.ace.npu_endpoint import NpuEndpoint
from fred_hw.spec import SwitchSpec
from fred_hw.switch.switch import Switch
from fred_hw.unit import Unit
from fred_hw.wafer.plane import Plane
from fred_hw.wafer.spec import WaferSpec
from gen.emitter import VerilogEmitter
from testbench.collectives.fabric import Finished, Sizes, collected, write_memories
from testbench.collectives.plane import PlaneRun, write_programs
from testbench.sim.verilate import link_models, verilate_model

__all__ = ["build_compiled_plane", "run_compiled_plane"]

_AXIL = ("awaddr", "awvalid", "awready", "wdata", "wvalid", "wready", "bresp", "bvalid")
_AXIL_READ = ("araddr", "arvalid", "arready", "rdata", "rresp", "rvalid")
_MEMORY = {
    "read_valid": "m_axis_read_tvalid",
    "read_ready": "m_axis_read_tready",
    "read_address": "m_axis_read_tdata",
    "data_valid": "s_axis_data_tvalid",
    "data_ready": "s_axis_data_tready",
    "data": "s_axis_data_tdata",
    "write_valid": "m_axis_write_tvalid",
    "write_ready": "m_axis_write_tready",
    "write_address": "m_axis_write_tuser",
    "write_data": "m_axis_write_tdata",
}


def _units(wafer: WaferSpec) -> dict[str, Unit]:
    """Return each distinct unit by the name of its class in C++."""
    units: dict[str, Unit] = {"Vnpu": NpuEndpoint(spec=wafer.link)}
    for number, spec in enumerate(_kinds(Plane(wafer))):
        units[f"Vp{number}"] = Switch(spec=spec)
    return units


def _kinds(plane: Plane) -> list[SwitchSpec]:
    """Return each distinct specification of a chiplet."""
    found: list[SwitchSpec] = []
    for one in plane.chiplets:
        if one.spec not in found:
            found.append(one.spec)
    return found


def _maker(prefix: str, ports: int) -> list[str]:
    """Return the function that makes a unit of a class; an endpoint has no numbered ports."""
    lines = [f"inline Unit make_{prefix}(VerilatedContext* context) {{", "    Unit unit;"]
    lines += [f"    auto* top = new {prefix}(context);", "    unit.eval = [top] { top->eval(); };"]
    lines += ["    unit.clk = &top->clk;", "    unit.rst = &top->rst;"]
    lines += ["    top->incarnation = 9;", "    top->s_axil_wstrb = 15;"]
    lines += ["    top->s_axil_bready = top->s_axil_rready = 1;"]
    lines += [f"    unit.bus.{name} = &top->s_axil_{name};" for name in (*_AXIL, *_AXIL_READ)]
    for port in [""] if not ports else [str(k) for k in range(ports)]:
        s, m = f"top->s{port}_axis_", f"top->m{port}_axis_"
        lines += [f"    {m}tready = 1;", f"    {s}tvalid = {s}tlast = 0;"]
        lines += [f"    unit.sends.push_back({{&{m}tvalid, &{m}tdata, &{m}tuser}});"]
        lines += [f"    unit.takes.push_back({{&{s}tvalid, &{s}tdata, &{s}tuser}});"]
    if not ports:
        lines += [f"    unit.memory.{name} = &top->{pin};" for name, pin in _MEMORY.items()]
    return [*lines, "    return unit;", "}"]


def _header(wafer: WaferSpec, size: Sizes) -> str:
    """Return what the harness has to know of a plane."""
    plane = Plane(wafer)
    kinds = _kinds(plane)
    lines = ["#pragma once", "#include <ctime>", "#include <functional>", "#include <vector>"]
    lines += [f'#include "{name}.h"' for name in ("Vnpu", *(f"Vp{n}" for n in range(len(kinds))))]
    lines += [
        '#include "verilated.h"',
        "template <class T> using Plain = std::remove_reference_t<T>;",
        "using Data = Plain<decltype(Vnpu::m_axis_tdata)>;",
        "struct Sends { CData* valid; Data* data; VlWide<3>* user; };",
        "struct Takes { CData* valid; Data* data; VlWide<3>* user; };",
        "struct Bus {",
        "    SData *awaddr, *araddr; CData *awvalid, *awready, *wvalid, *wready, *bresp, *bvalid;",
        "    CData *arvalid, *arready, *rresp, *rvalid; IData *wdata, *rdata;",
        "};",
        "struct MemoryPins {",
        "    CData *read_valid, *read_ready, *data_valid, *data_ready, *write_valid, *write_ready;",
        "    QData *read_address, *write_address; Data *data, *write_data;",
        "};",
        "struct Unit {",
        "    std::function<void()> eval; CData *clk, *rst; Bus bus; MemoryPins memory;",
        "    std::vector<Sends> sends; std::vector<Takes> takes;",
        "};",
        f"constexpr unsigned NPUS = {wafer.npus}, LINK_CYCLES = {size.link_cycles};",
        f"constexpr unsigned MEMORY_CYCLES = {size.memory_cycles};",
        *_maker("Vnpu", 0),
    ]
    for number, spec in enumerate(kinds):
        lines += _maker(f"Vp{number}", spec.ports)
    lines += ["inline std::vector<Unit> make_units(VerilatedContext* context) {"]
    lines += ["    std::vector<Unit> units;"]
    lines += ["    for (unsigned k = 0; k < NPUS; ++k) units.push_back(make_Vnpu(context));"]
    for one in plane.chiplets:
        lines += [f"    units.push_back(make_Vp{kinds.index(one.spec)}(context));"]
    lines += ["    return units;", "}", "struct Joined { unsigned unit, port, other, entry; };"]
    return "\n".join([*lines, f"const std::vector<Joined> LINKS{{{', '.join(_links(plane))}}};"])


def _links(plane: Plane) -> list[str]:
    """Return each direction of each link: unit and port that send, unit and port that take."""
    found, npus = [], plane.wafer.npus
    for number, one in enumerate(plane.chiplets, npus):
        for port, end in enumerate(one.ends):
            if end.kind == "npu":
                found += [f"{{{number}, {port}, {end.number}, 0}}"]
                found += [f"{{{end.number}, 0, {number}, {port}}}"]
            elif end.kind == "chiplet":
                found += [f"{{{number}, {port}, {npus + end.number}, {end.port}}}"]
    return found


def build_compiled_plane(wafer: WaferSpec, size: Sizes) -> Path:
    """Return the program of a plane; I/O controllers are links that are not there.

    Raises
    ------
    SimulatorError
        Verilator is not installed or could not build.
    """
    models = []
    for prefix, unit in _units(wafer).items():
        emitter = VerilogEmitter()
        name = unit.unit_name
        emitter.add(unit)
        models.append(verilate_model(emitter.verilog(), name, prefix))
    source = Path(__file__).with_name("plane.cpp").read_text()
    sources = {"plane.cpp": source, "plane_model.hpp": _header(wafer, size)}
    return link_models("plane", sources, models)


def run_compiled_plane(model: Path, run: PlaneRun, work: Path) -> Finished:
    """Simulate until all programs have ended.

    Raises
    ------
    SimulatorError
        The run did not end well.
    """
    work.mkdir(parents=True, exist_ok=True)
    write_programs(work, run)
    write_memories(work, run.memories)
    says = {"faults": run.faults, "stalls": run.memory_stalls, "limit": run.limit}
    says["seed"] = random.Random(run.seed).randrange(1, 1 << 30)
    plane = run.program.plane
    command: Sequence[str] = [str(model), *(f"+{a}={b}" for a, b in says.items())]
    return collected(plane.wafer.link, plane.wafer.npus, command, work)
