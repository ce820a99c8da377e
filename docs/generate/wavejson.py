"""WaveJSON of what was recorded cycle by cycle."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from testbench.simulated_switch import Rows, Value

__all__ = ["Trace"]

Place = tuple[str, str, int]
"""Group, name and cycle: where an arrow starts or ends."""


@dataclass
class Trace:
    """What the rows showed, cycle by cycle, by group and name."""

    rows: Rows

    def first(self, group: str, name: str, *values: Value) -> int:
        """Return the first cycle in which a row showed one of the values, or any label."""
        row = self.rows[group][name]
        return next(k for k, v in enumerate(row) if (v in values if values else v is not None))

    def wave(
        self, title: str, arrows: Sequence[tuple[Place, Place]] = (), scale: int = 1
    ) -> dict[str, Any]:
        """Return WaveJSON; ``scale`` widens the cycles."""
        letters = iter("ABCDEFGHIJKLMNOPQRSTUVWXYZ")  # capitals are not drawn
        named = {place: next(letters) for arrow in arrows for place in arrow}
        edges = [f"{named[start]}~>{named[end]}" for start, end in arrows]
        nodes: dict[tuple[str, str], dict[int, str]] = {}
        for (group, name, cycle), letter in named.items():
            nodes.setdefault((group, name), {})[cycle] = letter
        signal: list[Any] = [{"name": "clk", "wave": "p" + "." * (self.cycles - 1)}]
        for group, rows in self.rows.items():
            drawn = [lane(name, values, nodes.get((group, name))) for name, values in rows.items()]
            signal += [[group, *drawn]]
        found = {"signal": signal, "head": {"text": title, "tock": 0}, "config": {"hscale": scale}}
        return {**found, "edge": edges} if edges else found

    @property
    def cycles(self) -> int:
        return len(next(iter(next(iter(self.rows.values())).values())))


def lane(name: str, values: Sequence[Value], nodes: dict[int, str] | None) -> dict[str, Any]:
    """Return a row of WaveJSON: bits as levels, labels as boxes, nothing as a line."""
    wave, data, before = "", [], object()
    for value in values:
        if value == "" or (value == before and not isinstance(value, str)):
            wave += "."
        elif value is None:
            wave += "z"
        elif isinstance(value, int):
            wave += str(value)
        else:
            colour, _, label = value.rpartition("|")
            wave += colour or "="
            data.append(label)
        before = value
    found: dict[str, Any] = {"name": name, "wave": wave}
    if data:
        found["data"] = data
    if nodes:
        found["node"] = "".join(nodes.get(k, ".") for k in range(len(values)))
    return found
