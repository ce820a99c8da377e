"""Flow files of the ns-3 simulator: a count, then one line per flow.

A line has the numbers of the source and the destination host, a priority, a port, the bytes, and
the time at which the flow begins [s].
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fred_hw.errors import InputError
from fred_hw.reading import read_text

__all__ = ["Flow", "flows_text", "read_flows"]

_MAX_BYTES = 1 << 26
_MAX_FLOWS = 1 << 20
_MAX_SIZE = 10**12
_MAX_START_S = 1e6
_PRIORITY, _PORT = 3, 100
"""Values in the public flow files; here all flows have the same priority."""


@dataclass(frozen=True, slots=True)
class Flow:
    """One flow of a flow file.

    Parameters
    ----------
    source, target : int
        NPUs at the ends of the flow.
    size_bytes : int
        Payload [B].
    start_s : float
        Start of the flow [s].
    """

    source: int
    target: int
    size_bytes: int
    start_s: float


def read_flows(path: Path, hosts: Sequence[int]) -> list[Flow]:
    """Return the flows of a file in order; priorities and ports have no effect.

    Parameters
    ----------
    path : Path
        The file.
    hosts : sequence of int
        Number of each NPU in the file.

    Raises
    ------
    InputError
        The file is unreadable, a line is malformed, or a flow ends at a host that does not exist.
    """
    source = str(path)
    lines = [
        (number, line.split())
        for number, line in enumerate(read_text(path, _MAX_BYTES).splitlines(), start=1)
        if line.strip()
    ]
    if not lines or len(lines[0][1]) != 1 or not re.fullmatch("[0-9]{1,9}", lines[0][1][0]):
        raise InputError(source, "line 1", "must have the count of flows alone")
    count = int(lines[0][1][0])
    if not 1 <= count <= _MAX_FLOWS:
        raise InputError(source, "line 1", f"must be 1 to {_MAX_FLOWS} flows, not {count}")
    if count != len(lines) - 1:
        message = f"must have as many flows as follow, {len(lines) - 1}, not {count}"
        raise InputError(source, "line 1", message)
    npus = {host: npu for npu, host in enumerate(hosts)}
    return [_flow(source, f"line {number}", words, npus) for number, words in lines[1:]]


def _flow(source: str, field: str, words: list[str], npus: dict[int, int]) -> Flow:
    if len(words) != 6:
        message = "must have source, destination, priority, port, bytes and begin"
        raise InputError(source, field, f"{message}, not {len(words)} words")
    for word in words[:5]:
        if not re.fullmatch("[0-9]{1,15}", word):
            raise InputError(source, field, f"must have whole numbers, not {word!r:.40}")
    ends = [int(word) for word in words[:2]]
    for host in ends:
        if host not in npus:
            message = f"must join hosts of the topology, from {min(npus)} to {max(npus)}"
            raise InputError(source, field, f"{message}, not {host}")
    if ends[0] == ends[1]:
        raise InputError(source, field, f"must join two hosts, not {ends[0]} with itself")
    size = int(words[4])
    if not 1 <= size <= _MAX_SIZE:
        raise InputError(source, field, f"must have 1 to {_MAX_SIZE:,} bytes, not {size}")
    try:
        start_s = float(words[5])
    except ValueError:
        start_s = -1.0
    if not 0 <= start_s <= _MAX_START_S:
        message = f"must begin at 0 to {_MAX_START_S:g} s, not {words[5]!r:.40}"
        raise InputError(source, field, message)
    return Flow(npus[ends[0]], npus[ends[1]], size, start_s)


def flows_text(flows: Sequence[Flow]) -> str:
    """Return the text of a flow file, ordered by start time; NPU i is host i."""
    rows = sorted(flows, key=lambda one: one.start_s)
    lines = [
        f"{one.source} {one.target} {_PRIORITY} {_PORT} {one.size_bytes} {one.start_s:.12g}"
        for one in rows
    ]
    return "\n".join([str(len(rows)), *lines]) + "\n"
