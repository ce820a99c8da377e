"""Counts of Verilator's coverage: its file format, and the module and name of each count."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = ["KINDS", "POINT", "Place", "module_starts", "read_counts"]

KINDS = ("line", "branch", "toggle")
"""Kinds of code coverage."""

POINT = "user"
"""Kind of cover points."""

_LINE = re.compile(r"^C '(?P<key>.*)' (?P<count>\d+)$")


@dataclass(frozen=True, order=True)
class Place:
    """What is counted.

    Parameters
    ----------
    kind : str
        One of ``KINDS``, or ``POINT``.
    module : str
        Name of the module.
    line : int
        Line of the module that begins it, 1 for the first; 0 for cover points.
    name : str
        Column and part of the line; the net and the direction that toggles; the cover point.
    """

    kind: str
    module: str
    line: int
    name: str


def module_starts(verilog: str) -> dict[str, int]:
    """Return the first line of each module, counted from 1."""
    lines = enumerate(verilog.splitlines(), start=1)
    return {line.split("(")[0].split()[1]: k for k, line in lines if line.startswith("module ")}


def read_counts(
    path: Path, starts: Mapping[str, int], *, only_reached: bool = False
) -> Counter[Place]:
    """Return how often each place was reached; those of all instances of a module are added up.

    Parameters
    ----------
    path : Path
        File that a simulation wrote, a line for each count. Fields are separated by byte 1, and the
        one-letter name of a field from its value by byte 2.
    starts : mapping of str to int
        First lines of the modules.
    only_reached : bool
        Leave out what was never reached, which is faster.

    Raises
    ------
    ValueError
        A line is none of this format.
    """
    counts: Counter[Place] = Counter()
    _, *lines = path.read_text(encoding="utf-8").splitlines()
    for line in lines:
        if only_reached and line.endswith(" 0"):
            continue
        found = _LINE.match(line)
        if not found:
            raise ValueError(f"{path}: must hold counts of Verilator, not {line!r}")
        fields = dict(one.split("\2", 1) for one in found["key"].split("\1") if one)
        kind, _, module = fields["page"].removeprefix("v_").partition("/")
        if module not in starts and kind != POINT:
            continue  # the top module that Verilator adds
        name, at = fields["o"], 0
        if kind != POINT:
            at = int(fields["l"]) - starts[module] + 1
            name = name if kind == "toggle" else f"{fields['n']} {name}"
        counts[Place(kind, module, at, name)] += int(found["count"])
    return counts
