"""Cover points: conditions on the names of a unit's module, as SystemVerilog bound to it."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fred_hw.unit import Unit

__all__ = ["Points", "points_of", "text_of", "watches"]


@dataclass(frozen=True)
class Points:
    """Cover points of a unit.

    Parameters
    ----------
    conditions : mapping of str to str
        For each point an expression of SystemVerilog on names that the source of the unit gives:
        ports, named signals, and those of ``body``. It is checked at rising clock edges.
    body : tuple of str
        Declarations and logic of the watching module.
    """

    conditions: Mapping[str, str]
    body: tuple[str, ...] = field(default=())


Watch = Callable[[Any], Points]
_WATCHES: dict[type[Unit], Watch] = {}


def watches(*units: type[Unit]) -> Callable[[Watch], Watch]:
    """Return a decorator that registers a function from a unit of a class to its points."""

    def register(watch: Watch) -> Watch:
        _WATCHES.update(dict.fromkeys(units, watch))
        return watch

    return register


def points_of(unit: Unit) -> Points | None:
    """Return the points of a unit; None if it has none."""
    watch = next((_WATCHES[one] for one in type(unit).__mro__ if one in _WATCHES), None)
    return watch(unit) if watch else None


def text_of(units: Mapping[str, Unit], verilog: str) -> str:
    """Return modules that watch the modules of units, and binds them.

    Parameters
    ----------
    units : mapping of str to Unit
        Units by the name of their module.
    verilog : str
        The modules.

    Raises
    ------
    KeyError
        A point uses a name that its module does not have.
    """
    parts: list[str] = []
    for name, unit in units.items():
        points = points_of(unit)
        if points is not None:
            parts += _watcher(name, points, _nets(verilog, name), unit)
    return "\n".join(parts)


def _watcher(name: str, points: Points, nets: Mapping[str, str], unit: Unit) -> list[str]:
    """Return the lines of a module that watches another."""
    text = "\n".join([*points.body, *points.conditions.values()])
    declared = set(re.findall(r"\blogic (?:\[[^]]*\] )?(\w+)", text))
    used = set(re.findall(r"(?<![\w'.])[a-z]\w*", text)) - declared - _KEYWORDS
    if missing := used - nets.keys():
        raise KeyError(f"points of {name} need {sorted(missing)}, which the module does not have")
    clocks = ["clk", *(["rst"] if unit.resettable else [])]
    ports = sorted({*used, *clocks})
    guard = "disable iff (rst) " if unit.resettable else ""
    return [
        f"module {name}_points({', '.join(ports)});",
        *(f"  input {nets[port]}{port};" for port in ports),
        *(f"  {line}" for line in points.body),
        *(
            f"  {point}: cover property (@(posedge clk) {guard}{condition});"
            for point, condition in points.conditions.items()
        ),
        "endmodule",
        f"bind {name} {name}_points points (.*);",
    ]


_KEYWORDS = {"logic", "assign", "always", "posedge", "if", "else", "past"}


def _nets(verilog: str, name: str) -> dict[str, str]:
    """Return the range of each net of a module; empty for one bit."""
    begin = verilog.index(f"\nmodule {name}(")
    body = verilog[begin : verilog.index("\nendmodule", begin)]
    found = re.finditer(r"^  (?:wire|reg) (\[\d+:0\] )?(\w+)(?: = .*)?;", body, re.MULTILINE)
    return {one[2]: one[1] or "" for one in found}
