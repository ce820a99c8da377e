"""GOAL schedules (LogGOPSim, ATLAHS): reading, writing and conversion to traces.

A schedule is ``num_ranks N`` and for each rank ``rank R { ... }`` with a line for each operation
and dependency::

    a: send 1024b to 1 tag 3 cpu 0 nic 0
    b: recv 1024b from 1 tag 3
    c: calc 100
    b requires a
    c irequires b
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Literal

from fred_hw.errors import InputError
from fred_hw.progress import count, track
from fred_hw.reading import read_text

from .kinds import NodeType
from .node import DURATION_NS, Attr, Node, integers

__all__ = ["MAX_BYTES", "MAX_RANKS", "Goal", "Operation", "goal_text", "read_goal", "to_traces"]

MAX_BYTES = 1 << 28
"""Largest size of a text [B]."""

MAX_RANKS = 65_536
"""Largest number of ranks of a schedule."""

MAX_BEGINS = 1 << 22
"""Largest number of dependencies of a rank that result from ``irequires`` in a trace."""

_COUNTED = 1024
"""Number of lines between two progress reports."""

_MOST = (1 << 53) - 1
_LABEL = r"[A-Za-z_]\w*"
_RANKS = re.compile(r"num_ranks\s+(\d{1,9})", re.ASCII)
_BEGIN = re.compile(r"rank\s+(\d{1,9})\s*\{", re.ASCII)
_NUMBERS = r"(?P<more>(?:\s+(?:tag|cpu|nic)\s+\d{1,15})*)"
_SEND_RECV = re.compile(
    rf"(?:(?P<label>{_LABEL})\s*:\s*)?(?P<kind>send|recv)\s+(?P<size>\d{{1,15}})b"
    rf"\s+(?P<way>to|from)\s+(?P<peer>\d{{1,9}}){_NUMBERS}",
    re.ASCII,
)
_CALC = re.compile(
    rf"(?:(?P<label>{_LABEL})\s*:\s*)?(?P<kind>calc)\s+(?P<size>\d{{1,15}}){_NUMBERS}", re.ASCII
)
_DEPENDS = re.compile(rf"({_LABEL})\s+(requires|irequires)\s+({_LABEL})", re.ASCII)
_WAYS = {"send": "to", "recv": "from"}


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation of a rank.

    Parameters
    ----------
    label : str
        Its name, local to the rank.
    kind : str
        ``send``, ``recv`` or ``calc``.
    size : int
        Bytes of a message [B], or time of a ``calc`` [ns].
    peer : int
        Rank at the other end of a message.
    tag, cpu, nic : int
        Matching key of a receive besides the rank, the processor and the network interface.
    requires, irequires : tuple of int
        Indices in the rank of operations that must have ended, and must have started, before this
        one starts.
    """

    label: str
    kind: Literal["send", "recv", "calc"]
    size: int
    peer: int = 0
    tag: int = 0
    cpu: int = 0
    nic: int = 0
    requires: tuple[int, ...] = ()
    irequires: tuple[int, ...] = ()


Goal = tuple[tuple[Operation, ...], ...]
"""A schedule: the operations of each rank."""


def read_goal(path: str | Path) -> Goal:
    """Return the schedule of a GOAL text.

    Raises
    ------
    InputError
        The file is unreadable or no such text; names the line.
    """
    path = Path(path)
    lines = _Lines(read_text(path, MAX_BYTES), str(path))
    count = lines.number(_RANKS, "num_ranks and a number")
    if not 1 <= count <= MAX_RANKS:
        raise lines.bad(f"must be num_ranks from 1 to {MAX_RANKS:,}, not {count:,}")
    ranks: dict[int, tuple[Operation, ...]] = {}
    while lines.next():
        number = lines.match(_BEGIN, "rank, its number and {")
        if number >= count or number in ranks:
            given = "one twice" if number in ranks else f"{number:,}"
            raise lines.bad(f"must be a rank from 0 to {count - 1:,}, not {given}")
        ranks[number] = _rank(lines, count)
    if len(ranks) < count:
        missing = next(one for one in range(count) if one not in ranks)
        raise InputError(
            str(path), f"rank {missing}", "must be in the file, as num_ranks counts it"
        )
    return tuple(ranks[number] for number in range(count))


