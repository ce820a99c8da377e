"""`fred estimate --rtl --record`: what hardware did in an iteration, as `fred report` draws it."""

import json
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fred_hw.errors import InputError

from .output import write_text

if TYPE_CHECKING:
    from .rtl import Beside

__all__ = ["check_record", "write_record"]

_SCHEMA = "fred-iteration-cycles/1"


def check_record(record: Path | None, rtl: Path | None, changes: Mapping[str, object]) -> None:
    """Refuse a record of no hardware, or of an iteration that the files do not say all of.

    Parameters
    ----------
    record, rtl : Path or None
        Where it goes, and the file of the hardware.
    changes : mapping of str to object
        Options that change topology or workload, by name; None or nothing where they are not given.
    """
    if record is None:
        return
    if rtl is None:
        raise InputError("estimate", "--record", "must be given with --rtl")
    if given := [name for name, value in changes.items() if value not in (None, ())]:
        message = "must not be given with --record: let the files say it"
        raise InputError("estimate", given[0], message)


def write_record(beside: "Beside", path: Path, how: Mapping[str, str]) -> None:
    """Write what hardware did.

    Parameters
    ----------
    beside : Beside
        What it did.
    path : Path
        The file.
    how : mapping of str to str
        ``topology``, ``workload``, ``strategy``, ``placement``, ``algorithm`` and ``compute``.
    """
    from fred_hw.reading import read_data
    from perfmodel.studies.rtl_iteration import KINDS, tasks_hash
    from perfmodel.topology.parse import said_of
    from perfmodel.workloads.workload import WORKLOADS, workload_path
    from testbench.record_head import measurement

    names: dict[str, int] = {}
    npus = [
        [
            [names.setdefault(task.name, len(names)), KINDS.index(kind or "compute"), begin, end]
            for task, kind, (begin, end) in zip(*one, strict=True)
        ]
        for one in zip(beside.tasks, beside.circuits, beside.times, strict=True)
    ]
    workload = how["workload"]
    job = workload_path(workload) if workload in WORKLOADS else Path(workload)
    record = {
        "schema": _SCHEMA,
        "name": beside.hardware.name,
        "fabric": beside.hardware.words,
        "command": shlex.join(["fred", *sys.argv[1:]]),
        "hardware": read_data(Path(beside.hardware.source)),
        "changes": dict(beside.hardware.changes),
        "topology": said_of(how["topology"]) or read_data(Path(how["topology"])),
        "workload": read_data(job),
        **{name: how[name] for name in ("strategy", "placement", "algorithm", "compute")},
        **measurement([beside.simulator], 1, verilog_sha256=beside.hardware.verilog_sha256()),
        "tasks_sha256": tasks_hash(beside.tasks),
        "link_cycles": beside.link_cycles,
        "memory_cycles": beside.memory_cycles,
        "clock": {"hz": beside.clock_hz, "source": beside.hardware.clock_source},
        "cycles": beside.cycles,
        "names": list(names),
    }
    write_text(_text(record, npus), path)


def _text(record: Mapping[str, Any], npus: list[list[list[int]]]) -> str:
    """Return the record as JSON, an NPU in a line."""
    head = json.dumps(record, indent=1).removesuffix("\n}")
    lines = ",\n".join("  " + json.dumps(one, separators=(",", ":")) for one in npus)
    return f'{head},\n "npus": [\n{lines}\n ]\n}}\n'
