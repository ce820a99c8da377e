"""Checks that records match the current design and inputs, and repeated measurement."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fred_hw.errors import InputError
from fred_hw.files import load_model, validate

from .registry import Entry

__all__ = [
    "CURRENT",
    "STALE",
    "UNKNOWN",
    "State",
    "Summary",
    "check",
    "record_path",
    "remeasure",
    "summary",
]

CURRENT, STALE, UNKNOWN = "current", "stale", "unknown"


@dataclass(frozen=True)
class State:
    """State of a record: current, stale or damaged.

    Parameters
    ----------
    name, state : str
        Its name, and ``current``, ``stale`` or ``unknown``.
    why : tuple of str
        Reasons, if it is not current.
    notes : tuple of str
        Changes that make no record stale.
    """

    name: str
    state: str
    why: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Summary:
    """Summary of a record in a list.

    Parameters
    ----------
    record, measures : str
        Its name, and what it measures.
    minutes : float
        Processor time that the measurement took, or about takes [min].
    by : str
        Simulators or tools, with versions.
    date, git_commit : str or None
        Day and revision of the measurement; None if unknown.
    command : str
        Command that measures it again.
    stale_with : tuple of str
        Inputs whose change makes it stale: Verilog, and others by the names that ``check`` reports.
    """

    record: str
    measures: str
    minutes: float
    by: str
    date: str | None = None
    git_commit: str | None = None
    command: str = ""
    stale_with: tuple[str, ...] = ()


def record_path(name: str, entry: Entry) -> Path:
    """Return the path of a built-in record."""
    from perfmodel.switch_timing import record

    return entry.path or record.RECORDS / f"{name}.json"


def summary(name: str, entry: Entry) -> Summary:
    """Return the summary of a record; if the file is damaged, from its registry entry."""
    known = Summary(
        name,
        entry.what,
        entry.minutes,
        entry.kind.by,
        command=f"fred records update {name}",
        stale_with=(f"Verilog of {entry.kind.of}", *entry.kind.inputs),
    )
    try:
        record = load_model(entry.model, record_path(name, entry))
    except InputError:
        return known
    tools = {one.name: one.version for one in getattr(record, "simulators", ())}
    tools = tools or getattr(record, "tools", {})
    return replace(
        known,
        minutes=entry.minutes if record.minutes is None else record.minutes,
        by=", ".join(f"{tool} {version}" for tool, version in tools.items()),
        date=record.date,
        git_commit=getattr(record, "source", record).git_commit,
    )


def check(name: str, entry: Entry) -> State:
    """Compare a record with the current design and inputs.

    Not compared is the code of the benches: whether it still counts the same, tests say that
    measure again.
    """
    try:
        record = load_model(entry.model, record_path(name, entry))
    except InputError as error:
        return State(name, STALE, (f"damaged: {error}",))
    try:
        measurement = entry.measure()
        why = [f"input changed: {one}" for one in measurement.other_inputs(record)]
        recorded = measurement.recorded_hashes(record)
        of_today = measurement.hashes()
    except InputError as error:
        return State(name, UNKNOWN, (str(error),))
    why += [f"design changed: {one}" for one in of_today if of_today[one] != recorded[one]]
    return State(name, STALE if why else CURRENT, tuple(why), _notes(measurement, record))


def _notes(measurement: Any, record: Any) -> tuple[str, ...]:
    """Return differences since the measurement that do not affect the record's values."""
    known, notes = measurement.tools(), list[str]()
    for tool, version in measurement.recorded_tools(record).items():
        if tool in known and known[tool] != version:
            notes.append(f"{tool} {version} measured, {known[tool]} is installed")
    commit = getattr(record, "source", record).git_commit
    if commit is None or commit.endswith("-dirty"):
        notes.append("measured on sources that are no commit")
    return tuple(notes)


def remeasure(name: str, entry: Entry, work: Path, say: Any, *, changed: bool = False) -> None:
    """Measure a record again, and replace its file atomically.

    Parameters
    ----------
    name, entry : str, Entry
        The record.
    work : Path
        Folder for files of runs.
    say : callable
        Called with a line for each part that is done.
    changed : bool
        Whether to keep rows of unchanged hardware.

    Raises
    ------
    InputError
        The record cannot be written, an input not be read, or rows not be kept.
    SimulatorError
        The measurement failed.
    """
    from fred_cli.iteration_record import record_text
    from fred_cli.output import write_text
    from gen.write import check_file

    path = record_path(name, entry)
    check_file(path)
    measurement = entry.measure()
    if changed and not measurement.keeps_rows:
        raise InputError(name, "--changed", "must be left out for a record without kept rows")
    if changed:
        measurement = replace(measurement, known=load_model(entry.model, path))
    record = measurement.record(work, say)
    validate(entry.model, record, name)
    write_text(record_text(record), path)