class _Lines:
    """The non-empty lines of a text, one at a time."""

    def __init__(self, text: str, source: str) -> None:
        lines = text.split("\n")
        self._lines, self._count = enumerate(lines, 1), len(lines)
        self._source = source
        self.place, self.text = 0, ""

    def next(self) -> bool:
        """Go to the next line; return whether there is one."""
        for place, line in self._lines:
            self.place = place
            if not place % _COUNTED:
                count("lines", place, self._count)
            self.text = line.strip()
            if self.text:
                return True
        self.text = ""
        return False

    def number(self, pattern: re.Pattern[str], what: str) -> int:
        """Return the number in the next line, which must match a pattern."""
        self.next()
        return self.match(pattern, what)

    def match(self, pattern: re.Pattern[str], what: str) -> int:
        """Return the number in the current line, which must match a pattern."""
        found = pattern.fullmatch(self.text)
        if not found:
            raise self.bad(f"must be {what}, not {self.text!r:.60}")
        return int(found[1])

    def bad(self, message: str) -> InputError:
        """Return an error for the current line."""
        return InputError(self._source, f"line {self.place}", message)


def _rank(lines: _Lines, ranks: int) -> tuple[Operation, ...]:
    """Return the operations of a rank, up to its closing brace."""
    operations: list[Operation] = []
    places: dict[str, int] = {}
    waits: dict[tuple[int, str], dict[int, None]] = {}
    while lines.next():
        text = lines.text
        if text == "}":
            return tuple(
                replace(
                    one,
                    label=one.label or _free(f"l{place}", places),
                    requires=tuple(waits.get((place, "requires"), ())),
                    irequires=tuple(waits.get((place, "irequires"), ())),
                )
                for place, one in enumerate(operations)
            )
        if found := _DEPENDS.fullmatch(text):
            label, word, other = found.groups()
            for one in (label, other):
                if one not in places:
                    raise lines.bad(f"must name labels of lines above it, not {one!r:.60}")
            waits.setdefault((places[label], word), {})[places[other]] = None
            continue
        one = _operation(lines, ranks)
        if one.label in places:
            raise lines.bad(f"label must occur once in a rank, not again: {one.label!r:.60}")
        if one.label:
            places[one.label] = len(operations)
        operations.append(one)
    raise lines.bad("rank must end in } before the end of the file")


def _free(label: str, places: dict[str, int]) -> str:
    """Return an unused label for an operation without one, and reserve the label."""
    while label in places:
        label += "_"
    places[label] = -1
    return label


def _operation(lines: _Lines, ranks: int) -> Operation:
    found = _SEND_RECV.fullmatch(lines.text) or _CALC.fullmatch(lines.text)
    if not found:
        said = (
            "must be an operation (a: send 8b to 1, a: recv 8b from 1, a: calc 100), a dependency"
        )
        raise lines.bad(f"{said} (a requires b) or }}, not {lines.text!r:.60}")
    words = found["more"].split()
    names, kind, size = words[::2], found["kind"], int(found["size"])
    if len(set(names)) < len(names):
        raise lines.bad("tag, cpu and nic must occur at most once each, not again")
    peer = 0
    if kind in _WAYS:
        peer = int(found["peer"])
        if found["way"] != _WAYS[kind]:
            raise lines.bad(f"{kind} must be followed by {_WAYS[kind]}, not {found['way']}")
        if peer >= ranks:
            raise lines.bad(f"rank at the other end must be from 0 to {ranks - 1:,}, not {peer:,}")
        if size < 1:
            raise lines.bad("message must have 1 byte or more, not 0b")
    numbers = dict(zip(names, map(int, words[1::2]), strict=True))
    return Operation(found["label"] or "", kind, size, peer, **numbers)  # pyright: ignore[reportArgumentType]


