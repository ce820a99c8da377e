"""`--rtl` with `--record` of `fred estimate`: record of the iteration in RTL simulation."""

import json
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fred_hw.errors import InputError

from .output import write_text

if TYPE_CHECKING:
    from perfmodel.training.request import Request

    from .rtl import RtlRun
    from .rtl_hardware import Hardware

__all__ = ["SCHEMA", "check_record", "counted", "head", "record_text", "write_record"]

SCHEMA = "fred-iteration-cycles/1"


def check_record(record: Path | None, rtl: Path | None, changes: Mapping[str, object]) -> None:
    """Fail if a record lacks hardware, or if options differ from those of recorded iterations.

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
        message = "must not be given with --record: set it in the files"
        raise InputError("estimate", given[0], message)


def write_record(rtl_run: "RtlRun", path: Path, request: "Request") -> None:
    """Write the record of an iteration in RTL simulation.

    Parameters
    ----------
    rtl_run : RtlRun
        The iteration in RTL simulation.
    path : Path
        The file.
    request : Request
        The requested iteration.
    """
    from testbench.measurement import provenance

    sha256 = rtl_run.hardware.design().sha256
    record = {
        "schema": SCHEMA,
        **head(rtl_run.hardware, shlex.join(["fred", *sys.argv[1:]]), request),
        **provenance([rtl_run.simulator], 1, rtl_run.minutes, verilog_sha256=sha256),
        **counted(rtl_run),
    }
    write_text(record_text(record), path)


def head(hardware: "Hardware", command: str, request: "Request") -> dict[str, Any]:
    """Return the description of hardware and iteration in a record.

    Parameters
    ----------
    hardware : Hardware
        Hardware that executes the iteration.
    command : str
        The command that measures it.
    request : Request
        The requested iteration.
    """
    from fred_hw.reading import read_data
    from perfmodel.topology.parse import said_of
    from perfmodel.workloads.workload import WORKLOADS, workload_path

    topology, workload = request.topology.name, request.workload.name
    job = workload_path(workload) if workload in WORKLOADS else Path(workload)
    return {
        "name": hardware.name,
        "fabric": hardware.words,
        "command": command,
        "hardware": read_data(Path(hardware.source)),
        "changes": dict(hardware.changes),
        "topology": said_of(topology) or read_data(Path(topology)),
        "workload": read_data(job),
        "strategy": str(request.strategy),
        **{name: getattr(request, name) for name in ("placement", "algorithm", "compute")},
    }


def counted(rtl_run: "RtlRun") -> dict[str, Any]:
    """Return the counts of an iteration in RTL simulation, for a record."""
    from studies.rtl_iteration import KINDS, tasks_hash

    names: dict[str, int] = {}
    npus = [
        [
            [names.setdefault(task.name, len(names)), KINDS.index(kind or "compute"), begin, end]
            for task, kind, (begin, end) in zip(*one, strict=True)
        ]
        for one in zip(rtl_run.tasks, rtl_run.circuits, rtl_run.times, strict=True)
    ]
    return {
        "tasks_sha256": tasks_hash(rtl_run.tasks),
        "link_cycles": rtl_run.link_cycles,
        "memory_cycles": rtl_run.memory_cycles,
        "clock": {"hz": rtl_run.clock_hz, "source": rtl_run.hardware.clock_source},
        "cycles": rtl_run.cycles,
        "names": list(names),
        "npus": npus,
    }


def record_text(record: Mapping[str, Any]) -> str:
    """Return a record as JSON, with one line per NPU of an iteration."""
    rest = json.dumps({key: record[key] for key in record if key != "npus"}, indent=1)
    if "npus" not in record:
        return f"{rest}\n"
    lines = ",\n".join("  " + json.dumps(one, separators=(",", ":")) for one in record["npus"])
    rest = rest.removesuffix("\n}")
    return f'{rest},\n "npus": [\n{lines}\n ]\n}}\n'
