"""Netlists that `fred sim` simulates."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fred_hw.choices import not_one_of
from fred_hw.errors import InputError

from .cell_options import read_cells

if TYPE_CHECKING:
    from testbench.sim.kept import Written

__all__ = ["NETLISTS", "netlist_maker"]

NETLISTS = ("generic", "mapped")
"""Netlists that are synthesized: of Yosys' own gates, and of cells of a library."""


def netlist_maker(netlist: str, liberty: Sequence[Path], label: str) -> "Callable[[Written], str]":
    """Return a function that gives the netlist of a design, with models of its cells.

    Parameters
    ----------
    netlist : str
        One of ``NETLISTS``, or a file.
    liberty : sequence of Path
        Cell libraries, except for "generic".
    label : str
        Source of the design to be named in errors.

    Raises
    ------
    InputError
        Libraries are missing, needless or refused; or the file cannot be read.
    """
    path = Path(netlist)
    if netlist not in NETLISTS and not path.exists():
        raise InputError("--netlist", "", not_one_of(netlist, (*NETLISTS, "a file that exists")))
    if netlist == "generic" and liberty:
        raise InputError("--liberty", "", "must be left out with --netlist generic")
    if netlist != "generic" and not liberty:
        raise InputError("--liberty", "", f"must be given with --netlist {netlist}")
    from synth.cell_models import gates_of, mapped_gates, memories_of, simulatable
    from synth.synthesis import Source

    def source(design: "Written") -> Source:
        return Source(design.name, design.verilog, label, {})

    if netlist == "generic":
        return lambda design: gates_of(source(design))
    libraries = read_cells(liberty)
    if netlist == "mapped":
        return lambda design: mapped_gates(source(design), libraries)
    from fred_hw.reading import read_text
    from synth.liberty import MAX_BYTES
    from synth.netlist_ports import netlist_of

    text = read_text(path, MAX_BYTES)

    def from_file(design: "Written") -> str:
        whole = netlist_of(text, path, design.name, design.verilog)
        return simulatable(whole, memories_of(source(design)), libraries)

    return from_file
