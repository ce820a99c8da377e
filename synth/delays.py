"""Delay tables of a cell library, for sizing."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from fred_hw.errors import InputError

from .boolean import truth_table
from .liberty import COMMENTS, EDGES, Cell, Libraries, Library

__all__ = [
    "Arc",
    "Check",
    "Floats",
    "Group",
    "Ints",
    "Table",
    "TimedCell",
    "cell_groups",
    "look_up",
    "read_delays",
    "read_table",
]

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]

_CELL = re.compile(r'\bcell\s*\(\s*"?([^"()]*?)"?\s*\)\s*\{')
_ITEM = re.compile(
    r"\b(?P<group>\w+)\s*\((?P<name>[^(){};]*)\)\s*\{"
    r"|\b(?P<list>\w+)\s*\((?P<values>[^(){}]*)\)"
    r'|\b(?P<key>\w+)\s*:\s*(?P<value>"[^"]*"|[^;{}\n]+)'
    r"|(?P<brace>[{}])"
)
_NUMBER = re.compile(r"[-+]?[\d.]+(?:[eE][-+]?\d+)?")
_SLEW = ("input_net_transition", "constrained_pin_transition", "input_transition_time")
_LOAD = ("total_output_net_capacitance",)
_CLOCK = ("related_pin_transition",)
_LAUNCHES = ("rising_edge", "falling_edge")
_SETUPS = ("setup_rising", "setup_falling")


@dataclass
class Group:
    """A Liberty group: its attributes, lists of numbers and subgroups."""

    kind: str
    name: str
    values: dict[str, str] = field(default_factory=dict)
    groups: list["Group"] = field(default_factory=list)

    def of(self, *kinds: str) -> Iterator["Group"]:
        return (group for group in self.groups if group.kind in kinds)


@dataclass(frozen=True)
class Table:
    """A value as a function of input slew and output load, in library units.

    Parameters
    ----------
    slews, loads : Floats
        Grid of the table, ascending, two or more of each; beyond it the function is extrapolated
        linearly.
    values : Floats
        A row for each slew.
    """

    slews: Floats
    loads: Floats
    values: Floats


@dataclass(frozen=True)
class Arc:
    """A timing arc from an input edge to an output edge: delay and output slew."""

    delay: Table
    slew: Table


@dataclass(frozen=True)
class Check:
    """A setup constraint: time by which an input edge must precede the clock edge."""

    setup: Table


@dataclass(frozen=True)
class TimedCell:
    """A cell with its timing tables.

    Parameters
    ----------
    name : str
        Name of the cell.
    pins : tuple of str
        Inputs, then outputs.
    function : tuple
        Equal for cells with the same function of pins with the same names.
    area_um2 : float
        Area from the library [um2].
    loads : dict of str to (rise, fall)
        Capacitance of each input, in units of the library.
    most : dict of str to float
        Largest load of each output, in units of the library; infinite if not given.
    arcs : dict of (input, edge, output, edge) to Arc
        Arcs of combinational cells, and from the clock to the outputs of registers.
    checks : dict of (input, edge) to Check
        Checks of registers.
    """

    name: str
    pins: tuple[str, ...]
    function: tuple[object, ...]
    area_um2: float
    loads: dict[str, tuple[float, float]]
    most: dict[str, float]
    arcs: dict[tuple[str, int, str, int], Arc]
    checks: dict[tuple[str, int], Check]

    @property
    def register(self) -> bool:
        """Whether the cell is a flip-flop or a latch."""
        return bool(self.function[0])


def read_delays(libraries: Libraries, wanted: Iterable[str]) -> dict[str, TimedCell]:
    """Return the named cells, and all cells that are exchangeable with them.

    Cells are exchangeable if they have pins of the same names with the same functions.

    Raises
    ------
    InputError
        A table of delays is invalid.
    """
    wanted = set(wanted)
    shapes = {_shape(libraries.cells[name]) for name in wanted}
    found: dict[str, TimedCell] = {}
    for library in libraries.files:
        tables = _tables(library.text)
        for name in tables.places:
            cell = library.cells.get(name)
            if cell and (name in wanted or (cell.usable and _shape(cell) in shapes)):
                try:
                    found[name] = tables.cell(libraries.cells[name])
                except ValueError:
                    message = "must have numbers in timing tables, one for each pair of indices"
                    raise InputError(str(library.path), f"cell {name}", message) from None
    return found


def cell_groups(
    library: Library, wanted: Iterable[str]
) -> Iterator[tuple[str, Group, Mapping[str, Group]]]:
    """Yield the named cells of a library: name, Liberty group, and all templates of tables."""
    tables = _tables(library.text)
    for name in wanted:
        if name in tables.places:
            yield name, *tables.group(name)


class _Tables:
    """Cells of a library, each parsed on first use."""

    def __init__(self, text: str) -> None:
        self._text = COMMENTS.sub("", text)
        self._templates = _templates(self._text)
        starts = list(_CELL.finditer(self._text))
        ends = [start.start() for start in starts[1:]] + [len(self._text)]
        self.places = {
            start[1]: (start.end(), end) for start, end in zip(starts, ends, strict=True)
        }
        """Start of each cell's contents, followed by their ends."""
        self._read: dict[str, tuple[Cell, TimedCell]] = {}

    def group(self, name: str) -> tuple[Group, Mapping[str, Group]]:
        """Return the Liberty group of a cell, and all templates."""
        return _read_group("cell", name, self._text, *self.places[name]), self._templates

    def cell(self, cell: Cell) -> TimedCell:
        """Return a cell with its timing tables."""
        before, timed = self._read.get(cell.name, (None, None))
        if timed is None or before != cell:
            timed = _cell(*self.group(cell.name), cell)
            self._read[cell.name] = cell, timed
        return timed


