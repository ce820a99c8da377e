"""`fred collective`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from fred_cli.command import Command
from fred_cli.names import names_in, pattern_name
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
from fred_cli.output import option_names, plain, say_json, say_provenance, table, write_text
from fred_cli.progress import progress
from fred_cli.queued import say_queued
from fred_cli.roce import read_roce, roce_options, with_roce
from fred_cli.schedule_files import schedule_files, write_schedule
from fred_cli.values import parse_group, parse_size
from fred_hw.errors import InputError

__all__ = ["command"]

_OPTIONS = (
    *("topology", "pattern", "size", "group", "chunks", "algorithm", "network_model"),
    *("intra", "latency", "protocol", "cc", "roce"),
)


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
@click.option("--chunks", type=int, help="Pieces that the vector is cut into.")
@request_option("algorithm", "auto", _algorithms)
@click.option(
    "--network-model",
    type=NameChoice(names_in("perfmodel.network.model", "NETWORK_MODELS")),
    default="fluid",
    show_default=True,
    help="Shares of links; packets of endpoints as in RTL; ASTRA-sim's models of messages "
    "without and with congestion; or RDMA over Ethernet with congestion control. loggops is for "
    "schedules that `fred estimate` takes. Orders of dimensions such as themis have a queue for "
    "each dimension with fluid, 64 chunks on the links with unaware and aware, and one flow for "
    "the chunks of an order with packet and roce.",
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
    help="Whether the latency of a phase holds up its dimension, or its chunk alone.",
)
@click.option(
    "--compatible",
    is_flag=True,
    help="All-gathers and rounding to whole bytes as in the code of Themis's authors.",
)
@protocol_option
@click.option("--check", is_flag=True, help="Replay the schedule symbolically.")
@click.option(
    "--draw",
    type=OutputPath(),
    metavar="FILE.svg",
    help="Draw the schedule of one chunk; for orders of dimensions, which chunk is in which "
    "dimension when, below the same for dimension_order.",
)
@click.option(
    "--export",
    type=OutputPath(prefix=True),
    metavar="TARGET",
    help="Write the schedule: MSCCL (.xml), GOAL (.goal), Chakra traces TARGET.RANK.et, or with "
    "network model roce the flows of one chunk for ns-3 (.txt), from when they begin here.",
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
    from perfmodel.astra.as_topology import load_fabric
    from perfmodel.collectives.themis.plan import POLICIES
    from perfmodel.collectives.themis.run import CHUNKS, Queuing
    from perfmodel.network.run import FLUID, run_collective

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
            say_queued(*given, check=check, draw=draw, files=files, as_json=as_json)
            return
        _refuse_queuing(algorithm, network_model, [*POLICIES])
        if algorithm in POLICIES:
            _refuse_merged(algorithm, network_model, files)
            if parse_size(size) < CHUNKS:
                message = f"must be at least {CHUNKS} bytes, one for each chunk, not {size}"
                raise InputError("--size", "", message)
        if draw:
            from fred_cli.drawings.schedule import refuse_crowd

            refuse_crowd(fabric.npus if members is None else len(members))
        how = (members, chunks, algorithm, network_model)
        result = run_collective(fabric, pattern, parse_size(size), *how)
        if chart:
            _draw_congestion(result, f"{pattern} of {size} on {topology}", chart)
        if flows and parameters:
            _write_flows(fabric, result, parameters, flows)
        if check or draw or files:
            _schedule(fabric, result, check, draw, files)
    _say(result, size, check=check, as_json=as_json)


def _say(result: Any, size: str, *, check: bool, as_json: bool) -> None:
    """Print what was found."""
    checked = {"checked": True} if check else {}
    if as_json:
        figures = plain(result)
        say_json(
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
    say_provenance(result.provenance)


def _flows_file(export: Path | None, network_model: str) -> Path | None:
    """Return the file of flows for ns-3 that network model roce exports, if that is asked for."""
    if export is None or export.suffix != ".txt":
        return None
    if network_model != "roce":
        message = f"must not end in .txt with network model {network_model}"
        raise InputError("--export", "", message)
    return export


def _refuse_queuing(algorithm: str, network_model: str, policies: list[str]) -> None:
    """Refuse options of dimension queues, which orders of dimensions have with fluid alone."""
    if algorithm in policies:
        message = f"must be left out for {algorithm} with network model {network_model}"
        refuse_given("chunks", "intra", "latency", "compatible", "draw", message=message)
        return
    *names, last = policies
    message = f"must be with algorithm {', '.join(names)} or {last}, not {algorithm}"
    refuse_given("intra", "latency", "compatible", message=message)


def _refuse_merged(algorithm: str, network_model: str, files: Sequence[Path]) -> None:
    """Refuse to write all chunks where the model has timed the chunks of an order as one flow."""
    if files and network_model in ("packet", "roce"):
        message = f"must be with network model fluid, unaware or aware for {algorithm}"
        raise InputError("--export", "", f"{message}, not {network_model}")


def _shown(value: float | str) -> str:
    """Return a figure of an algorithm as text."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else f"{value:.4g}"


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


def _write_flows(fabric: Any, result: Any, parameters: Any, path: Path) -> None:
    """Write the messages of one chunk as flows for ns-3, each from when it begins."""
    from perfmodel.collectives.select import build_schedule
    from perfmodel.network.roce.ns3_flows import flows_of, flows_text
    from perfmodel.network.roce.simulate import simulate
    from perfmodel.network.roce.workload import workload_of

    name = result.algorithm_name
    schedule = build_schedule(fabric, result.pattern, result.groups, 1.0, name, lockstep=True)
    work = workload_of(schedule, result.size_bytes / result.chunks)
    begin_s = simulate(fabric, work, parameters).begin_s.tolist()
    write_text(flows_text(flows_of(fabric, work, begin_s)), path)