def goal_text(goal: Goal) -> str:
    """Return a schedule as GOAL text, which ``read_goal`` reads back unchanged."""
    lines = [f"num_ranks {len(goal)}"]
    for number, operations in enumerate(goal):
        lines.append(f"rank {number} {{")
        for one in operations:
            what = f"calc {one.size}"
            if one.kind in _WAYS:
                what = f"{one.kind} {one.size}b {_WAYS[one.kind]} {one.peer}"
            given = (("tag", one.tag), ("cpu", one.cpu), ("nic", one.nic))
            more = "".join(f" {name} {value}" for name, value in given if value)
            lines.append(f"{one.label}: {what}{more}")
        for one in operations:
            for word, others in (("requires", one.requires), ("irequires", one.irequires)):
                lines += [f"{one.label} {word} {operations[other].label}" for other in others]
        lines.append("}")
    return "\n".join(lines) + "\n"


def to_traces(goal: Goal, source: str = "") -> list[list[Node]]:
    """Return a trace for each rank of a schedule: sends, receives and compute.

    A trace counts microseconds: ``duration_us`` of a ``calc`` is rounded to the nearest one, and
    the attribute ``duration_ns`` has the exact time, which our engine uses. Where an operation
    waits for another to start, it waits for all dependencies of the other one.

    Parameters
    ----------
    goal : Goal
        The schedule.
    source : str
        Name of the file in errors.

    Raises
    ------
    InputError
        Operations wait for each other to begin.
    """
    return [
        _trace(number, operations, source) for number, operations in enumerate(track(goal, "ranks"))
    ]


def _trace(rank: int, operations: Sequence[Operation], source: str) -> list[Node]:
    waits = _resolved(rank, operations, source)
    nodes: list[Node] = []
    for number, one in enumerate(track(operations, "operations")):
        attrs = [Attr("is_cpu_op", "bool", False)]
        kind, duration = NodeType.COMP_NODE, 0
        if one.kind == "calc":
            duration = (one.size + 500) // 1000
            attrs.append(Attr(DURATION_NS, "int64", one.size))
        else:
            sends = one.kind == "send"
            kind = NodeType.COMM_SEND_NODE if sends else NodeType.COMM_RECV_NODE
            source_rank, target = (rank, one.peer) if sends else (one.peer, rank)
            ends = {"comm_src": source_rank, "comm_dst": target}
            attrs += integers(**ends, comm_tag=one.tag, comm_size=one.size)
        more = integers(**{n: v for n, v in (("cpu", one.cpu), ("nic", one.nic)) if v})
        parents = waits[number]
        nodes.append(Node(number, one.label, kind, (), parents, 0, duration, attrs=(*attrs, *more)))
    return nodes


def _resolved(
    rank: int, operations: Sequence[Operation], source: str
) -> dict[int, tuple[int, ...]]:
    """Return the operations that must end before each operation starts."""
    found: dict[int, tuple[int, ...]] = {}
    begins = 0
    for first in range(len(operations)):
        if first in found:
            continue
        path, on_path = [(first, iter(operations[first].irequires))], {first}
        while path:
            number, others = path[-1]
            one = next((one for one in others if one not in found), None)
            if one in on_path:
                message = f"must not wait for itself to begin, in rank {rank}"
                raise InputError(source, operations[number].label, message)
            if one is not None:
                path.append((one, iter(operations[one].irequires)))
                on_path.add(one)
                continue
            path.pop()
            on_path.remove(number)
            waits = [found[one] for one in operations[number].irequires]
            begins += sum(map(len, waits))
            if begins > MAX_BEGINS:
                message = f"must wait for at most {MAX_BEGINS:,} others because of irequires"
                raise InputError(source, f"rank {rank}", f"operations {message}, not more")
            found[number] = tuple(dict.fromkeys(chain(operations[number].requires, *waits)))
    return found