@lru_cache(maxsize=8)
def _tables(text: str) -> _Tables:
    """Return the cached cells of a library, which are requested again as designs change."""
    return _Tables(text)


def _shape(cell: Cell) -> tuple[object, ...]:
    """Return a key that is equal for exchangeable cells."""
    return cell.register, tuple(sorted(cell.inputs)), tuple(sorted(cell.outputs))


def _read_group(kind: str, name: str, text: str, start: int, end: int) -> Group:
    """Return the group whose contents start at ``start``."""
    top = Group(kind, name)
    stack = [top]
    for item in _ITEM.finditer(text, start, end):
        if item["group"]:
            group = Group(item["group"], item["name"].strip().strip('"'))
            stack[-1].groups.append(group)
            stack.append(group)
        elif item["list"]:
            stack[-1].values[item["list"]] = item["values"]
        elif item["key"]:
            stack[-1].values[item["key"]] = item["value"].strip().strip('"').strip()
        elif item["brace"] == "{":
            stack.append(Group("", ""))
        else:
            stack.pop()
            if not stack:
                break
    return top


def _templates(text: str) -> dict[str, Group]:
    """Return the table templates by name."""
    pattern = re.compile(r'\b(?:lu_table|power_lut)_template\s*\(\s*"?([^"()]*?)"?\s*\)\s*\{')
    return {
        found[1]: _read_group("", found[1], text, found.end(), text.find("}", found.end()) + 1)
        for found in pattern.finditer(text)
    }


def _cell(group: Group, templates: Mapping[str, Group], cell: Cell) -> TimedCell:
    loads: dict[str, tuple[float, float]] = {}
    most: dict[str, float] = {}
    arcs: dict[tuple[str, int, str, int], list[Arc]] = {}
    checks: dict[tuple[str, int], list[Check]] = {}
    for pin in group.of("pin"):
        if pin.name in cell.inputs:
            both = float(pin.values.get("capacitance", 0.0))
            loads[pin.name] = (
                float(pin.values.get("rise_capacitance", both)),
                float(pin.values.get("fall_capacitance", both)),
            )
        elif pin.name in cell.outputs:
            most[pin.name] = float(pin.values.get("max_capacitance", np.inf))
        for timing in pin.of("timing"):
            if pin.name in cell.outputs:
                _add_arcs(arcs, cell, pin.name, timing, templates)
            elif timing.values.get("timing_type") in _SETUPS:
                for edge, name in enumerate(EDGES):
                    for table in timing.of(f"{name}_constraint"):
                        check = Check(read_table(table, templates))
                        checks.setdefault((pin.name, edge), []).append(check)
    return TimedCell(
        name=cell.name,
        pins=(*sorted(cell.inputs), *sorted(cell.outputs)),
        function=_function(cell, group),
        area_um2=cell.area_um2,
        loads=loads,
        most=most,
        arcs={
            key: Arc(_worst([one.delay for one in many]), _worst([one.slew for one in many]))
            for key, many in arcs.items()
        },
        checks={key: Check(_worst([one.setup for one in many])) for key, many in checks.items()},
    )


def _function(cell: Cell, group: Group) -> tuple[object, ...]:
    """Return a key that distinguishes cells by function."""
    inputs, outputs = sorted(cell.inputs), sorted(cell.outputs)
    if not cell.register:
        tables = tuple(truth_table(cell.outputs[pin], inputs) for pin in outputs)
        if None in tables or any("three_state" in pin.values for pin in group.of("pin")):
            return (*_shape(cell), cell.name)  # equal to no other cell
        return (*_shape(cell), tables)
    states = [
        (one.kind, one.name.replace(" ", "").replace('"', ""), *sorted(_without_blanks(one.values)))
        for one in group.groups
        if one.kind in ("ff", "latch", "statetable", "ff_bank", "latch_bank")
    ]
    if any(kind not in ("ff", "latch") for kind, *_ in states):
        return (*_shape(cell), cell.name)
    functions = tuple("".join(cell.outputs[pin].split()) for pin in outputs)
    return (*_shape(cell), functions, tuple(states))


