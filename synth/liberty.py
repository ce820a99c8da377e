"""Reader of Liberty cell libraries, for mapping, areas and timing."""

import gzip
import hashlib
import io
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from functools import cached_property
from math import inf, nan
from pathlib import Path

from fred_hw.errors import InputError
from fred_hw.reading import read_bytes

from .boolean import truth_table

__all__ = ["COMMENTS", "EDGES", "MAX_BYTES", "Cell", "Libraries", "Library", "read_libraries"]

MAX_BYTES = 1 << 29
"""Largest size of a library, also after decompression; open libraries have about ten MB."""

EDGES = ("rise", "fall")
"""Edges of a signal, in the order of their numbers."""

NOT_LOGIC = ("*lpflow*", "*dly*", "*probe*", "*sparecell*")
"""Names of cells that have a function but are not meant for logic, such as delays and probes."""

# Patterns start at a word boundary and stop at the next bracket, so that time stays linear.
_TABLES = re.compile(r"\b(?:values|index_\d)\s*\([^()]*\)\s*;?")
COMMENTS = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_TOKEN = re.compile(
    r"\b(?P<group>\w+)\s*\((?P<name>[^(){};]*)\)\s*\{"
    r"|\b(?P<unit>capacitive_load_unit)\s*\((?P<units>[^()]*)\)"
    r'|\b(?P<key>\w+)\s*:\s*(?P<value>"[^"]*"|[^;{}\n]+)'
    r"|(?P<brace>[{}])"
)
_NAME = re.compile(r"\w[\w$.-]*", re.ASCII)
_UNIT = re.compile(r"(\d+\.?\d*|\.\d+)[\s,]*([A-Za-z]+)", re.ASCII)
_SECONDS = {"ps": 1e-12, "ns": 1e-9, "us": 1e-6, "fs": 1e-15}
_FARADS = {"ff": 1e-15, "pf": 1e-12}
_INVERTER = (True, False)
_NAND2 = (True, True, True, False)


@dataclass
class Cell:
    """A cell of a library.

    Parameters
    ----------
    name : str
        Name of the cell.
    area_um2 : float
        Area from the library [um2].
    inputs : dict of str to float
        Capacitance of each input pin [fF].
    outputs : dict of str to str
        Function of each output pin, empty without one.
    clocks : set of str
        Input pins that are clocks.
    register : bool
        Whether it is a flip-flop or a latch.
    usable : bool
        Whether logic may be mapped to it.
    state : dict of str to str
        State of a flip-flop: ``names`` of state and its inverse, ``next_state`` and ``clocked_on``.
    """

    name: str
    area_um2: float = 0.0
    inputs: dict[str, float] = field(default_factory=dict)
    outputs: dict[str, str] = field(default_factory=dict)
    clocks: set[str] = field(default_factory=set)
    register: bool = False
    usable: bool = True
    state: dict[str, str] = field(default_factory=dict)

    @property
    def is_gate(self) -> bool:
        """Whether logic can be mapped to the cell."""
        return self.usable and not self.register and any(self.outputs.values())

    def computes(self, table: tuple[bool, ...]) -> bool:
        """Return whether the cell's only output has this truth table of all inputs."""
        if self.register or len(self.outputs) != 1 or 1 << len(self.inputs) != len(table):
            return False
        (function,) = self.outputs.values()
        return truth_table(function, list(self.inputs)) == table

    @property
    def inverts(self) -> bool | None:
        """Return whether a plain flip-flop inverts its data; None for other cells."""
        data = [pin for pin in self.inputs if pin not in self.clocks]
        if not (self.usable and self.state and len(self.inputs) == 2 and len(data) == 1):
            return None
        next_state, names = _bare(self.state.get("next_state", "")), _bare(self.state["names"])
        if next_state.strip("!'") != data[0] or len(self.outputs) != 1:
            return None
        (function,) = self.outputs.values()
        if _bare(function) not in names.split(","):
            return None
        return (_bare(function) != names.split(",")[0]) != (next_state != data[0])


@dataclass(frozen=True)
class Library:
    """One file of cells: its text and its description."""

    path: Path
    name: str
    sha256: str
    text: str
    time_unit_s: float
    capacitance_unit_f: float
    cells: dict[str, Cell]


