"""The whole flow: from a specification or Verilog to area and clock."""

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fred_hw.errors import InputError
from fred_hw.files import FileModel
from gen.design import generate
from gen.level import LEVELS

from .area import Area, areas
from .includes import with_includes
from .liberty import MAX_BYTES, Libraries
from .mapping import MapOptions, Mapped, find_yosys, map_again, map_design
from .netlist import read_netlist
from .process import work_folder
from .sizing import size_design
from .timing import Timing, estimate, find_opensta, time_design

__all__ = ["Sizing", "Source", "Synthesis", "from_spec", "from_verilog", "synthesize"]

_PRICES = tuple(0.3 * 1.5**step for step in range(12))
"""Prices of area to try with effort ``clock``, as relative clock per relative area."""

_NAME = re.compile(r"[A-Za-z_][\w$]*", re.ASCII)


@dataclass(frozen=True)
class Source:
    """The design to synthesize.

    Parameters
    ----------
    name, verilog : str
        Top module, and the text of all.
    label : str
        Source to be named in errors.
    units : Mapping of str to str
        Class of this package from which each module was generated; empty for imported Verilog.
    """

    name: str
    verilog: str
    label: str
    units: Mapping[str, str]


@dataclass(frozen=True)
class Sizing:
    """Summary of sizing the whole design.

    Parameters
    ----------
    by : str
        The sized part, or the reason why nothing was sized.
    cells_resized, buffers_added : int
        Cells whose size differs from that in the mapped modules, and inserted buffers, in all
        instances.
    restructured : list of str
        Modules that were mapped with another structure because of the longest paths.
    clock_before_ns, area_before_um2 : float
        Shortest clock [ns] and area [um2] before.
    """

    by: str
    cells_resized: int
    buffers_added: int
    restructured: list[str]
    clock_before_ns: float
    area_before_um2: float


