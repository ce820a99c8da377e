"""Traces in the form used by the execution loop; identical traces are read once."""

import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path

from fred_hw.errors import InputError
from fred_hw.reading import open_bytes
from tracemodel.astra.files.groups import Groups
from tracemodel.astra.files.system import SystemFile
from tracemodel.chakra.files import read_tasks
from tracemodel.chakra.node import Node, Task
from tracemodel.chakra.process_groups import ProcessGroups
from tracemodel.chakra.traces import find_traces

from .operation import Operation, Operations

__all__ = ["Trace", "check_count", "load_traces", "process_groups", "trace_of"]

_CHUNK = 1 << 20
_WHOLE = 1 << 26
"""Largest part of a file that is searched for group names [B]."""

_LONG = 1 << 22
"""Size from which comparing a file with others takes longer than starting to read it [B]."""

_GROUP = re.compile(
    rb"\x0a\x07pg_name\xea\x01(?:\x01[1-9]|\x02[1-9]\d|\x03[1-9]\d\d|\x04[1-9]\d\d\d)"
)
"""A group name in a file (a number of up to four digits) with the bytes before it."""

_FRONT = len(b"\x0a\x07pg_name\xea\x01\x01")


@dataclass(frozen=True)
class Trace:
    """Operations requested by the nodes of an NPU.

    Parameters
    ----------
    source : str
        The file, for errors.
    nodes : tuple of Operation
        Operations in the order of the file.
    operations : mapping
        The same operations, by number.
    names : mapping
        Name of a communicator group in the trace, by the name in its nodes; otherwise the name
        itself.
    groups : tuple of pair
        Numbers of the nodes that list process groups, and their lists.
    """

    source: str
    nodes: tuple[Operation, ...]
    operations: Mapping[int, Operation]
    names: Mapping[str, str] = field(default_factory=dict[str, str])
    groups: tuple[tuple[int, str], ...] = ()


def trace_of(
    nodes: Iterable[Node | Task], system: SystemFile, source: str, *, control: bool = True
) -> Trace:
    """Return nodes as a trace, with or without their control dependencies.

    Raises
    ------
    InputError
        A node has attributes that are missing or not allowed.
    """
    operations, groups = Operations(system, source, control=control), list[tuple[int, str]]()
    found: list[Operation] = []
    for node in nodes:
        found.append(operations.of(node))
        if node.groups:
            groups.append((node.id, node.groups))
    return Trace(source, tuple(found), {one.id: one for one in found}, groups=tuple(groups))


def process_groups(traces: Sequence[Trace]) -> Groups:
    """Return the process groups that the metadata nodes of a set of traces list.

    Raises
    ------
    InputError
        As for ``ProcessGroups.add``.
    """
    found = ProcessGroups(len(traces))
    for trace in traces:
        for node, values in trace.groups:
            found.add(values, trace.source, node)
    return found.groups


def load_traces(
    prefix: str | Path,
    npus: int | None,
    system: SystemFile,
    *,
    fewer: bool = False,
    control: bool = True,
) -> list[Trace]:
    """Return the traces of all NPUs, files ``PREFIX.RANK.et``.

    Parameters
    ----------
    prefix : str or Path
        Folder and name without rank and ending.
    npus : int or None
        NPUs in the network; None to skip the check of their number.
    system : SystemFile
        System file, which determines the time of compute.
    fewer : bool
        Whether there may be fewer traces than NPUs.
    control : bool
        Whether control dependencies count.

    Raises
    ------
    InputError
        A file is bad, or there is not one for each NPU.
    """
    paths = find_traces(prefix)
    if npus is not None:
        check_count(prefix, len(paths), npus, fewer=fewer)
    known: dict[bytes, tuple[Trace, list[str]]] = {}
    found: list[Trace] = []
    sizes = [_size(path) for path in paths]
    often = Counter(sizes)
    for path, size in zip(paths, sizes, strict=True):
        if often[size] == 1:  # no other file can equal it
            found.append(_load(path, system, control))
            continue
        if size > _LONG:
            with read_tasks(path) as nodes:
                next(nodes, None)  # refuses a file that is no trace before reading all of it
        digest, groups = _digest(path)
        same, others = known.get(digest, (None, groups))
        names = dict(zip(others, groups, strict=True))
        if same is None or [names[one] for one in others] != groups:
            same, names = _load(path, system, control), {}
            known.setdefault(digest, (same, groups))
        found.append(replace(same, source=str(path), names=names))
    return found


def _load(path: Path, system: SystemFile, control: bool) -> Trace:
    with read_tasks(path) as nodes:
        return trace_of(nodes, system, str(path), control=control)


def _size(path: Path) -> int:
    with open_bytes(path) as file:
        return os.fstat(file.fileno()).st_size


def check_count(prefix: str | Path, count: int, npus: int, *, fewer: bool = False) -> None:
    """Fail unless the number of traces equals the number of NPUs, or is at most that if allowed.

    Raises
    ------
    InputError
        There are not.
    """
    if count != npus and not (fewer and count < npus):
        most = "at most " if fewer else ""
        message = f"must be traces of {most}the {npus} NPUs of the network, not of {count}"
        raise InputError(str(prefix), "", message)


def _digest(path: Path) -> tuple[bytes, list[str]]:
    """Return a digest of a file that ignores group names, and the names in order."""
    found, groups = sha256(), list[str]()
    with open_bytes(path) as file:
        data = file.read(_WHOLE if path.suffix == ".et" else _CHUNK)
        if path.suffix == ".et" and len(data) < _WHOLE:
            named = _GROUP.findall(data)
            groups = [one[_FRONT:].decode() for one in named]
            found.update(bytes(map(len, named)))
            data = _GROUP.sub(b"", data)
        while data:
            found.update(data)
            data = file.read(_CHUNK)
    return found.digest(), groups