def _without_blanks(values: Mapping[str, str]) -> list[tuple[str, str]]:
    return [(key, "".join(value.split())) for key, value in values.items()]


def _add_arcs(
    arcs: dict[tuple[str, int, str, int], list[Arc]],
    cell: Cell,
    output: str,
    timing: Group,
    templates: Mapping[str, Group],
) -> None:
    """Add the arcs of a timing group that a path can use."""
    kind = timing.values.get("timing_type", "combinational")
    launch = kind in _LAUNCHES
    if cell.register != launch or not (launch or kind.startswith("combinational")):
        return
    sense = "non_unate" if launch else timing.values.get("timing_sense", "non_unate")
    tables = {one.kind: one for one in timing.groups}
    for pin in timing.values.get("related_pin", "").split():
        for to, name in enumerate(EDGES):
            if f"cell_{name}" not in tables or f"{name}_transition" not in tables:
                continue
            arc = Arc(
                read_table(tables[f"cell_{name}"], templates),
                read_table(tables[f"{name}_transition"], templates),
            )
            if launch:
                edges = [_LAUNCHES.index(kind)]
            else:
                edges = {"positive_unate": [to], "negative_unate": [1 - to]}.get(sense, [0, 1])
            for edge in edges:
                arcs.setdefault((pin, edge, output, to), []).append(arc)


def read_table(group: Group, templates: Mapping[str, Group]) -> Table:
    """Return a table with one, two or no variables."""
    numbers = [float(one) for one in _NUMBER.findall(group.values.get("values", ""))]
    template = templates.get(group.name)
    axes: dict[str, Floats] = {}
    order = []
    for place in (1, 2):
        variable = template.values.get(f"variable_{place}") if template else None
        if variable is None:
            continue
        given = group.values.get(f"index_{place}") or (
            template.values.get(f"index_{place}", "") if template else ""
        )
        role = "slew" if variable in _SLEW else "load" if variable in _LOAD else "clock"
        order.append(role)
        axes[role] = np.array([float(one) for one in _NUMBER.findall(given)])
    values = np.array(numbers).reshape([len(axes[role]) for role in order] or [1])
    if order == []:
        values, order = values.reshape(1, 1), ["slew", "load"]
    elif len(order) == 1:
        values, order = values[:, None], [*order, "load" if order[0] != "load" else "slew"]
    second = "clock" if "clock" in order else "load"
    if order[0] == second:
        values, order = values.T, order[::-1]
    slews, values = _two(axes.get("slew", np.zeros(1)), values)
    loads, turned = _two(axes.get(second, np.zeros(1)), values.T)
    table = Table(slews, loads, np.ascontiguousarray(turned.T))
    if second == "clock":  # clock edges are ideal
        column = look_up(table, table.slews[:, None], np.zeros(1))
        return Table(slews, np.array([0.0, 1.0]), np.repeat(column, 2, axis=1))
    return table


def _two(axis: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Return an axis with at least two points, and one row of values per point."""
    if len(axis) > 1:
        return axis, values
    return np.array([0.0, 1.0]), np.repeat(values, 2, axis=0)


def look_up(table: Table, slews: Floats, loads: Floats) -> Floats:
    """Return the values of a table at slews and loads, whose shapes are broadcast."""
    rows = np.clip(np.searchsorted(table.slews, slews) - 1, 0, len(table.slews) - 2)
    columns = np.clip(np.searchsorted(table.loads, loads) - 1, 0, len(table.loads) - 2)
    s = (slews - table.slews[rows]) / np.diff(table.slews)[rows]
    c = (loads - table.loads[columns]) / np.diff(table.loads)[columns]
    v = table.values
    low = v[rows, columns] * (1 - c) + v[rows, columns + 1] * c
    high = v[rows + 1, columns] * (1 - c) + v[rows + 1, columns + 1] * c
    return low * (1 - s) + high * s


def _worst(tables: list[Table]) -> Table:
    """Return the maximum of several tables, at the points of the first."""
    first = tables[0]
    slews, loads = first.slews[:, None], first.loads
    values = [first.values, *(look_up(one, slews, loads) for one in tables[1:])]
    return Table(first.slews, first.loads, np.maximum.reduce(values))
