"""Command `fred route`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fred_cli.command import Command
from fred_cli.fabric_program import route_fabric
from fred_cli.names import names_in
from fred_cli.numbers import Integer
from fred_cli.options import (
    InputPath,
    NameChoice,
    OutputPath,
    as_json_option,
    collectives_name,
    only_option,
    read_pruned,
    set_option,
    spec_argument,
)
from fred_cli.output import checked, option_names, plain, print_json, write_json, write_text
from fred_cli.progress import progress
from fred_hw.errors import InputError

if TYPE_CHECKING:
    from fred_hw.compiler.flows import Flow
    from fred_hw.spec import SwitchSpec

__all__ = ["command"]

_RENAMED = {"bidirectional": "bidirectional_ring", "hierarchical": "hierarchical_2d_halves"}
"""Former names of algorithms on a mesh."""


@click.command("route", cls=Command, example="fred route demo-8 --strategy MP2-DP2-PP2")
@spec_argument
@click.argument("flows_file", metavar="[FLOWS]", required=False, type=InputPath())
@set_option
@click.option(
    "--strategy", help="Route all phases of a strategy like MP2-DP5-PP2 or TP2-DP5-PP2 instead."
)
@click.option(
    "--max-conflicts", type=Integer(), help="Bound on the exact search, in solver conflicts."
)
@click.option(
    "--effort",
    type=Integer(),
    hidden=True,
    help="Former name of --max-conflicts.",
)
@click.option(
    "--generation", type=Integer(), help="Generation of the phases, 0 to 65535; by default 0."
)
@click.option(
    "--draw", "picture", type=OutputPath(), metavar="FILE", help="Draw routed FLOWS as SVG."
)
@click.option(
    "--algorithm",
    type=NameChoice(names_in("fred_hw.mesh.collectives", "algorithm_names"), _RENAMED),
    help="For a mesh: algorithm of collectives; by default auto, the last that fits a group.",
)
@click.option(
    "--size",
    help="For a wafer or mesh: bytes that an NPU sends in a phase and plane; by default 64KiB.",
)
@click.option(
    "--collectives",
    type=collectives_name,
    help="For a wafer: collectives by switches (the default), or by rings of endpoints.",
)
@click.option(
    "-o",
    "--output",
    type=OutputPath(),
    metavar="FILE",
    help="For a wafer or mesh: write its program as JSON.",
)
@click.option(
    "--certify",
    "certificate",
    type=OutputPath(),
    metavar="FILE",
    help="Write a certificate of the routing for `fred verify`, as JSON.",
)
@only_option
@as_json_option
def command(
    spec_source: str,
    flows_file: Path | None,
    changes: tuple[str, ...],
    strategy: str | None,
    max_conflicts: int | None,
    effort: int | None,
    generation: int | None,
    picture: Path | None,
    algorithm: str | None,
    size: str | None,
    collectives: str | None,
    output: Path | None,
    certificate: Path | None,
    needs: Path | None,
    as_json: bool,
) -> int:
    """Route FLOWS, a YAML or JSON list of {inputs, outputs}, on SPEC, or a strategy on a fabric.

    With a pruned SPEC and no FLOWS, print all of its configurations. FLOWS must have one of them.

    With --json, also print the entries of the whole switch's configuration memory, one per virtual
    channel; --generation must be one more than that of the previous entry. Exit status 3 means that
    flows conflict, 4 that the search reached --max-conflicts without an answer. For a wafer (a YAML
    file with switches), print all register writes of the switches and endpoints of a plane; for a
    mesh (a file with a width), those of the endpoints.
    """
    from fred_hw.mesh.load import is_mesh
    from fred_hw.wafer.load import is_wafer
    from fred_hw.wafer.program import COLLECTIVES

    number = _generation(generation)
    conflicts = _conflicts(max_conflicts, effort)
    of_switches: dict[str, object] = {
        "FLOWS": flows_file,
        "--max-conflicts": conflicts,
        "--draw": picture,
        "--only": needs,
    }
    given = spec_source, changes, strategy, size or "64KiB", output, as_json
    if is_mesh(spec_source):
        _refuse(of_switches, "a switch, not a mesh")
        unwanted = {"--generation": generation, "--certify": certificate}
        _refuse(unwanted, "a switch or a wafer, not a mesh")
        _refuse({"--collectives": collectives}, "a wafer, not a mesh")
        route_fabric("mesh", *given, algorithm=algorithm or "auto")
        return 0
    _refuse({"--algorithm": algorithm}, "a mesh, not a switch or a wafer")
    if is_wafer(spec_source):
        _refuse(of_switches, "a switch, not a wafer")
        more = {"generation": number, "collectives": collectives or COLLECTIVES[0]}
        route_fabric("wafer", *given, certificate, **more)
        return 0
    # Report errors in the file before those in options.
    spec = read_pruned(spec_source, changes, needs)
    _refuse({"--collectives": collectives}, "a wafer, not a switch")
    _refuse({"--size": size, "--output": output}, "a wafer or a mesh, not a switch")
    _check_given(spec, conflicts, generation, as_json)
    how = strategy, flows_file, conflicts, number, picture, certificate, as_json
    return _route(spec, str(needs or spec_source), "strategies" if needs else "only", *how)


def _check_given(
    spec: "SwitchSpec", conflicts: int | None, generation: int | None, as_json: bool
) -> None:
    """Fail if an option has no effect: configurations of a pruned switch are looked up."""
    if spec.only is not None:
        _refuse({"--max-conflicts": conflicts}, "a full switch, not a pruned one")
    if generation is not None and not as_json:
        raise InputError("route", "--generation", "must be given with --json, which has entries")


def _route(
    spec: "SwitchSpec",
    source: str,
    field: str,
    strategy: str | None,
    flows_file: Path | None,
    max_conflicts: int | None,
    number: int,
    picture: Path | None,
    certificate: Path | None,
    as_json: bool,
) -> int:
    """Route flows or a strategy on a switch, and return the exit status."""
    from fred_hw.compiler.routing import DEFAULT_CONFLICTS
    from fred_hw.networks.network import NETWORKS
    from fred_hw.progress import track
    from fred_hw.pruning import needed_result, needed_results

    if spec.network != "fred":
        _refuse({"--draw": picture, "--certify": certificate}, "network fred")
    route_flows = NETWORKS[spec.network].route
    bound = DEFAULT_CONFLICTS if max_conflicts is None else max_conflicts
    every = spec.only is not None and flows_file is None and strategy is None
    sets = {} if every else _sets(spec, strategy, flows_file)
    if picture is not None and flows_file is None:
        raise InputError("route", "--draw", "must be given with FLOWS")
    # A strategy with one worker has no phases, so nothing can conflict.
    nothing = _routing_report(spec, route_flows((), spec), number)
    with checked("--max-conflicts", spec=source), progress("routing"):
        results = {
            name: route_flows(flows, spec, bound)
            if spec.only is None
            else needed_result(spec, name, flows, source, field)
            for name, flows in track(list(sets.items()), "phases")
        }
    if every:
        with checked(source):
            results = needed_results(spec)
    if picture is not None:
        _draw(results["flows"], picture)
    if certificate is not None:
        _certify(spec, strategy, results, bound, certificate)
    statuses = {result.status for result in results.values()}
    reports = {name: _routing_report(spec, result, number) for name, result in results.items()}
    if as_json:
        first = next(iter(reports.values()), nothing)
        worst = next((r for r in reports.values() if not r["routed"]), first)
        print_json({**worst, "phases": reports} if strategy or every else worst)
    else:
        _say(reports)
    return 3 if "conflict" in statuses else 4 if "unknown" in statuses else 0


def _certify(
    spec: "SwitchSpec",
    strategy: str | None,
    results: dict[str, Any],
    max_conflicts: int,
    path: Path,
) -> None:
    """Write the certificate of results, unless the search for one of them was too short."""
    from fred_hw.certificate.writing import certify_switch
    from fred_hw.compiler.exact import EffortError
    from fred_hw.compiler.placement import Strategy

    parsed = Strategy.parse(strategy) if strategy else None
    try:
        with checked("route", "--certify"), progress("certifying"):
            found = certify_switch(spec, parsed, results, max_conflicts=max_conflicts)
    except EffortError:
        click.echo("warning: --certify: no file, as the search reached --max-conflicts", err=True)
    else:
        write_json(found, path)


def _conflicts(given: int | None, effort: int | None) -> int | None:
    """Return the bound of the search, which ``--effort`` gives as well."""
    if effort is not None:
        click.echo("warning: --effort: is deprecated; use --max-conflicts", err=True)
    return effort if given is None else given


def _generation(given: int | None) -> int:
    """Return the generation of entries, the first by default; fail if invalid."""
    from fred_hw.checks import check_int
    from fred_hw.protocol import FULL_GENERATIONS

    with option_names("generation"), checked(""):
        return check_int("generation", given or 0, minimum=0, maximum=FULL_GENERATIONS - 1)


def _say(reports: dict[str, dict[str, Any]]) -> None:
    """Print the result of routing each set of flows."""
    for name, report in reports.items():
        print(f"{name}: {_routing_text(report)}")
    if not reports:
        print("nothing to route: the strategy has one worker")


def _refuse(given: dict[str, object], allowed: str) -> None:
    """Fail if options do not apply to the hardware."""
    for name, value in given.items():
        if value is not None:
            raise InputError("route", name, f"must be given with {allowed}")


def _sets(
    spec: "SwitchSpec", strategy: str | None, file: Path | None
) -> dict[str, tuple["Flow", ...]]:
    """Return the flows of each phase of a strategy, or the flows in a file."""
    from fred_hw.compiler.flows import read_flows
    from fred_hw.compiler.placement import Strategy, phases

    if (file is None) == (strategy is None):
        raise InputError("route", "FLOWS", "must be a file, or --strategy given, but not both")
    if strategy is not None:
        with checked("--strategy"):
            return phases(Strategy.parse(strategy), ports=spec.ports)
    assert file is not None
    return {"flows": read_flows(file, spec.ports)}


def _draw(result: Any, path: Path) -> None:
    """Write the routed flows as SVG; draw nothing if there is a conflict."""
    from fred_cli.drawings.interconnect import draw_interconnect

    if result.configuration is not None:
        svg = draw_interconnect(result.configuration, result.flows)
        write_text(svg + "\n", path)


def _routing_report(spec: "SwitchSpec", result: Any, generation: int) -> dict[str, Any]:
    from fred_hw.control.phase_entry import entry_word

    configuration = result.configuration

    def word(circuit: int) -> int:
        return entry_word(spec, configuration, result.flows, circuit, generation=generation)

    return {
        "routed": result.status == "routed",
        "status": result.status,
        "flows": [flow.to_dict() for flow in result.flows],
        "paths": plain(result.paths),
        "conflict": [
            {"index": index, **result.flows[index].to_dict()} for index in result.conflict
        ],
        "conflict_is_smallest": result.smallest if result.conflict else None,
        "configuration": None
        if configuration is None
        else {"word": f"{configuration.pack():#x}", **configuration.to_dict()},
        "entries": None
        if configuration is None
        else {
            name: f"{word(circuit):#x}" for circuit, name in enumerate(spec.protocol.channels.names)
        },
    }


def _routing_text(report: dict[str, Any]) -> str:
    if report["routed"]:
        return f"routed, {len(report['flows'])} flows, word {report['configuration']['word']}"
    if report["status"] == "unknown":
        return "unknown: the search reached --max-conflicts before it found a routing or a conflict"
    flows = "; ".join(
        f"{flow['index']}: {flow['inputs']} -> {flow['outputs']}" for flow in report["conflict"]
    )
    kind = "smallest" if report["conflict_is_smallest"] else "irreducible"
    return f"conflict; {kind} set that clashes: {flows}"
