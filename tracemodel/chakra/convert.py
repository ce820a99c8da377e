"""Conversion between traces, JSON, PyTorch traces, ASTRA-sim 1.0 texts and GOAL."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from fred_hw.errors import InputError

from .files import VERSION, encode_for, read
from .goal import read_goal, to_traces
from .json_files import kind_of_file
from .node import Metadata
from .pytorch import from_pytorch
from .text import check_npus, load_text
from .traces import groups_path, trace_paths

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

    A trace, also one of PyTorch, becomes the file ``target``, in the format of its name. All else
    becomes a set of traces (``trace_paths``), and where it has groups a groups file.

    Parameters
    ----------
    source, target : Path
        File to convert; file to write, or target of ``trace_paths``.
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
    if ending == ".txt":
        return _from_text(source, target, npus, passes, check)
    goal = read_goal(source)
    paths, metadata = trace_paths(target, len(goal)), Metadata(VERSION)
    check(paths)
    traces = zip(paths, to_traces(goal, str(source)), strict=True)
    return {path: encode_for(path, nodes, metadata) for path, nodes in traces}


def _from_text(
    source: Path,
    target: Path,
    npus: int | None,
    passes: int | None,
    check: Callable[[Iterable[Path]], None],
) -> Mapping[Path, Iterator[bytes]]:
    """Return the traces of a text workload, and the communicator groups if there are any."""
    count = 1 if npus is None else npus
    check_npus(count)
    paths, metadata = trace_paths(target, count), Metadata(VERSION)
    check(paths)
    text = load_text(source, None, count, 1 if passes is None else passes)
    if text.groups:
        of_groups = groups_path(target)
        check((of_groups,))
        said = f"{json.dumps(text.groups, indent=1)}\n".encode()
        ranks = enumerate(paths)
        traces = {path: encode_for(path, text.rank(rank), metadata) for rank, path in ranks}
        return {**traces, of_groups: iter((said,))}
    # All ranks have the same nodes, so these are encoded once.
    data = b"".join(encode_for(paths[0], text.nodes, metadata))
    return {path: iter((data,)) for path in paths}
