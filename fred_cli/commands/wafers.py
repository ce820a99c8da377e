"""Command `fred wafers`."""

from typing import Any

import click

from fred_cli.command import Command
from fred_cli.names import join_name
from fred_cli.options import as_json_option, protocol_option, size_option, topology_option
from fred_cli.output import option_names, say_json, say_provenance, table
from fred_cli.progress import progress
from fred_cli.values import parse_size

__all__ = ["command"]


@click.command("wafers", cls=Command, example="fred wafers --topology fred-d --wafers 16")
@topology_option
@click.option(
    "--wafers",
    "count",
    default=16,
    show_default=True,
    type=int,
    help="Number of wafers, 1 to 1024.",
)
@click.option(
    "--join",
    default="fred",
    show_default=True,
    metavar="NAME",
    type=join_name,
    help="Connection of the wafers: fred or switch.",
)
@size_option
@protocol_option
@as_json_option
def command(topology: str, count: int, join: str, size: str, protocol: Any, as_json: bool) -> None:
    """Simulate an all-reduce over all NPUs of several wafers, joined by their I/O controllers."""
    from perfmodel.topology.parse import parse_topology
    from perfmodel.wafers import run_wafers

    names = ("topology", "wafers", "join", "size")
    with option_names(*names), progress("simulating wafers"):
        fabric = parse_topology(topology, protocol)
        result = run_wafers(fabric, count, parse_size(size), join)
    if as_json:
        say_json(result)
        return
    rows = [
        ("time", f"{result.time_s * 1e6:,.2f} us"),
        ("bus bandwidth", f"{result.bus_bandwidth_bytes_per_s / 1e12:.3f} TB/s"),
        ("only inside the wafers", f"{result.inside_s * 1e6:,.2f} us"),
        ("only between the wafers", f"{result.between_s * 1e6:,.2f} us"),
        ("NPUs", result.npus),
    ]
    table(f"all_reduce of {size} on {count} x {result.topology}", ("what", "value"), rows)
    say_provenance(result.provenance)
