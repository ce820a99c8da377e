"""Files to which a schedule is exported."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fred_cli.output import write_text

__all__ = ["schedule_files", "write_schedule"]


def schedule_files(target: Path | None, npus: int) -> list[Path]:
    """Return the output files of a schedule; none without a target."""
    from tracemodel.api import trace_paths

    if target is None:
        return []
    if target.suffix in (".xml", ".goal"):
        return [target]
    return trace_paths(target, npus)


def write_schedule(schedule: Any, npus: int, files: Sequence[Path]) -> None:
    """Write a schedule in the format of each file."""
    from gen.write import write_outputs
    from perfmodel.collectives.msccl import msccl_xml
    from tracemodel.api import VERSION, Metadata, encode_for, goal_text, to_goal, to_traces

    if files[0].suffix == ".xml":
        write_text(msccl_xml(schedule), files[0])
        return
    goal = to_goal(schedule, npus)
    if files[0].suffix == ".goal":
        write_text(goal_text(goal), files[0])
        return
    metadata, traces = Metadata(VERSION), zip(files, to_traces(goal), strict=True)
    write_outputs({path: b"".join(encode_for(path, nodes, metadata)) for path, nodes in traces})
