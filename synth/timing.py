"""Timing of a mapped design: the shortest clock period, and the paths that determine it."""

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from fred_hw.errors import InputError

from .blocks import blocks_library, memory_block
from .liberty import Libraries
from .mapping import Mapped
from .netlist import MappedModule, plain_names, read_netlist
from .representatives import TIMED_CELLS, representatives

__all__ = ["PATHS", "TimedPath", "Timing", "estimate", "find_opensta", "time_design"]

PATHS = 5
"""Number of reported paths."""

# By default OpenSTA continues after errors, and cells without a library may take all memory.
_SCRIPT = """\
set sta_continue_on_error 0
{libraries}
read_verilog timed.v
link_design {top}
create_clock -name fred_clock -period {period} {clocks}
check_setup -no_clock
{delays}
foreach count {{1000 10000 100000}} {{
  set ends [find_timing_paths -path_delay max -group_count $count]
  set keys {{}}
  set shown {{}}
  foreach end $ends {{
    set from [get_full_name [get_property $end startpoint]]
    set to [get_full_name [get_property $end endpoint]]
    set key [regsub -all {{[0-9]+}} "$from $to" {{}}]
    if {{[lsearch -exact $keys $key] < 0}} {{
      lappend keys $key
      lappend shown $to
      if {{[llength $keys] == {paths}}} break
    }}
  }}
  if {{[llength $keys] == {paths} || [llength $ends] < $count}} break
}}
foreach to $shown {{
  puts "fred path"
  report_checks -path_delay max -to [list $to] -format full -digits 6 -no_line_splits
}}
puts "fred end"
exit
"""

_STAGE = re.compile(r"^\s+-?[\d.]+\s+(-?[\d.]+) [v^] (\S+) \((\S+)\)", re.MULTILINE)
_SLACK = re.compile(r"(-?[\d.]+)\s+slack \(")
_REGISTER = re.compile(r"^(.*)_reg(?:_(\d+))?x*/\w+$")
_EDGE = re.compile(r"([\d.]+)   clock fred_clock'? \(\w+ edge\)")
_UNCLOCKED = re.compile(r"(\d+) unclocked register")
_ERROR = re.compile(r"^Error: .*", re.MULTILINE)

_SPAN_NS = 0.01, 100.0
"""Periods from which slack is measured; OpenSTA's 24 bits lose precision for longer ones."""


@dataclass(frozen=True)
class TimedPath:
    """A path between registers, memories or ports.

    Parameters
    ----------
    start, end : str
        Where it begins and ends: instances of units joined by dots, and a signal. With an
        estimate, the module that it is in.
    clock_ns : float
        The clock period that it needs [ns].
    levels : int
        Cells of logic on it.
    through : list of str
        Instances of units whose logic it crosses, in order; empty is the top module.
    """

    start: str
    end: str
    clock_ns: float
    levels: int
    through: list[str]


@dataclass(frozen=True)
class Timing:
    """Timing result of a design.

    Parameters
    ----------
    by : str
        The tool of the analysis, and what it includes.
    clock_ns : float
        Shortest clock period [ns]; 0 without any path.
    paths : list of TimedPath
        Those that need the longest periods; of paths whose names differ only in numbers, the worst
        one.
    cells : int
        Cells that were timed.
    kept : int or None
        Most equal instances of a module that were timed to represent all of them; None for all.
    """

    by: str
    clock_ns: float
    paths: list[TimedPath]
    cells: int
    kept: int | None


