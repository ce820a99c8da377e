"""`fred collective`."""

from pathlib import Path
from typing import Any

import click

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
from fred_cli.values import parse_group, parse_size

__all__ = ["command"]

_OPTIONS = (
    *("topology", "pattern", "size", "group", "chunks", "algorithm", "network_model"),
    *("intra", "latency", "protocol"),
)


def _algorithms() -> str:
    from perfmodel.collectives.algorithm import ALGORITHMS

    *names, last = ALGORITHMS
    return (
        "auto (the fastest), published (the choice of those who published the wafers), "
        f"{', '.join(names)} or {last}."
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
@request_option("algorithm", "auto", _algorithms)
@click.option(
    "--network-model",
    type=NameChoice(names_in("perfmodel.network.model", "NETWORK_MODELS")),
    default="fluid",
    show_default=True,
    help="Shares of links; packets of endpoints as in RTL; or ASTRA-sim's models of messages "
    "without and with congestion. loggops is for schedules that `fred estimate` takes.",
)
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
@as_json_option
def command(
    topology: str,
    pattern: str,
    size: str,
    group: str | None,
    chunks: int | None,
    algorithm: str,
    network_model: str,
    intra: str | None,
    latency: str,
    compatible: bool,
    protocol: Any,
    check: bool,
    draw: Path | None,
    as_json: bool,
) -> None:
    """Simulate one collective on the links of a wafer."""
    from perfmodel.astra.as_topology import load_fabric
    from perfmodel.collectives.themis.plan import POLICIES
    from perfmodel.collectives.themis.run import CHUNKS, Queuing
    from perfmodel.network.run import run_collective

    with option_names(*_OPTIONS), progress("simulating a collective"):
        fabric = load_fabric(topology, protocol)
        members = parse_group(group)
        if algorithm in POLICIES:
            count = CHUNKS if chunks is None else chunks
            how = Queuing(algorithm, count, intra, latency, compatible=compatible)
            given = (fabric, pattern, (size, parse_size(size)), members, how)
            say_queued(*given, check=check, draw=draw, as_json=as_json)
            return
        _refuse_queuing(algorithm, [*POLICIES])
        if draw:
            from fred_cli.drawings.schedule import refuse_crowd

            refuse_crowd(fabric.npus if members is None else len(members))
        how = (members, chunks, algorithm, network_model)
        result = run_collective(fabric, pattern, parse_size(size), *how)
        if check or draw:
            _schedule(fabric, result, check, draw)
    checked = {"checked": True} if check else {}
    if as_json:
        say_json(
            {
                **plain(result),
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
        *([("symbolic check", "every NPU ends with what it should")] if check else []),
    ]
    table(f"{result.pattern} of {size} on {result.topology}", ("what", "value"), rows)
    say_provenance(result.provenance)


def _refuse_queuing(algorithm: str, policies: list[str]) -> None:
    """Refuse options that are for orders of dimensions alone."""
    *names, last = policies
    message = f"must be with algorithm {', '.join(names)} or {last}, not {algorithm}"
    refuse_given("intra", "latency", "compatible", message=message)


def _schedule(fabric: Any, result: Any, check: bool, draw: Path | None) -> None:
    """Check and draw the schedule of one chunk."""
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
