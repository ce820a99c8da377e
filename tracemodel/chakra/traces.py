"""Sets of traces: one file per NPU, such as ``PREFIX.RANK.et``."""

import re
from pathlib import Path

from fred_hw.errors import InputError
from fred_hw.file_kinds import SCHEDULE, TEXT_WORKLOAD, TRAINED, YAML, suffix_kind

__all__ = [
    "ENDINGS",
    "MAX_RANKS",
    "check_suffix",
    "find_traces",
    "groups_path",
    "trace_path",
    "trace_paths",
]

MAX_RANKS = 1 << 20
"""Largest number of files of a set."""

ENDINGS = (".et", ".et.gz", ".json", ".json.gz")
"""File name endings of traces."""

_CONVERT = ", which becomes a set of traces by: fred chakra convert FILE -o PREFIX"
_HINTS = {
    TEXT_WORKLOAD: _CONVERT,
    SCHEDULE: _CONVERT,
    TRAINED: ", which is for: fred repurpose",
    YAML: "; a workload becomes a set of traces by: "
    "fred chakra convert --workload FILE --topology TOPOLOGY -o PREFIX",
}
"""Kinds of files that are no traces, each with the command that takes them."""


def trace_path(prefix: str | Path, rank: int, ending: str = ".et") -> Path:
    """Return the path of an NPU's trace: ``PREFIX.RANK.et``."""
    return Path(f"{prefix}.{rank}{ending}")


def trace_paths(target: Path, ranks: int) -> list[Path]:
    """Return the paths of a set to be written, by rank: ``PREFIX.RANK.et``.

    Parameters
    ----------
    target : Path
        Prefix of the set. A target that ends in one of ``ENDINGS`` is a prefix and the ending of
        all files: ``ring.et.gz`` stands for ``ring.0.et.gz``, ``ring.1.et.gz`` and so on.
    ranks : int
        Number of files.
    """
    prefix, ending = _split(target)
    return [trace_path(prefix, rank, ending) for rank in range(ranks)]


def groups_path(target: Path) -> Path:
    """Return the path of the communicator groups of ``trace_paths``: ``PREFIX.groups.json``."""
    prefix, _ = _split(target)
    return Path(f"{prefix}.groups.json")


def _split(target: Path) -> tuple[Path, str]:
    """Return the prefix and the ending of a set to be written."""
    for ending in ENDINGS:
        prefix = target.name.removesuffix(ending)
        if prefix not in ("", target.name):
            return target.with_name(prefix), ending
    return target, ENDINGS[0]


def check_suffix(path: Path, wanted: str) -> None:
    """Fail if the name of a file has the suffix of another kind of file.

    Parameters
    ----------
    path : Path
        The file; it need not exist.
    wanted : str
        What the file has to be.

    Raises
    ------
    InputError
        The suffix is that of another kind; the error says which command takes such a file.
    """
    if (kind := suffix_kind(path)) in _HINTS:
        raise InputError(str(path), "", f"must be {wanted}, not {kind}{_HINTS[kind]}")


def find_traces(prefix: str | Path) -> list[Path]:
    """Return the files of a set, ordered by rank from 0.

    Files end in ``.et``, or else in ``.et.gz``, ``.json`` or ``.json.gz``.

    Parameters
    ----------
    prefix : str or Path
        Folder and name without rank and ending.

    Raises
    ------
    InputError
        No set has that prefix, or the file of a rank below the highest is missing. If the prefix
        is the name of a file of another kind, the error says so.
    """
    folder, name = Path(prefix).parent, Path(prefix).name
    try:
        there = [path.name for path in folder.iterdir()]
    except (OSError, ValueError):  # ValueError: a null character
        there = []
    for ending in ENDINGS:
        pattern = re.compile(rf"{re.escape(name)}\.(0|[1-9][0-9]{{0,6}}){re.escape(ending)}")
        ranks = {int(found[1]) for one in there if (found := pattern.fullmatch(one))}
        if not ranks:
            continue
        highest = max(ranks)
        missing = next((rank for rank in range(highest) if rank not in ranks), None)
        if missing is not None:
            file = trace_path(prefix, missing, ending)
            said = f"must exist, as the trace of rank {highest} exists"
            raise InputError(str(file), "", said)
        if highest >= MAX_RANKS:
            said = f"must have at most {MAX_RANKS:,} ranks, not {highest + 1:,}"
            raise InputError(str(prefix), "", said)
        return [trace_path(prefix, rank, ending) for rank in range(highest + 1)]
    check_suffix(Path(prefix), "the prefix of a set of traces")
    if single := re.fullmatch(rf"(.+?)(\.[0-9]+)?({'|'.join(map(re.escape, ENDINGS))})", name):
        said = f"must be the prefix of a set of traces, such as {single[1]} of {single[1]}.0.et, "
        raise InputError(str(prefix), "", f"{said}not a single trace")
    said = f"must be the prefix of traces such as {name}.0.et, of which there are none"
    raise InputError(str(prefix), "", said)
