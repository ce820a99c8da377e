"""`fred collective`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from fred_cli.names import algorithm_name, pattern_name
from fred_cli.options import (
    ListingOption,
    OutputPath,
    as_json_option,
    protocol_option,
    size_option,
    topology_option,
)
from fred_cli.output import option_names, plain, say_json, say_provenance, table, write_text
from fred_cli.progress import progress
from fred_cli.values import parse_group, parse_size

__all__ = ["command"]

_OPTIONS = ("topology", "pattern", "size", "group", "chunks", "algorithm")


def _algorithms() -> str:
    from perfmodel.collectives.algorithm import ALGORITHMS

    *names, last = ALGORITHMS
    return (
        "auto (the fastest), published (the choice of those who published the wafers), "
        f"{', '.join(names)} or {last}. auto tries no multitree and no synthesized."
    )


@click.command("collective")
@topology_option
@click.option(
    "--pattern",
    default="all_reduce",
    show_default=True,
    metavar="NAME",
    type=pattern_name,
    help="Collective pattern.",
)
@size_option
@click.option("--group", metavar="LIST", help="NPUs that take part, like 0,1,4-7; all by default.")
@click.option("--chunks", type=int, help="Pieces that the vector is cut into.")
@click.option(
    "--algorithm",
    default="auto",
    show_default=True,
    metavar="NAME",
    type=algorithm_name,
    cls=ListingOption,
    listing=_algorithms,
)
@protocol_option
@click.option("--check", is_flag=True, help="Replay the schedule symbolically.")
@click.option(
    "--draw", type=OutputPath(), metavar="FILE.svg", help="Draw the schedule of one chunk."
)
@click.option(
    "--export",
    type=OutputPath(prefix=True),
    metavar="TARGET",
    help="Write the schedule: MSCCL (.xml), GOAL (.goal), or Chakra traces TARGET.RANK.et.",
)
@as_json_option
def command(
    topology: str,
    pattern: str,
    size: str,
    group: str | None,
    chunks: int | None,
    algorithm: str,
    protocol: Any,
    check: bool,
    draw: Path | None,
    export: Path | None,
    as_json: bool,
) -> None:
    """Simulate one collective on the links of a wafer."""
    from gen.write import check_files
    from perfmodel.collectives.run import run_collective
    from perfmodel.topology.parse import parse_topology

    with option_names(*_OPTIONS), progress("simulating a collective"):
        fabric = parse_topology(topology, protocol)
        members = parse_group(group)
        files = _exported(export, fabric.npus)
        check_files(files)
        if draw:
            from fred_cli.drawings.schedule import refuse_crowd

            refuse_crowd(fabric.npus if members is None else len(members))
        result = run_collective(fabric, pattern, parse_size(size), members, chunks, algorithm)
        if check or draw or export:
            _schedule(fabric, result, check, draw, files)
    checked = {"checked": True} if check else {}
    if as_json:
        figures = plain(result)
        say_json(
            {
                **figures.pop("details"),
                **figures,
                **checked,
                "npu_bandwidth": result.npu_bandwidth_bytes_per_s,
                "bottleneck": plain(result.bottleneck),
            }
        )
        return
    rows = [
        ("time", f"{result.time_s * 1e6:,.2f} us"),
        ("effective NPU bandwidth", f"{result.npu_bandwidth_bytes_per_s / 1e12:.3f} TB/s"),
        ("sent per NPU", f"{result.bytes_per_npu / 2**20:,.1f} MiB"),
        ("busiest link", f"{result.bottleneck.link}, {result.bottleneck.utilisation:.1%} busy"),
        ("algorithm", result.algorithm),
        ("chunks", result.chunks),
        *((name.replace("_", " "), _shown(value)) for name, value in result.details.items()),
        *([("symbolic check", "every NPU ends with what it should")] if check else []),
    ]
    table(f"{result.pattern} of {size} on {result.topology}", ("what", "value"), rows)
    say_provenance(result.provenance)


def _shown(value: float | str) -> str:
    """Return a figure of an algorithm as text."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else f"{value:.4g}"


def _exported(target: Path | None, npus: int) -> list[Path]:
    """Return the files that a schedule is written to."""
    from perfmodel.chakra.traces import trace_path

    if target is None:
        return []
    if target.suffix in (".xml", ".goal"):
        return [target]
    return [
        trace_path(target.with_suffix("") if target.suffix == ".et" else target, rank)
        for rank in range(npus)
    ]


def _schedule(
    fabric: Any, result: Any, check: bool, draw: Path | None, files: Sequence[Path]
) -> None:
    """Check and draw the schedule of one chunk; check and write that of all data."""
    from perfmodel.collectives.replay import replay
    from perfmodel.collectives.select import build_schedule

    chunk_bytes = result.size_bytes / result.chunks
    name = result.algorithm_name
    schedule = build_schedule(fabric, result.pattern, result.groups, chunk_bytes, name)
    if check:
        replay(schedule)
    if draw:
        from fred_cli.drawings.schedule import draw_schedule

        write_text(draw_schedule(schedule, result.topology), draw)
    if files:
        whole = build_schedule(fabric, result.pattern, result.groups, result.size_bytes, name)
        replay(whole)
        _write(whole, fabric.npus, files)


def _write(schedule: Any, npus: int, files: Sequence[Path]) -> None:
    """Write a schedule in the format of the files."""
    from gen.write import write_outputs
    from perfmodel.chakra.collective import to_goal
    from perfmodel.chakra.files import VERSION, encode
    from perfmodel.chakra.goal import goal_text, to_traces
    from perfmodel.chakra.node import Metadata
    from perfmodel.collectives.msccl import msccl_xml

    if files[0].suffix == ".xml":
        write_text(msccl_xml(schedule), files[0])
        return
    goal = to_goal(schedule, npus)
    if files[0].suffix == ".goal":
        write_text(goal_text(goal), files[0])
        return
    traces = zip(files, to_traces(goal), strict=True)
    write_outputs({path: b"".join(encode(nodes, Metadata(VERSION))) for path, nodes in traces})
