"""Command `fred check-deadlock`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fred_cli.command import Command
from fred_cli.names import names_in
from fred_cli.options import InputPath, NameChoice, as_json_option, read_spec, set_option
from fred_cli.output import print_json
from fred_cli.phases_in_flight import check_phases
from fred_cli.progress import progress
from fred_cli.waits import cycle_words, print_waits, verdict, waits_of
from fred_hw.errors import InputError

if TYPE_CHECKING:
    from fred_hw.fabric_plan import FabricPlan

__all__ = ["command"]

_FABRIC = "a mesh or wafer specification"


@click.command("check-deadlock", cls=Command, example="fred check-deadlock examples/wafer-20.yaml")
@click.argument("fabric", metavar="FABRIC", type=InputPath())
@set_option
@click.option(
    "--acceptance",
    type=NameChoice(names_in("fred_hw.waits", "ACCEPTANCE")),
    default="bounded",
    show_default=True,
    help="How endpoints treat a flit that they cannot take: drop it after a bounded time, as the "
    "hardware does (bounded), or hold the link forever (endless).",
)
@click.option(
    "--strategy",
    help="For a mesh: consider the phases of a strategy like MP2-DP2-PP2 instead, all in flight "
    "together, on routers that reduce and multicast (level reducing_mesh).",
)
@click.option(
    "--unicasts",
    is_flag=True,
    help="With --strategy: also consider unicasts between all addresses, on the virtual channels "
    "of the phases.",
)
@as_json_option
def command(
    fabric: Path,
    changes: tuple[str, ...],
    acceptance: str,
    strategy: str | None,
    unicasts: bool,
    as_json: bool,
) -> int:
    """Look for packets that wait for each other on FABRIC, the YAML file of a wafer or a mesh.

    All messages between all addresses are considered, on each route that hardware can take. Urgency
    classes have their own queues and are alike, so one stands for all. Exit status 1 means that
    there is a cycle; its waits are printed.

    With --strategy, the phases of the strategy are considered instead, and each NPU begins them in
    the same order. If there is a cycle, successive sets of phases without one are printed. Phases
    without trees are left out and listed.
    """
    from fred_hw.waits import wait_graph

    if strategy is not None:
        if acceptance != "bounded":
            raise InputError("--acceptance", "", "must be bounded with --strategy, not endless")
        return check_phases(str(fabric), changes, strategy, unicasts, as_json)
    if unicasts:
        raise InputError("--unicasts", "", "must be given with --strategy")
    plan, name = _plan(str(fabric), changes)
    with progress(f"collecting waits of {name}"):
        graph = wait_graph(plan, acceptance)
        cycle = graph.cycle()
    steps = cycle_words(plan, cycle)
    if as_json:
        found = {"name": name, "acceptance": acceptance}
        print_json({**found, "waits": waits_of(graph), "cycle": steps})
    else:
        print_waits(name, graph)
        print(verdict(steps, "packet, send or ack"))
    return int(bool(cycle))


def _plan(source: str, changes: tuple[str, ...]) -> "tuple[FabricPlan[Any], str]":
    """Return the plan of a fabric and its name."""
    from fred_cli.name_kinds import check_name
    from fred_hw.files import check_file_kind, read_data
    from fred_hw.mesh.load import is_mesh, load_mesh
    from fred_hw.wafer.load import is_wafer, load_wafer
    from fred_hw.wafer.plane import Plane

    if is_mesh(source):
        mesh = read_spec(source, changes, load_mesh, _FABRIC)
        return mesh.plan, mesh.name
    check_name(source, _FABRIC)
    if not is_wafer(source):
        check_file_kind(_FABRIC, read_data(Path(source)), source)
    wafer = read_spec(source, changes, load_wafer, _FABRIC)
    return Plane(wafer), wafer.name
