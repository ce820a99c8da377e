"""Command `fred collective`."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import click

from fred_cli.command import Command
from fred_cli.names import names_in, pattern_name
from fred_cli.numbers import Integer
from fred_cli.options import (
    NameChoice,
    OutputPath,
    as_json_option,
    protocol_option,
    refuse_given,
    request_option,
    size_option,
    topology_option,
)
from fred_cli.output import option_names, plain, print_json, print_provenance, table, write_text
from fred_cli.progress import progress
from fred_cli.queued import print_queued
from fred_cli.roce import read_roce, roce_options, with_roce
from fred_cli.schedule_files import schedule_files, write_schedule
from fred_cli.values import parse_group, parse_size
from fred_hw.errors import InputError

__all__ = ["command"]

_OPTIONS = (
    *("topology", "pattern", "size", "group", "chunks", "algorithm", "network_model"),
    *("intra", "latency", "protocol", "cc", "roce"),
)


def _network_models(_context: object) -> Iterable[str]:
    from perfmodel.network.model import NETWORK_MODELS

    # LogGOPS has no topology; `fred estimate` runs schedules and traces with it.
    return tuple(name for name in NETWORK_MODELS if name != "loggops")


def _algorithms() -> str:
    from perfmodel.collectives.algorithm import ALGORITHMS

    *names, last = ALGORITHMS
    return (
        "auto (the fastest), published (the choice of those who published the wafers), "
        f"{', '.join(names)} or {last}. auto tries no multitree and no synthesized."
    )


@click.command("collective", cls=Command, example="fred collective --topology fred-d --size 1GiB")
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
@click.option("--chunks", type=Integer(), help="Number of chunks that the vector is cut into.")
@request_option("algorithm", "auto", _algorithms)
@click.option(
    "--network-model",
    type=NameChoice(_network_models),
    default="fluid",
    show_default=True,
    help="fluid: flows share links. packet: packets of endpoints as in RTL. unaware, aware: "
    "ASTRA-sim's models without and with congestion. roce: RDMA over Ethernet with congestion "
    "control. Chunk orders such as themis are "
    "simulated with one queue per dimension (fluid), as 64 chunks on links (unaware, aware), or "
    "with the chunks of each order as one flow (packet, roce).",
)
@roce_options
@click.option(
    "--intra",
    type=NameChoice(names_in("perfmodel.collectives.themis.queues", "INTRA")),
    help="Order of chunks within a dimension, first come first served or smallest chunk first, "
    "for orders of dimensions such as themis.  [default: scf for themis, fifo for fixed orders]",
)
@click.option(
    "--latency",
    type=NameChoice(names_in("perfmodel.collectives.themis.queues", "LATENCY_MODES")),
    default="occupancy",
    show_default=True,
    help="Whether the latency of a phase blocks its dimension, or only its chunk.",
)
@click.option(
    "--compatible",
    is_flag=True,
    help="Plan all-gathers and round to whole bytes as the code of Themis's authors does.",
)
@protocol_option
@click.option("--check", is_flag=True, help="Replay the schedule symbolically.")
@click.option(
    "--draw",
    type=OutputPath(),
    metavar="FILE.svg",
    help="Draw the schedule of one chunk. For chunk orders such as themis, draw the chunks in "
    "each dimension over time, with those of dimension_order above for comparison.",
)
@click.option(
    "--export",
    type=OutputPath(prefix=True),
    metavar="TARGET",
    help="Write the schedule: MSCCL (.xml), GOAL (.goal), Chakra traces TARGET.RANK.et, or with "
    "network model roce the flows of one chunk for ns-3 (.txt), with their start times.",
)
@click.option(
    "--chart",
    type=OutputPath(),
    metavar="FILE.svg",
    help="With network model roce: draw queues, paused links and rates over time.",
)
@as_json_option
def command(
    topology: str,
    pattern: str,
    size: str,
    group: str | None,
    chunks: int | None,
    algorithm: str,
    network_model: str,
    cc: str | None,
    roce: Path | None,
    intra: str | None,
    latency: str,
    compatible: bool,
    protocol: Any,
    check: bool,
    draw: Path | None,
    export: Path | None,
    chart: Path | None,
    as_json: bool,
) -> None:
    """Simulate one collective on the links of a wafer."""
    from gen.write import check_files
    from perfmodel.collectives.themis.plan import POLICIES
    from perfmodel.collectives.themis.run import CHUNKS, Queuing
    from perfmodel.network.run import FLUID, run_collective
    from tracemodel.api import load_fabric

    with option_names(*_OPTIONS), progress("simulating a collective"):
        parameters = read_roce(network_model, cc, roce, "chart")
        fabric = with_roce(load_fabric(topology, protocol), parameters)
        members = parse_group(group)
        flows = _flows_file(export, network_model)
        files = [] if flows else schedule_files(export, fabric.npus)
        check_files([flows] if flows else files)
        if algorithm in POLICIES and network_model == FLUID:
            count = CHUNKS if chunks is None else chunks
            how = Queuing(algorithm, count, intra, latency, compatible=compatible)
            given = (fabric, pattern, (size, parse_size(size)), members, how)
            print_queued(*given, check=check, draw=draw, files=files, as_json=as_json)
            return
        _refuse_queuing(algorithm, network_model, [*POLICIES])
        if algorithm in POLICIES:
            _refuse_merged(algorithm, network_model, files)
            _refuse_small(size, pattern, fabric.npus if members is None else len(members))
        if draw:
            from fred_cli.drawings.schedule import refuse_crowd

            refuse_crowd(fabric.npus if members is None else len(members))
        how = (members, chunks, algorithm, network_model)
        result = run_collective(fabric, pattern, parse_size(size), *how)
        if chart:
            _draw_congestion(result, f"{pattern} of {size} on {topology}", chart)
        if flows:
            _write_flows(fabric, result, flows)
        if check or draw or files:
            _schedule(fabric, result, check, draw, files)
    _say(result, size, check=check, as_json=as_json)


def _say(result: Any, size: str, *, check: bool, as_json: bool) -> None:
    """Print the result of the simulation."""
    checked = {"checked": True} if check else {}
    if as_json:
        figures = plain(result)
        print_json(
            {
                **figures.pop("details"),
                **figures,
                **checked,
                "effective_bandwidth_bytes_per_s": result.effective_bandwidth_bytes_per_s,
                "bottleneck": plain(result.bottleneck),
            }
        )
        return
    rows = [
        ("time", f"{result.time_s * 1e6:,.2f} us"),
        ("effective NPU bandwidth", f"{result.effective_bandwidth_bytes_per_s / 1e12:.3f} TB/s"),
        ("bus bandwidth", f"{result.bus_bandwidth_bytes_per_s / 1e12:.3f} TB/s"),
        ("sent per NPU", f"{result.bytes_per_npu / 2**20:,.1f} MiB"),
        ("busiest link", f"{result.bottleneck.link}, {result.bottleneck.utilisation:.1%} busy"),
        ("algorithm", result.algorithm),
        ("network model", result.network_model),
        ("chunks", result.chunks),
        *(
            (name.replace("_", " "), _shown(value))
            for name, value in result.details.items()
            if isinstance(value, str | int | float)
        ),
        *([("symbolic check", "every NPU ends with what it should")] if check else []),
    ]
    table(f"{result.pattern} of {size} on {result.topology}", ("what", "value"), rows)
    print_provenance(result.provenance)


def _flows_file(export: Path | None, network_model: str) -> Path | None:
    """Return the ns-3 flow file that network model roce exports; None unless requested."""
    if export is None or export.suffix != ".txt":
        return None
    if network_model != "roce":
        message = f"must not end in .txt with network model {network_model}"
        raise InputError("--export", "", message)
    return export


def _refuse_queuing(algorithm: str, network_model: str, policies: list[str]) -> None:
    """Fail if options of dimension queues are given without the network model fluid."""
    if algorithm in policies:
        message = f"must be left out for {algorithm} with network model {network_model}"
        refuse_given("chunks", "intra", "latency", "compatible", "draw", message=message)
        return
    *names, last = policies
    message = f"must be with algorithm {', '.join(names)} or {last}, not {algorithm}"
    refuse_given("intra", "latency", "compatible", message=message)


def _refuse_small(size: str, pattern: str, npus: int) -> None:
    """Refuse a vector of fewer bytes than chunks by dimensions need."""
    from perfmodel.collectives.themis.run import CHUNKS, least_bytes

    least = least_bytes(pattern, npus)
    if parse_size(size) < least:
        each = "for each chunk" if least == CHUNKS else f"of each of {npus} NPUs for each chunk"
        raise InputError("--size", "", f"must be at least {least} bytes, one {each}, not {size}")


def _refuse_merged(algorithm: str, network_model: str, files: Sequence[Path]) -> None:
    """Fail if all chunks are exported from a model that merges chunks of the same order."""
    from perfmodel.network.model import NETWORK_MODELS
    from perfmodel.network.run import FLUID

    if files and NETWORK_MODELS[network_model].lockstep:
        *names, last = (FLUID, *(name for name, one in NETWORK_MODELS.items() if not one.lockstep))
        message = f"must be with network model {', '.join(names)} or {last} for {algorithm}"
        raise InputError("--export", "", f"{message}, not {network_model}")


def _shown(value: float | str) -> str:
    """Return a figure of an algorithm as text."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else f"{value:.4g}"


