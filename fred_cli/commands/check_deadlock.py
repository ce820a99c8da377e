"""Command `fred check-deadlock`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fred_cli.command import Command
from fred_cli.names import names_in
from fred_cli.options import InputPath, NameChoice, as_json_option, read_spec, set_option
from fred_cli.output import print_json, table
from fred_cli.progress import progress

if TYPE_CHECKING:
    from fred_hw.fabric_plan import FabricPlan
    from fred_hw.waits import Dependency, Wait

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
@as_json_option
def command(fabric: Path, changes: tuple[str, ...], acceptance: str, as_json: bool) -> int:
    """Look for packets that wait for each other on FABRIC, the YAML file of a wafer or a mesh.

    All messages between all addresses are considered, on each route that hardware can take. Urgency
    classes have their own queues and are alike, so one stands for all. Exit status 1 means that
    there is a cycle; its waits are printed.
    """
    from fred_hw.waits import wait_graph

    plan, name = _plan(str(fabric), changes)
    with progress(f"collecting waits of {name}"):
        graph = wait_graph(plan, acceptance)
        cycle = graph.cycle()
    rows = [
        (kind, count, sum(len(needs) for one, needs in graph.edges.items() if one.kind == kind))
        for kind, count in sorted(graph.counts.items())
    ]
    steps = [_words(plan, one) for one in cycle]
    if as_json:
        keys = ("kind", "nodes", "edges")
        waits = [dict(zip(keys, row, strict=True)) for row in rows]
        print_json({"name": name, "acceptance": acceptance, "waits": waits, "cycle": steps})
    else:
        table(f"Graph of waits of {name}", ("kind", "nodes", "edges"), rows)
        print(_verdict(steps))
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


def _words(plan: "FabricPlan[Any]", found: "Dependency") -> dict[str, str]:
    """Return a wait of a cycle for output."""
    has_channels = found.wait.kind == "link queue" and plan.class_channels > 1
    channel = f", channel {found.wait.channel}" if has_channels else ""
    return {
        "waits": f"{found.wait.kind} {_place(plan, found.wait)}{channel}",
        "message": f"{plan.end_name(found.source)} to {plan.end_name(found.destination)}",
    }


def _place(plan: "FabricPlan[Any]", wait: "Wait") -> str:
    """Return the name of the place of a wait."""
    if isinstance(wait.place, int):
        return plan.end_name(wait.place)
    kind, number, port = wait.place
    if kind != "unit":
        return f"behind {plan.end_name(number)}"
    unit = plan.units[number]
    return f"behind port {unit.ports[port]} of {unit.name}"


def _verdict(steps: list[dict[str, str]]) -> str:
    """Return the result in words, with the waits of a cycle."""
    if not steps:
        return "no cycle: no packet, send or ack can wait for itself"
    lines = [f"  {one['waits']} ({one['message']}) waits for" for one in steps]
    return "\n".join([f"cycle of {len(steps)} waits:", *lines, f"  {steps[0]['waits']}"])