def find_opensta() -> str | None:
    """Return the version of OpenSTA, or None if it is not installed."""
    command = shutil.which("sta")
    if command is None:
        return None
    said = subprocess.run(
        [command, "-version"], stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    return " ".join(said.stdout.decode(errors="replace").split()) or "unknown"


def estimate(mapped: Mapped) -> Timing:
    """Return the timing known without OpenSTA: ABC's estimate for single modules."""
    worst = sorted(mapped.delays.items(), key=lambda item: (-item[1][0], item[0]))[:PATHS]
    paths = [
        TimedPath(module, module, delay_ps / 1000, levels, [module])
        for module, (delay_ps, levels) in worst
        if delay_ps
    ]
    by = "Yosys's own estimate (ABC): logic inside single modules, registers and wires not counted"
    return Timing(by, max((path.clock_ns for path in paths), default=0.0), paths, 0, None)


def time_design(
    mapped: Mapped, libraries: Libraries, period_ns: float, work: Path, most: int = TIMED_CELLS
) -> Timing:
    """Time a design with OpenSTA, register to register across its hierarchy.

    Ports count as registers without delay outside, memories as registers without delay inside.

    Parameters
    ----------
    mapped : Mapped
        The design.
    libraries : Libraries
        Its cells.
    period_ns : float
        Period that is asked for [ns]; paths that miss it come first.
    work : Path
        Folder for files in between.
    most : int
        Cells beyond which a few of equal instances stand for all.

    Raises
    ------
    InputError
        OpenSTA does not take the design or the library.
    """
    version = find_opensta()
    load_ff = max(libraries.nand2.inputs.values())
    verilog, names = plain_names(mapped.verilog, libraries.cells)
    modules = read_netlist(verilog, libraries)
    top = names.get(mapped.top, mapped.top)
    timed = representatives(modules, top, libraries, load_ff, most)
    memories = {one.kind: one for inside in mapped.memories.values() for one in inside}
    blocks = [*timed.blocks, *(memory_block(memory, load_ff) for memory in memories.values())]
    (work / "timed.v").write_text(timed.verilog, encoding="utf-8")
    (work / "blocks.lib").write_text(blocks_library(blocks), encoding="utf-8")
    files = [f"cells-{number}.lib" for number in range(len(libraries.files))]
    files += ["blocks.lib"] * bool(blocks)
    unit_ns = libraries.files[0].time_unit_s * 1e9
    period = min(max(period_ns, _SPAN_NS[0]), _SPAN_NS[1]) / unit_ns
    (work / "timing.tcl").write_text(_script(modules[top], files, period), encoding="utf-8")
    said = _run(work)
    for name, plain in names.items():
        said = said.replace(plain, name)
    reports = said.split("fred path\n")[1:]
    paths = [_path(text, period, unit_ns, libraries) for text in reports if _SLACK.search(text)]
    paths.sort(key=lambda path: -path.clock_ns)
    clock = max((path.clock_ns for path in paths), default=0.0)
    by = f"OpenSTA {version}, register to register through the hierarchy, without wires"
    if unclocked := _UNCLOCKED.search(said):
        by += f"; registers that no port clocks are not timed: {unclocked[1]}"
    return Timing(by, clock, paths, timed.cells, timed.kept)


def _run(work: Path) -> str:
    """Run the OpenSTA script in a folder, and return its output."""
    with (work / "timing.log").open("w", encoding="utf-8") as log:
        command = ["sta", "-exit", "-no_splash", "timing.tcl"]
        subprocess.run(
            command,
            cwd=work,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            check=False,
        )
    said = (work / "timing.log").read_text(encoding="utf-8", errors="replace")
    errors = _ERROR.findall(said)
    if errors or "\nfred end\n" not in f"\n{said}":
        # OpenSTA ends with status 0 after errors, too.
        reason = errors[0] if errors else (said.strip().splitlines() or ["no word"])[-1]
        raise InputError("OpenSTA", "", f"must take the mapped design, not end with: {reason}")
    return said


def _script(top: MappedModule, files: list[str], period: float) -> str:
    """Return the OpenSTA commands; ``period`` is in library units."""
    clocks = " ".join(sorted(top.clocks))
    ports = {
        direction: " ".join(
            port for port, (its, _) in top.ports.items() if its in (direction, "inout")
        )
        for direction in ("input", "output")
    }
    inputs = " ".join(port for port in ports["input"].split() if port not in top.clocks)
    delays = [
        f"set_{direction}_delay 0 -clock fred_clock [get_ports {{{names}}}]"
        for direction, names in (
            ("input", _bits(top, inputs)),
            ("output", _bits(top, ports["output"])),
        )
        if names
    ]
    return _SCRIPT.format(
        libraries="\n".join(f"read_liberty {file}" for file in files),
        top=top.name,
        period=f"{period:.9g}",
        clocks=f"[get_ports {{{clocks}}}]" if clocks else "",
        delays="\n".join(delays),
        paths=PATHS,
    )


def _bits(top: MappedModule, ports: str) -> str:
    """Return names for OpenSTA, with buses as patterns of their bits."""
    return " ".join(f"{port}[*]" if top.ports[port][1] > 1 else port for port in ports.split())


def _path(text: str, period: float, unit_ns: float, libraries: Libraries) -> TimedPath:
    """Return a path reported by OpenSTA, with a period in library units."""
    slack, edges = _SLACK.search(text), [float(time) for time in _EDGE.findall(text)]
    assert slack
    # Between a rising and a falling edge a path has only half of the period.
    share = (round(2 * (edges[-1] - edges[0]) / period) or 2) / 2 if len(edges) > 1 else 1.0
    needed = period - float(slack[1]) / share
    launch, _, _ = text.partition("data arrival time")
    pins = [(pin, cell) for _, pin, cell in _STAGE.findall(launch)]
    logic = [
        pin for pin, cell in pins if cell in libraries.cells and not libraries.cells[cell].register
    ]
    # The first pin of a register is its clock pin.
    start = pins[1] if len(pins) > 2 and logic[:1] != [pins[1][0]] else pins[0]
    through = [pin.rpartition("/")[0].rpartition("/")[0].replace("/", ".") for pin in logic]
    return TimedPath(
        start=_ours(start[0]),
        end=_ours(pins[-1][0]),
        clock_ns=max(0.0, round(needed * unit_ns, 6)),
        levels=len(logic),
        through=[one for n, one in enumerate(through) if one not in through[:n]],
    )


def _ours(pin: str) -> str:
    """Return the name of a register, memory or port, given the name of a pin."""
    found = _REGISTER.match(pin)
    if found:
        pin = found[1] + (f"[{found[2]}]" if found[2] else "")
    return pin.replace("/", ".")