@dataclass(frozen=True)
class Synthesis:
    """The result of synthesis.

    Parameters
    ----------
    name : str
        Top module.
    effort : str
        Effort of mapping.
    libraries : Libraries
        Cell libraries.
    target_ns : float
        Requested clock period [ns].
    area : Area
        Areas.
    timing : Timing
        Shortest clock, and the worst paths.
    sizing : Sizing
        Changes by the sizing of the whole design after mapping.
    verilog : str
        The mapped modules.
    tools : dict of str to str
        Versions of the tools.
    verilog_sha256 : str
        Hash of the Verilog before mapping.
    mapped : Mapped
        The mapped modules and their memories.
    """

    name: str
    effort: str
    libraries: Libraries
    target_ns: float
    area: Area
    timing: Timing
    sizing: Sizing
    verilog: str
    tools: dict[str, str]
    verilog_sha256: str
    mapped: Mapped

    @property
    def provenance(self) -> str:
        """Origin of the clock figure, as one line."""
        files = ", ".join(f"{one.name} (sha256 {one.sha256})" for one in self.libraries.files)
        tools = ", ".join(f"{tool} {version}" for tool, version in self.tools.items())
        return (
            f"synthesized: {self.name}, effort {self.effort}, sizing {self.sizing.by}, "
            f"library {files}; {tools}; {self.timing.by}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        nand2, area, timing = self.libraries.nand2, self.area, self.timing
        return {
            "name": self.name,
            "effort": self.effort,
            "target_clock_ns": self.target_ns,
            "clock_ns": timing.clock_ns,
            "met": timing.clock_ns <= self.target_ns,
            "clock_by": timing.by,
            "timed_cells": timing.cells,
            "timed_equal_instances": timing.kept,
            "sizing": asdict(self.sizing),
            "area_um2": area.area_um2,
            "gate_equivalents": area.area_um2 / nand2.area_um2,
            "gate": {"cell": nand2.name, "area_um2": nand2.area_um2},
            "cells": area.cells,
            "flip_flops": area.flip_flops,
            "memory_bits": area.memory_bits,
            "classes": area.classes,
            "units": area.units,
            "paths": timing.paths,
            "provenance": {
                "libraries": [
                    {"file": str(one.path), "library": one.name, "sha256": one.sha256}
                    for one in self.libraries.files
                ],
                "tools": self.tools,
                "verilog_sha256": self.verilog_sha256,
            },
        }


def from_spec(spec: FileModel, level: str, label: str) -> Source:
    """Return a level of a specification as a source."""
    LEVELS[level].check(spec, label)
    design = generate(spec, level=level)
    return Source(design.name, design.verilog, label, design.units)


def from_verilog(path: Path, top: str) -> Source:
    """Return a Verilog file as a source.

    Raises
    ------
    InputError
        It cannot be read, or the name of the top module needs an escape.
    """
    if not _NAME.fullmatch(top):
        message = f"must be a name of letters, digits, _ and $, not {top!r}"
        raise InputError("--top", "", message)
    return Source(top, with_includes(path, MAX_BYTES), str(path), {})


def synthesize(
    source: Source,
    libraries: Libraries,
    *,
    clock_ns: float,
    effort: str = "speed",
    flat: bool = False,
    sizing: bool = True,
    progress: Callable[[str], None] = lambda text: None,
) -> Synthesis:
    """Map a source to cells, and determine its area and shortest clock period.

    Parameters
    ----------
    source : Source
        Design to synthesize.
    libraries : Libraries
        The cells.
    clock_ns : float
        Requested clock period [ns].
    effort : str
        One of ``EFFORTS``.
    flat : bool
        Whether to flatten all modules into the top one first.
    sizing : bool
        Whether to size the whole design with efforts ``speed`` and ``clock``; needs OpenSTA.
    progress : Callable
        Called with a description of each finished step.

    Raises
    ------
    InputError
        The Verilog is refused, or Yosys is not installed.
    """
    opensta = find_opensta()
    tools = {"Yosys": find_yosys()} | ({"OpenSTA": opensta} if opensta else {})
    with work_folder() as work:
        how = MapOptions(effort, source.label, flat, progress)
        mapped = map_design(source.verilog, source.name, libraries, work, how)
        area = areas(read_netlist(mapped.verilog, libraries), mapped, libraries, source.units)
        progress("timing the whole design")
        timing = time_design(mapped, libraries, clock_ns, work) if opensta else estimate(mapped)
        why = _no_sizing(sizing, effort, opensta, timing, clock_ns)
        done = Sizing(why, 0, 0, [], timing.clock_ns, area.area_um2)
        if not why:
            sizer = _Sizer(source, libraries, clock_ns, work, flat, progress, effort)
            mapped, area, timing, done = sizer.best(mapped, area, timing)
    return Synthesis(
        name=source.name,
        effort=effort,
        libraries=libraries,
        target_ns=clock_ns,
        area=area,
        timing=timing,
        sizing=done,
        verilog=mapped.verilog,
        tools=tools,
        verilog_sha256=hashlib.sha256(source.verilog.encode()).hexdigest(),
        mapped=mapped,
    )


def _no_sizing(
    sizing: bool, effort: str, opensta: str | None, timing: Timing, clock_ns: float
) -> str:
    """Return why the whole design is not sized; empty if it is."""
    if effort == "area":
        return f"off, with effort {effort}"
    if not sizing:
        return "off"
    if not opensta:
        return "off, without OpenSTA"
    if not timing.clock_ns:
        return "off, without any path"
    met = effort == "clock" and timing.clock_ns <= clock_ns
    return "off, as the clock is met without" if met else ""


_Made = tuple[Mapped, Area, Timing, Sizing]


@dataclass(frozen=True)
class _Sizer:
    """Common inputs of all sizing steps."""

    source: Source
    libraries: Libraries
    clock_ns: float
    work: Path
    flat: bool
    progress: Callable[[str], None]
    effort: str

    def best(self, mapped: Mapped, area: Area, timing: Timing) -> _Made:
        """Return a design sized according to its effort."""
        size = self.fitted if self.effort == "clock" else self.sized
        return size(mapped, area, timing)

    def fitted(self, mapped: Mapped, area: Area, timing: Timing) -> _Made:
        """Return the smallest design that reaches the requested clock, else the fastest.

        The area that a faster clock is worth is bisected: a higher price of area gives a smaller
        and slower design.
        """
        found: list[_Made] = []
        low, high = 0, len(_PRICES)
        while low < high:
            middle = (low + high) // 2
            self.progress(f"sizing with area worth {_PRICES[middle]:.3g} of the clock")
            found.append(self.sized(mapped, area, timing, _PRICES[middle]))
            if self._meets(found[-1]):
                low = middle + 1
            else:
                high = middle
        if not any(self._meets(one) for one in found):
            options = MapOptions("speed", self.source.label, self.flat, self.progress)
            again = map_design(
                self.source.verilog, self.source.name, self.libraries, self.work, options
            )
            found.append(self.sized(again, *self.measured(again)))
        return min(found, key=lambda one: (max(one[2].clock_ns, self.clock_ns), one[1].area_um2))

    def _meets(self, made: _Made) -> bool:
        return made[2].clock_ns <= self.clock_ns

    def measured(self, mapped: Mapped) -> tuple[Area, Timing]:
        modules = read_netlist(mapped.verilog, self.libraries)
        area = areas(modules, mapped, self.libraries, self.source.units)
        return area, time_design(mapped, self.libraries, self.clock_ns, self.work)

    def sized(
        self, mapped: Mapped, area: Area, timing: Timing, price: float | None = None
    ) -> _Made:
        """Return the sized design, if OpenSTA confirms a shorter clock period."""
        self.progress("sizing the whole design")
        result = size_design(
            mapped,
            self.libraries,
            again=lambda name: map_again(
                name, self.libraries, self.work, self.source.label, carries=self.effort == "clock"
            ),
            progress=self.progress,
            price=price,
            enough_ns=self.clock_ns if self.effort == "clock" else 0.0,
        )
        self.progress("timing the whole design")
        after = time_design(result.mapped, self.libraries, self.clock_ns, self.work)
        before = timing.clock_ns, area.area_um2
        if after.clock_ns >= timing.clock_ns:
            none = Sizing("of the whole design gains nothing", 0, 0, [], *before)
            return mapped, area, timing, none
        modules = read_netlist(result.mapped.verilog, self.libraries)
        done = Sizing(
            "of the whole design", result.resized, result.buffers, result.restructured, *before
        )
        return (
            result.mapped,
            areas(modules, result.mapped, self.libraries, self.source.units),
            after,
            done,
        )
