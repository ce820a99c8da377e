"""Command `fred roce`: topologies, configurations and flows of Ethernet networks."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from fred_cli.command import Group
from fred_cli.numbers import IntegerFrom
from fred_cli.options import (
    InputPath,
    OutputPath,
    as_json_option,
    topology_name,
    topology_option,
)
from fred_cli.output import option_names, print_json, print_provenance, table, write_text
from fred_cli.progress import progress
from fred_cli.roce import congestion_chart_option, read_roce, roce_options
from fred_hw.errors import InputError

__all__ = ["command"]

_FORMATS = (".txt", ".yaml")
_MAX_GPUS = 4096


@click.group("roce", cls=Group, no_args_is_help=False)
def command() -> None:
    """Create, convert and simulate RDMA-over-Ethernet networks for network model roce.

    With --json its commands print one JSON object.
    """


@command.group("topology", cls=Group, no_args_is_help=False)
def topology() -> None:
    """Write a topology: ns-3 text (.txt) or an InfraGraph description (.yaml)."""


_output = click.option(
    "--output",
    type=OutputPath(),
    metavar="FILE.txt|FILE.yaml",
    required=True,
    help="ns-3 text, or an InfraGraph description.",
)


def _numbers(name: str, text: str, count: int, *, whole: bool = False) -> tuple[Any, ...]:
    """Return a list of positive numbers; a single number stands for all."""
    words = text.split(",")
    found: list[float | int] = []
    for word in words:
        try:
            value = int(word) if whole else float(word)
        except ValueError:
            value = -1
        if not 0 < value <= 1e6:
            kind = "whole numbers" if whole else "numbers"
            raise InputError(name, "", f"must be {kind} above 0, at most 1e6, not {word!r:.40}")
        found.append(value)
    if len(found) == 1:
        found *= count
    if len(found) != count:
        allowed = "1 number" if count == 1 else f"1 or {count} numbers"
        raise InputError(name, "", f"must be {allowed}, not {len(found)}")
    return tuple(found)


@topology.command(
    "clos",
    example="fred roce topology clos --levels 2 --gpus-per-leaf 4 --pods 2 --widths 2 "
    "--output build/clos.yaml",
)
@click.option(
    "--levels",
    type=IntegerFrom(1, 4),
    default=2,
    show_default=True,
    help="Levels of switches; 1 is a single switch.",
)
@click.option("--gpus-per-leaf", type=IntegerFrom(1, 4096), default=16, show_default=True)
@click.option(
    "--pods",
    default="8",
    show_default=True,
    metavar="LIST",
    help="For each level from 2 on: number of leaves, or of pods of the level below, in one pod.",
)
@click.option(
    "--widths",
    default="8",
    show_default=True,
    metavar="LIST",
    help="For each level from 2 on: number of switches at the top of a pod. Each is linked to "
    "every top switch of the pods below.",
)
@click.option(
    "--gbps",
    default="200",
    show_default=True,
    metavar="LIST",
    help="Link rate of each level [Gb/s].",
)
@click.option(
    "--latency-us",
    metavar="LIST",
    help="Link latency of each level [us].  [default: 5, and 12.5 between switches]",
)
@click.option(
    "--nvswitches",
    type=IntegerFrom(0, 64),
    default=0,
    show_default=True,
    help="NVSwitches in each server; 0 for a network without servers.",
)
@click.option("--gpus-per-server", type=IntegerFrom(1, 4096), default=8, show_default=True)
@click.option("--nvlink-gbps", default="2400", show_default=True, metavar="NUMBER")
@click.option("--nvlink-latency-us", default="0.025", show_default=True, metavar="NUMBER")
@click.option(
    "--wafer",
    metavar="NAME|FILE",
    type=topology_name,
    help="Replace the GPUs by the I/O controllers of FRED wafers of this type.",
)
@_output
@as_json_option
def clos(
    levels: int,
    gpus_per_leaf: int,
    pods: str,
    widths: str,
    gbps: str,
    latency_us: str | None,
    nvswitches: int,
    gpus_per_server: int,
    nvlink_gbps: str,
    nvlink_latency_us: str,
    wafer: str | None,
    output: Path,
    as_json: bool,
) -> None:
    """Write a Clos network; defaults are the published network of 128 GPUs, 2:1 oversubscribed."""
    from perfmodel.topology.clos import Clos, clos_file
    from perfmodel.topology.joined_wafers import joined_wafers
    from perfmodel.topology.parse import parse_topology

    late = ",".join(["5", *["12.5"] * (levels - 1)]) if latency_us is None else latency_us
    asked = Clos(
        gpus_per_leaf=gpus_per_leaf,
        pods=_numbers("--pods", pods, levels - 1, whole=True) if levels > 1 else (),
        widths=_numbers("--widths", widths, levels - 1, whole=True) if levels > 1 else (),
        gbps=_numbers("--gbps", gbps, levels),
        latency_us=_numbers("--latency-us", late, levels),
        gpus_per_server=gpus_per_server,
        nvswitches=nvswitches,
        nvlink_gbps=_numbers("--nvlink-gbps", nvlink_gbps, 1)[0],
        nvlink_latency_us=_numbers("--nvlink-latency-us", nvlink_latency_us, 1)[0],
    )
    if not 2 <= asked.gpus <= _MAX_GPUS:
        message = f"must give 2 to {_MAX_GPUS} GPUs with --pods, not {asked.gpus}"
        raise InputError("--gpus-per-leaf", "", message)
    with option_names("gpus_per_server", "widths", "wafer"):
        file = clos_file(asked)
        if wafer is not None:
            file = joined_wafers(file, parse_topology(wafer))
    _write(file, output, as_json)


@topology.command(
    "convert", example="fred roce topology convert build/clos.yaml --output build/clos.txt"
)
@click.argument("source", type=InputPath())
@_output
@as_json_option
def convert(source: Path, output: Path, as_json: bool) -> None:
    """Convert a topology between ns-3 text, InfraGraph and files of kind links."""
    from perfmodel.topology.files import read_topology_file
    from perfmodel.topology.links import LinksFile

    file = read_topology_file(source)
    if not isinstance(file, LinksFile):
        raise InputError(str(source), "kind", f"must be links, not {file.kind!r}")
    file.build(str(source), source.parent)
    _write(file, output, as_json)


@command.command("run", example="fred roce run build/flows.txt --topology build/clos.txt")
@topology_option
@click.argument("flows", type=InputPath())
@roce_options
@congestion_chart_option
@as_json_option
def run(
    topology: str,
    flows: Path,
    cc: str | None,
    roce: Path | None,
    congestion_chart: Path | None,
    as_json: bool,
) -> None:
    """Simulate FLOWS, a flow file of the ns-3 simulator, on a topology.

    Numbers in FLOWS are those of the hosts in an ns-3 topology, and of the NPUs in any other one.
    """
    from perfmodel.network.roce.figures import figures
    from perfmodel.network.roce.ns3_flows import read_flows
    from perfmodel.network.roce.simulate import simulate_flows
    from perfmodel.topology.ns3 import host_numbers
    from perfmodel.topology.parse import parse_topology

    with option_names("topology", "roce"), progress("simulating flows"):
        parameters = read_roce("roce", cc, roce)
        fabric = parse_topology(topology)
        text = topology.endswith(".txt")
        given = read_flows(flows, host_numbers(Path(topology)) if text else range(fabric.npus))
        found = simulate_flows(fabric, given, parameters)
        said = dict(figures(found, parameters))
        provenance = fabric.provenance.plus(*parameters.assumptions)
    if congestion_chart:
        from fred_cli.drawings.congestion import draw_congestion

        title = f"{flows} on {topology}, {parameters.congestion_control}"
        write_text(draw_congestion([(0.0, said)], title), congestion_chart)
    if as_json:
        result = {"topology": topology, "time_s": found.time_s, **said}
        print_json({**result, "provenance": provenance})
        return
    shown = [
        (name.replace("_", " "), f"{value:,.4g}" if isinstance(value, float) else value)
        for name, value in said.items()
        if isinstance(value, str | int | float)
    ]
    table(f"{len(given)} flows on {topology}", ("what", "value"), shown)
    print_provenance(provenance)


@command.command("config", example="fred roce config examples/roce.yaml --output build/config.txt")
@click.argument("source", type=InputPath())
@click.option(
    "--output",
    type=OutputPath(),
    metavar="FILE.txt",
    required=True,
    help="Configuration of the ns-3 simulator.",
)
@as_json_option
def config(source: Path, output: Path, as_json: bool) -> None:
    """Write SOURCE, parameters of network model roce, as a configuration of the ns-3 simulator.

    Trains of packets are left out, as ns-3 simulates each packet. Other parameters that the format
    has no key for must have their default values.
    """
    from perfmodel.network.roce.files import load_parameters
    from perfmodel.network.roce.ns3_config import config_text

    if output.suffix != ".txt":
        raise InputError("--output", "", f"must end in .txt, not {output.name!r}")
    text = config_text(load_parameters(source), str(source))
    write_text(text, output)
    lines = text.count("\n")
    if as_json:
        print_json({"lines": lines, "output": str(output)})
        return
    print(f"{lines} lines in {output}")


def _write(file: Any, output: Path, as_json: bool) -> None:
    """Write a topology in the format of the file name, and print its size."""
    from perfmodel.topology.infragraph import infragraph_text
    from perfmodel.topology.ns3 import links_text

    if output.suffix not in _FORMATS:
        raise InputError(
            "--output", "", f"must end in {' or '.join(_FORMATS)}, not {output.name!r}"
        )
    text = links_text(file) if output.suffix == ".txt" else infragraph_text(file, output.stem)
    write_text(text, output)
    figures: Sequence[tuple[str, int]] = (
        ("nodes", file.npus + file.switches),
        ("gpus", file.npus),
        ("switches", file.switches),
        ("links", len(file.links)),
    )
    if as_json:
        print_json({**dict(figures), "output": str(output)})
        return
    table(f"Topology in {output}", ("what", "count"), figures)