def _schedule(
    fabric: Any, result: Any, check: bool, draw: Path | None, files: Sequence[Path]
) -> None:
    """Check and draw the schedule of one chunk; check and export the schedule of all data."""
    from perfmodel.collectives.replay import replay
    from perfmodel.collectives.select import build_schedule

    chunk_bytes = result.size_bytes / result.chunks
    name = result.algorithm_name
    schedule = build_schedule(fabric, result.pattern, result.groups, chunk_bytes, name)
    if check:
        replay(schedule)
    if draw:
        from fred_cli.drawings.schedule import draw_schedule

        names = [node.name for node in fabric.nodes]
        write_text(draw_schedule(schedule, result.topology, names), draw)
    if files:
        whole = build_schedule(fabric, result.pattern, result.groups, result.size_bytes, name)
        replay(whole)
        write_schedule(whole, fabric.npus, files)


def _draw_congestion(result: Any, title: str, path: Path) -> None:
    """Draw queues, paused links and rates of a collective over time."""
    from fred_cli.drawings.congestion import draw_congestion, spans_of

    spans = spans_of(result.details)
    title += f", {spans[0][1]['congestion_control']}"
    write_text(draw_congestion(spans, title), path)


def _write_flows(fabric: Any, result: Any, path: Path) -> None:
    """Write the messages of one chunk as flows for ns-3, each from when it begins."""
    from perfmodel.network.prepared import Request, prepare
    from perfmodel.network.roce.ns3_flows import flows_text

    how = (result.pattern, result.groups, result.algorithm_name, result.network_model)
    flows: list[Any] = []
    start_s = 0.0
    for stage in prepare(fabric, Request(*how)).stages:
        chunk_bytes = stage.times * result.size_bytes / result.chunks
        timed: Any = stage.timed
        flows += timed.flows(chunk_bytes, start_s)
        start_s += timed.time_s(chunk_bytes, chunk_bytes)
    write_text(flows_text(flows), path)
