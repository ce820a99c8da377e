"""Commands of the network: collective, wafers; and the report."""

import re
from pathlib import Path
from typing import Any

import click

from fred_hw.errors import InputError

from .output import (
    as_json_option,
    check_folder,
    option_names,
    plain,
    progress,
    say_json,
    table,
    write_text,
)

__all__ = ["COMMANDS", "parse_group", "parse_size", "protocol_option", "say_provenance"]

_UNITS = {
    "": 1,
    **{f"{prefix}B": 1000**n for n, prefix in enumerate(("", "k", "M", "G", "T"))},
    **{f"{prefix}iB": 1024 ** (n + 1) for n, prefix in enumerate(("K", "M", "G", "T"))},
}

topology_option = click.option(
    "--topology", required=True, metavar="NAME|FILE", help="mesh:5x4, fred-a to fred-d, or YAML."
)
protocol_option = click.option(
    "--protocol",
    type=click.Choice(["measured", "ideal"]),
    help="What headers, CRC, acks and link layer cost: as co-simulated, or nothing. "
    "[default: measured, or as the file says]",
)


def parse_size(text: str) -> float:
    """Return the bytes that text like ``1GiB`` or ``64MB`` means.

    Raises
    ------
    InputError
        The number or the unit is not understood.
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*([a-zA-Z]*)\s*", text)
    units = {unit.lower(): factor for unit, factor in _UNITS.items()}
    if found is None or found[2].lower() not in units:
        known = ", ".join(unit for unit in _UNITS if unit)
        raise InputError("--size", "", f"must be a number with one of {known}, not {text!r}")
    return float(found[1]) * units[found[2].lower()]


def parse_group(text: str | None) -> list[int] | None:
    """Return the NPUs that text like ``0,1,4-7`` means.

    Raises
    ------
    InputError
        It is not of that form.
    """
    if text is None:
        return None
    members: list[int] = []
    for part in text.split(","):
        found = re.fullmatch(r"\s*(\d{1,9})(?:-(\d{1,9}))?\s*", part)
        if found is None or (found[2] and not 0 <= int(found[2]) - int(found[1]) <= 1_000_000):
            raise InputError("--group", "", f"must be NPU numbers like 0,1,4-7, not {text!r}")
        first = int(found[1])
        members += range(first, int(found[2] or first) + 1)
    return members


@click.command()
@topology_option
@click.option("--pattern", default="all_reduce", show_default=True, help="Collective pattern.")
@click.option("--size", default="1GiB", show_default=True, help="Vector, like 64MB or 1GiB.")
@click.option("--group", metavar="LIST", help="NPUs that take part, like 0,1,4-7; all by default.")
@click.option("--chunks", type=int, help="Pieces that the vector is cut into.")
@click.option(
    "--algorithm",
    default="auto",
    show_default=True,
    help="auto, ring, bidirectional_ring, halving_doubling, direct, double_binary_tree, "
    "hierarchical_2d, two_level_ring, in_network or multicast.",
)
@protocol_option
@click.option("--check", is_flag=True, help="Replay the schedule symbolically.")
@click.option("--draw", type=Path, metavar="FILE.svg", help="Draw the schedule of one chunk.")
@as_json_option
def collective(
    topology: str,
    pattern: str,
    size: str,
    group: str | None,
    chunks: int | None,
    algorithm: str,
    protocol: Any,
    check: bool,
    draw: Path | None,
    as_json: bool,
) -> None:
    """Simulate one collective on the links of a wafer."""
    from perfmodel.collectives.run import run_collective
    from perfmodel.topology.parse import parse_topology

    with option_names(*_OPTIONS):
        fabric = parse_topology(topology, protocol)
        members = parse_group(group)
        result = run_collective(fabric, pattern, parse_size(size), members, chunks, algorithm)
        if check or draw:
            _schedule(fabric, result, algorithm, check, draw)
    checked = {"checked": True} if check else {}
    if as_json:
        say_json(
            {
                **plain(result),
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
        *([("symbolic check", "every NPU ends with what it should")] if check else []),
    ]
    table(f"{result.pattern} of {size} on {result.topology}", ("what", "value"), rows)
    say_provenance(result.provenance)


def _schedule(fabric: Any, result: Any, algorithm: str, check: bool, draw: Path | None) -> None:
    """Check and draw the schedule of one chunk."""
    from perfmodel.collectives.replay import replay
    from perfmodel.collectives.select import build_schedule

    chunk_bytes = result.size_bytes / result.chunks
    schedule = build_schedule(fabric, result.pattern, result.groups, chunk_bytes, algorithm)
    if check:
        replay(schedule)
    if draw:
        from .schedule_drawing import draw_schedule

        write_text(draw_schedule(schedule, result.topology), draw)


@click.command()
@topology_option
@click.option("--wafers", "count", default=16, show_default=True, type=int, help="1 to 1024.")
@click.option("--join", default="fred", show_default=True, help="fred or switch.")
@click.option("--size", default="1GiB", show_default=True, help="Vector, like 64MB or 1GiB.")
@protocol_option
@as_json_option
def wafers(topology: str, count: int, join: str, size: str, protocol: Any, as_json: bool) -> None:
    """Simulate an all-reduce over all NPUs of several wafers, joined by their I/O controllers."""
    from perfmodel.topology.parse import parse_topology
    from perfmodel.wafers import run_wafers

    with option_names("topology", "wafers", "join", "size"):
        fabric = parse_topology(topology, protocol)
        result = run_wafers(fabric, count, parse_size(size), join)
    if as_json:
        say_json(result)
        return
    rows = [
        ("time", f"{result.time_s * 1e6:,.2f} us"),
        ("effective NPU bandwidth", f"{result.npu_bandwidth_bytes_per_s / 1e12:.3f} TB/s"),
        ("only inside the wafers", f"{result.inside_s * 1e6:,.2f} us"),
        ("only between the wafers", f"{result.between_s * 1e6:,.2f} us"),
        ("NPUs", result.npus),
    ]
    table(f"all_reduce of {size} on {count} x {result.topology}", ("what", "value"), rows)
    say_provenance(result.provenance)


_OPTIONS = ("topology", "pattern", "size", "group", "chunks", "algorithm")


@click.command()
@click.option("-o", "--output", "folder", required=True, type=Path, help="Folder to write to.")
@click.option("--spec", "spec_source", default="demo-8", show_default=True, help="Switch to show.")
@click.option(
    "--results", type=Path, help="JSON of `fred sim --json`; co-simulated with Icarus if missing."
)
@as_json_option
def report(folder: Path, spec_source: str, results: Path | None, as_json: bool) -> None:
    """Write the HTML report: the switch, its co-simulation, and the wafer."""
    try:
        from .report import build
    except ImportError as error:
        message = f"must be installed for the report: pip install 'fred-hw[report]' ({error})"
        raise InputError("plotly", "", message) from None

    check_folder(folder)
    with progress("writing the report"):
        paths = build(spec_source, folder, results)
    if as_json:
        say_json({"files": paths})
        return
    for path in paths:
        print(path)


def say_provenance(provenance: Any) -> None:
    """Print where the figures come from."""
    for use in provenance.records:
        latency = (
            ""
            if use.latency_cycles is None
            else f"{use.latency_cycles} cycles ({use.latency_s * 1e9:.1f} ns), "
        )
        print(
            f"  {use.switches}: {latency}{use.efficiency:.1%} payload, "
            f"record {use.record} of the {use.measured}, {use.measured_by}"
        )
    for assumption in provenance.assumptions:
        print(f"  assumed: {assumption}")


COMMANDS = (collective, wafers, report)