@dataclass(frozen=True)
class Libraries:
    """All cells that a design can be mapped to."""

    files: tuple[Library, ...]

    @property
    def label(self) -> str:
        """Name of the libraries in errors that concern all of them."""
        return ", ".join(str(library.path) for library in self.files)

    @cached_property
    def cells(self) -> dict[str, Cell]:
        """Every cell, keyed by name."""
        return {name: cell for library in self.files for name, cell in library.cells.items()}

    @cached_property
    def nand2(self) -> Cell:
        """The smallest two-input NAND, the unit of gate equivalents."""
        found = [cell for cell in self.cells.values() if cell.usable and cell.computes(_NAND2)]
        return min(found, key=lambda cell: (cell.area_um2, cell.name))

    @cached_property
    def driver(self) -> Cell | None:
        """The buffer that drives inputs: the second smallest, if there are two."""
        found = [c for c in self.cells.values() if c.usable and c.computes((False, True))]
        areas = sorted({cell.area_um2 for cell in found})
        if not areas:
            return None
        area = areas[min(1, len(areas) - 1)]
        return min((c for c in found if c.area_um2 == area), key=lambda cell: cell.name)

    @property
    def unusable(self) -> list[str]:
        """Names of cells that logic must not be mapped to."""
        return [name for name, cell in self.cells.items() if not cell.usable]

    @property
    def inverting_registers(self) -> dict[str, tuple[str, str]]:
        """Data and output pins of flip-flops with only an inverted output, by cell name."""
        return {
            name: (next(iter(cell.inputs.keys() - cell.clocks)), next(iter(cell.outputs)))
            for name, cell in self.cells.items()
            if cell.inverts
        }

    @property
    def dear_registers(self) -> list[str]:
        """Names of flip-flops that are larger than an inverted one plus an inverter."""
        inverter = min(
            cell.area_um2
            for cell in self.cells.values()
            if cell.usable and cell.computes(_INVERTER)
        )
        inverted: dict[str, float] = {}
        for cell in self.cells.values():
            if cell.inverts:
                edge = cell.state.get("clocked_on", "")
                inverted[edge] = min(cell.area_um2, inverted.get(edge, inf))
        return [
            name
            for name, cell in self.cells.items()
            if cell.inverts is False
            and cell.area_um2 > inverter + inverted.get(cell.state.get("clocked_on", ""), inf)
        ]


def read_libraries(paths: Sequence[Path]) -> Libraries:
    """Read cell libraries, which may be gzip-compressed.

    Raises
    ------
    InputError
        A file cannot be read, is no library, or together they lack a gate, a flip-flop or a unit.
    """
    libraries = Libraries(tuple(_read(path) for path in paths))
    first, *others = libraries.files
    for library in others:
        units = library.time_unit_s, library.capacitance_unit_f
        if units != (first.time_unit_s, first.capacitance_unit_f):
            message = f"must have the time and capacitance units of {first.path}, not others"
            raise InputError(str(library.path), "units", message)
    _check_apart(libraries.files)
    cells = libraries.cells.values()
    wanted = {
        "an inverter": any(cell.usable and cell.computes(_INVERTER) for cell in cells),
        "a NAND of two inputs": any(cell.usable and cell.computes(_NAND2) for cell in cells),
        "a flip-flop": any(cell.register and cell.clocks for cell in cells),
    }
    for what, there in wanted.items():
        if not there:
            message = f"must have {what}, not {len(cells)} cells without"
            raise InputError(libraries.label, "cell", message)
    if not libraries.nand2.area_um2:
        field = f"cell {libraries.nand2.name}: area"
        raise InputError(libraries.label, field, "must be above 0, as areas are counted in it")
    return libraries


def _check_apart(files: Sequence[Library]) -> None:
    """Fail if two files contain the same cell, as tools may use either."""
    homes: dict[str, Path] = {}
    for library in files:
        for name in library.cells:
            if name in homes:
                message = f"must be in one library, not also in {homes[name]}"
                raise InputError(str(library.path), f"cell {name}", message)
            homes[name] = library.path


def _read(path: Path) -> Library:
    data = read_bytes(path, MAX_BYTES)
    try:
        text = (_unpacked(path, data) if data[:2] == b"\x1f\x8b" else data).decode("utf-8-sig")
    except (OSError, EOFError, zlib.error, UnicodeDecodeError):
        text = "\0"
    if "\0" in text:
        message = "must be a Liberty file, as text or compressed by gzip, not binary data"
        raise InputError(str(path), "", message)
    try:
        return _parse(text, path, hashlib.sha256(data).hexdigest())
    except ValueError as error:
        raise InputError(str(path), "", str(error)) from None


