"""Conversion between traces, JSON, PyTorch traces, ASTRA-sim 1.0 texts and GOAL."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from fred_hw.errors import InputError

from .files import VERSION, encode, encode_for, read
from .goal import read_goal, to_traces
from .json_files import kind_of_file
from .node import Metadata
from .pytorch import from_pytorch
from .text import check_npus, load_text
from .traces import groups_path, trace_path

__all__ = ["ENDINGS", "convert"]

ENDINGS = {
    ".et": "a trace",
    ".json": "a trace as JSON, or of PyTorch",
    ".txt": "a text workload of ASTRA-sim 1.0",
    ".goal": "a schedule in GOAL",
}
"""File kinds that can be converted, by file name ending."""


def convert(
    source: Path,
    target: Path,
    *,
    kineto: Path | None = None,
    npus: int | None = None,
    passes: int | None = None,
    check: Callable[[Iterable[Path]], None] = lambda paths: None,
) -> Mapping[Path, Iterator[bytes]]:
    """Return the output files of a conversion, and the pieces of each.

    A trace, also one of PyTorch, becomes JSON if ``target`` ends so, and a trace otherwise. All
    else becomes a set of traces, and where it has groups a groups file: ``target`` is their
    prefix, or ends in ``.et``, which is left out of the prefix.

    Parameters
    ----------
    source, target : Path
        File to convert, and file to write.
    kineto : Path or None
        Kineto trace of the run, which an execution trace of PyTorch requires.
    npus, passes : int or None
        Number of traces, and of iterations in each, required for a text workload; 1 if None.
    check : callable
        Called with the files before they are made; may raise to refuse them.

    Raises
    ------
    InputError
        ``source`` is invalid or of an unknown kind; also raised while the pieces are read.
    """
    name = source.name.lower().removesuffix(".gz")
    ending = Path(name).suffix
    if ending not in ENDINGS:
        allowed = ", ".join(f"{one} ({what})" for one, what in ENDINGS.items())
        raise InputError(str(source), "", f"must end in {allowed}")
    if ending != ".txt":
        for option, value in (("npus", npus), ("passes", passes)):
            if value is not None:
                raise InputError("", option, "must be given only for a text workload")
    if ending == ".json" and kind_of_file(source) == "pytorch":
        if kineto is None:
            message = "must be given for a PyTorch execution trace: the Kineto trace of the run"
            raise InputError("", "kineto", message)
        check((target,))
        nodes, metadata = from_pytorch(source, kineto)
        return {target: encode_for(target, nodes, metadata)}
    if kineto is not None:
        raise InputError("", "kineto", "must be given only for a PyTorch execution trace")
    if ending in (".et", ".json"):
        check((target,))
        reader = read(source)
        return {target: encode_for(target, reader, reader.metadata)}
    prefix = target.with_suffix("") if target.suffix == ".et" else target
    if ending == ".txt":
        return _from_text(source, prefix, npus, passes, check)
    goal = read_goal(source)
    check(trace_path(prefix, rank) for rank in range(len(goal)))
    metadata, traces = Metadata(VERSION), to_traces(goal, str(source))
    return {trace_path(prefix, rank): encode(nodes, metadata) for rank, nodes in enumerate(traces)}


def _from_text(
    source: Path,
    prefix: Path,
    npus: int | None,
    passes: int | None,
    check: Callable[[Iterable[Path]], None],
) -> Mapping[Path, Iterator[bytes]]:
    """Return the traces of a text workload, and the communicator groups if there are any."""
    count = 1 if npus is None else npus
    check_npus(count)
    paths, metadata = [trace_path(prefix, rank) for rank in range(count)], Metadata(VERSION)
    check(paths)
    text = load_text(source, None, count, 1 if passes is None else passes)
    if text.groups:
        of_groups = groups_path(prefix)
        check((of_groups,))
        said = f"{json.dumps(text.groups, indent=1)}\n".encode()
        traces = (encode(text.rank(rank), metadata) for rank in range(count))
        return {**dict(zip(paths, traces, strict=True)), of_groups: iter((said,))}
    # All ranks have the same nodes, so these are encoded once.
    data = b"".join(encode(text.nodes, metadata))
    return {path: iter((data,)) for path in paths}
