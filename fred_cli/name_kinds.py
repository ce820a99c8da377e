"""Built-in names of all packages by kind, so that a name of the wrong kind is refused as such."""

import os

from fred_hw.choices import find_choice
from fred_hw.errors import InputError
from fred_hw.file_kinds import PRESET, SWITCH, TOPOLOGY, WORKLOAD

__all__ = ["check_name", "name_kind"]

_GIVEN = {SWITCH: PRESET, TOPOLOGY: "the name of a topology", WORKLOAD: "the name of a workload"}
"""What a name of each kind is called in error messages."""


def name_kind(text: str) -> str | None:
    """Return the kind that ``text`` is a built-in name of, one of ``file_kinds``; or None."""
    from fred_hw.load import PRESETS

    if find_choice(text, PRESETS):
        return SWITCH
    from perfmodel.topology.parse import FABRICS, said_of
    from perfmodel.workloads.workload import WORKLOADS

    if find_choice(text, WORKLOADS):
        return WORKLOAD
    return TOPOLOGY if find_choice(text, FABRICS) or said_of(text) is not None else None


def check_name(text: str, wanted: str, source: str | None = None) -> None:
    """Fail if ``text`` is a built-in name of another kind, and neither a file nor a set of traces.

    Parameters
    ----------
    text : str
        A name, a file, or neither.
    wanted : str
        The expected kind, one of ``file_kinds`` or another text for error messages.
    source : str, optional
        Start of the error message; by default ``text``.

    Raises
    ------
    InputError
        The name is of another kind; the error says both kinds.
    """
    if os.access(text, os.F_OK):
        return
    kind = name_kind(text)
    if kind not in (None, wanted) and not _is_prefix(text):
        given = _GIVEN[kind] if source is None else f"{text!r}, {_GIVEN[kind]}"
        raise InputError(source or text, "", f"must be {wanted}, not {given}")


def _is_prefix(text: str) -> bool:
    """Return whether there is a set of traces with a prefix."""
    from tracemodel.api import ENDINGS, trace_path

    return any(trace_path(text, 0, ending).exists() for ending in ENDINGS)