def _unpacked(path: Path, data: bytes) -> bytes:
    """Return decompressed gzip data; fail above the size limit."""
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
        text = file.read(MAX_BYTES + 1)
    if len(text) > MAX_BYTES:
        message = f"must hold at most {MAX_BYTES:,} bytes compressed by gzip, not more"
        raise InputError(str(path), "", message)
    return text


def _parse(text: str, path: Path, sha256: str) -> Library:
    stack: list[str] = []
    cells: dict[str, Cell] = {}
    name, cell, pin = "", Cell(""), ""
    time_s, capacitance_f = 1e-9, 1e-12
    for found in _TOKEN.finditer(_TABLES.sub("", COMMENTS.sub("", text))):
        if found["group"]:
            stack.append(found["group"])
            given = found["name"].strip().strip('"')
            if stack == ["library"]:
                name = given
            elif stack == ["library", "cell"]:
                cell = cells[given] = _new_cell(given, cells)
            elif stack == ["library", "cell", "pin"]:
                pin = given
            elif stack in (["library", "cell", "ff"], ["library", "cell", "latch"]):
                cell.register = True
                if stack[2] == "ff":
                    cell.state["names"] = given
        elif found["brace"] == "}":
            del stack[-1:]
        elif found["brace"]:
            stack.append("")
        elif found["unit"]:
            capacitance_f = _unit("capacitive_load_unit", found["units"], _FARADS)
        elif stack == ["library"] and found["key"] == "time_unit":
            time_s = _unit("time_unit", found["value"], _SECONDS)
        elif stack[:2] == ["library", "cell"] and len(stack) <= 3:
            value = found["value"].strip().strip('"')
            _attribute(cell, pin if stack[2:] == ["pin"] else "", stack, found["key"], value)
    if not cells:
        raise ValueError("library: must be a Liberty file with cells, not one without")
    if stack:
        raise ValueError("library: must end with its last }, not be cut short")
    farads = capacitance_f * 1e15
    for cell in cells.values():
        cell.inputs = {pin: value * farads for pin, value in cell.inputs.items()}
    return Library(path, name, sha256, text, time_s, capacitance_f, cells)


def _attribute(cell: Cell, pin: str, stack: list[str], key: str, value: str) -> None:
    """Store an attribute of a cell or of one of its pins."""
    if len(stack) == 2:
        if key == "area":
            cell.area_um2 = _number(f"cell {cell.name}: area", value)
        elif key in ("dont_use", "is_isolation_cell", "is_level_shifter") and value == "true":
            cell.usable = False
    elif stack[2] == "ff" and key in ("next_state", "clocked_on"):
        cell.state[key] = value
    elif pin and key == "direction":
        if value == "input":
            cell.inputs.setdefault(pin, 0.0)
        elif value == "output":
            cell.outputs.setdefault(pin, "")
            cell.inputs.pop(pin, None)
    elif pin and key == "capacitance" and pin not in cell.outputs:
        cell.inputs[pin] = _number(f"cell {cell.name}: pin {pin}: capacitance", value)
    elif pin and key == "function":
        cell.outputs[pin] = value
    elif pin and key == "clock" and value == "true":
        cell.clocks.add(pin)


def _new_cell(name: str, others: Mapping[str, Cell]) -> Cell:
    # Names become part of tool commands.
    if not _NAME.fullmatch(name):
        raise ValueError(f"cell: must have a name of letters, digits, _, $, . and -, not {name!r}")
    if name in others:
        raise ValueError(f"cell {name}: must occur once, not again")
    return Cell(name, usable=not any(fnmatch(name, pattern) for pattern in NOT_LOGIC))


def _bare(text: str) -> str:
    """Return a function without the parts that Yosys ignores in a function of one name."""
    return re.sub(r"[\s()\"]", "", text)


def _number(what: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = nan
    if not 0 <= value < inf:
        raise ValueError(f"{what}: must be a number of 0 or more, not {text!r}")
    return value


def _unit(what: str, text: str, units: Mapping[str, float]) -> float:
    found = _UNIT.fullmatch(text.replace('"', "").strip())
    value = float(found[1]) * units.get(found[2].lower(), 0.0) if found else 0.0
    if not 0 < value < inf:
        known = ", ".join(units)
        raise ValueError(f"{what}: must be a number above 0 with one of {known}, not {text}")
    return value
