"""Verilog that simulates a synthesized design: its gates, and models of its cells and memories.

Yosys writes the models, which have no delays. Cells have the functions of their library. Flip-flops
and memories without contents are undefined until they are written. ``synth.gate_level`` reads the
same netlist for power, since a simulator takes too long (decision 0105).
"""

import re
from collections.abc import Iterable
from typing import Any

from .liberty import Libraries
from .mapping import MapOptions, find_yosys, map_design
from .process import running, work_folder
from .synthesis import Source

__all__ = ["gates_of", "mapped_gates", "memories_of", "simulatable"]

_NAME = re.compile(r"[\w$][\w$.-]*", re.ASCII)


def simulatable(netlist: str, memories: Iterable[str], libraries: Libraries) -> str:
    """Return a netlist and the models of its cells and memories.

    Parameters
    ----------
    netlist : str
        Verilog whose modules have cells of the libraries and black boxes of memories.
    memories : iterable of str
        Models of memories; equal ones are written once.
    libraries : Libraries
        The cells.

    Raises
    ------
    InputError
        Yosys is not installed, or refuses a library.
    """
    find_yosys()
    files = {f"cells-{k}.lib": one.text for k, one in enumerate(libraries.files)}
    used = sorted(libraries.cells.keys() & set(_NAME.findall(netlist)))
    with work_folder() as work:
        for name, text in files.items():
            (work / name).write_text(text, encoding="utf-8")
        with running(work / "yosys.log", libraries.label) as worker:
            cells = worker.do("models", libraries=list(files), cells=used)
    return "\n".join([netlist, cells, *dict.fromkeys(memories)])


def mapped_gates(source: Source, libraries: Libraries) -> str:
    """Return a design that is mapped with effort ``area``, and the models of what it contains.

    Raises
    ------
    InputError
        Yosys is not installed, or refuses the Verilog or a library.
    """
    with work_folder() as work:
        options = MapOptions("area", source.label)
        mapped = map_design(source.verilog, source.name, libraries, work, options)
    memories = (one.verilog for inside in mapped.memories.values() for one in inside)
    return simulatable(mapped.verilog, memories, libraries)


def gates_of(source: Source) -> str:
    """Return a design that Yosys has mapped to its own gates.

    Raises
    ------
    InputError
        Yosys is not installed, or refuses the Verilog.
    """
    return _read(source, "gates")


def memories_of(source: Source) -> list[str]:
    """Return the models of a design's memories, under the names of their black boxes.

    Raises
    ------
    InputError
        Yosys is not installed, or refuses the Verilog.
    """
    return _read(source, "memories")


def _read(source: Source, job: str) -> Any:
    """Return the result of a job on a whole design."""
    find_yosys()
    with work_folder() as work:
        (work / "design.v").write_text(source.verilog, encoding="utf-8")
        with running(work / "yosys.log", source.label) as worker:
            worker.do("read", verilog="design.v", top=source.name, flat=False)
            return worker.do(job)
