"""Traces of NPUs as the execution loop takes them; those that are alike are read once."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from fred_hw.errors import InputError
from fred_hw.reading import open_bytes
from perfmodel.astra.files.system import SystemFile
from perfmodel.chakra.files import read
from perfmodel.chakra.node import Node
from perfmodel.chakra.traces import find_traces

from .operation import Operation, operation_of

__all__ = ["Trace", "check_count", "load_traces", "trace_of"]

_CHUNK = 1 << 20


@dataclass(frozen=True)
class Trace:
    """The nodes of an NPU, and what each asks for.

    Parameters
    ----------
    source : str
        The file, for errors.
    nodes : tuple of Node
        In the order of the file.
    operations : mapping
        By the number of the node.
    """

    source: str
    nodes: tuple[Node, ...]
    operations: Mapping[int, Operation]


def trace_of(nodes: Iterator[Node], system: SystemFile, source: str) -> Trace:
    """Return nodes as a trace.

    Raises
    ------
    InputError
        A node has attributes that are missing or not allowed.
    """
    found = tuple(nodes)
    return Trace(source, found, {one.id: operation_of(one, system, source) for one in found})


def load_traces(
    prefix: str | Path, npus: int | None, system: SystemFile, *, fewer: bool = False
) -> list[Trace]:
    """Return the traces of all NPUs, files ``PREFIX.RANK.et``.

    Parameters
    ----------
    prefix : str or Path
        Folder and name without rank and ending.
    npus : int or None
        In the network; None if that does not matter yet.
    system : SystemFile
        Says how long compute takes.
    fewer : bool
        Whether there may be fewer traces than NPUs.

    Raises
    ------
    InputError
        A file is bad, or there is not one for each NPU.
    """
    paths = find_traces(prefix)
    if npus is not None:
        check_count(prefix, len(paths), npus, fewer=fewer)
    known: dict[bytes, Trace] = {}
    found: list[Trace] = []
    for path in paths:
        digest = _digest(path)
        if digest not in known:
            with read(path) as nodes:
                known[digest] = trace_of(nodes, system, str(path))
        same = known[digest]
        found.append(Trace(str(path), same.nodes, same.operations))
    return found


def check_count(prefix: str | Path, count: int, npus: int, *, fewer: bool = False) -> None:
    """Fail unless there are as many traces as NPUs, or not more if there may be fewer.

    Raises
    ------
    InputError
        There are not.
    """
    if count != npus and not (fewer and count < npus):
        most = "at most " if fewer else ""
        message = f"must be traces of {most}the {npus} NPUs of the network, not of {count}"
        raise InputError(str(prefix), "", message)


def _digest(path: Path) -> bytes:
    """Return what tells the contents of a file from others."""
    found = sha256()
    with open_bytes(path) as file:
        while data := file.read(_CHUNK):
            found.update(data)
    return found.digest()
