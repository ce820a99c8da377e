"""Command `fred libra`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from fred_cli.columns.libra import COLUMNS
from fred_cli.command import Command
from fred_cli.names import names_in
from fred_cli.numbers import Number
from fred_cli.options import InputPath, NameChoice, as_json_option, csv_option, refuse_given
from fred_cli.output import print_json
from fred_hw.errors import InputError

__all__ = ["command"]

_objectives = NameChoice(names_in("perfmodel.libra.problem", "OBJECTIVES"))


@click.command("libra", cls=Command, example="fred libra examples/bandwidth-design.yaml")
@click.argument("design", required=False, type=InputPath())
@click.option(
    "--workload",
    "workloads",
    multiple=True,
    type=InputPath(),
    metavar="FILE.txt",
    help="In place of DESIGN: a workload in the format of the LIBRA authors; may be repeated.",
)
@click.option(
    "--communicator",
    "communicators",
    multiple=True,
    type=InputPath(),
    metavar="FILE.yml",
    help="Groups of each --workload, in the same order.",
)
@click.option(
    "--weight",
    "weights",
    multiple=True,
    type=Number(1e-9, 1e9),
    help="Weight of each --workload, in the same order; 1 by default.",
)
@click.option("--network", type=InputPath(), metavar="FILE.yml", help="Network of the workloads.")
@click.option("--prices", type=InputPath(), metavar="FILE.yml", help="Prices of the network.")
@click.option(
    "--constraint",
    "constraints",
    multiple=True,
    metavar="TEXT",
    help="Linear constraint, such as 'total = 500' or 'b0 >= b1' [GB/s]; may be repeated.",
)
@click.option("--objective", type=_objectives, help="What to minimise: time by default.")
@csv_option
@as_json_option
def command(
    design: Path | None,
    workloads: tuple[Path, ...],
    communicators: tuple[Path, ...],
    weights: tuple[float, ...],
    network: Path | None,
    prices: Path | None,
    constraints: tuple[str, ...],
    objective: str | None,
    csv_file: Path | None,
    as_json: bool,
) -> None:
    """Choose the bandwidth of each network dimension to minimize time or time x cost."""
    from perfmodel.libra.optimise import equal_split, optimise
    from perfmodel.libra.results import by_dimension

    if design is None:
        files = (workloads, communicators, weights, network, prices)
        dimensions, problem = _of_files(*files, constraints, objective)
    else:
        names = ("workloads", "communicators", "weights", "network", "prices")
        refuse_given(*names, message="must not be given with DESIGN")
        dimensions, problem = _of_design(design, constraints, objective)
    best = optimise(problem)
    equal = equal_split(problem, best.bytes_per_s)
    rows = by_dimension(dimensions, problem, best)
    COLUMNS.write(rows, csv_file)
    if as_json:
        shown = [COLUMNS.json(row, row) for row in rows]
        print_json({**_json(problem, best), "dimensions": shown, "equal_split": _figures(equal)})
        return
    _say(problem, best, equal, rows)


def _say(problem: Any, best: Any, equal: Any, rows: Sequence[Any]) -> None:
    COLUMNS.print(f"Bandwidth of an NPU with the least {problem.objective}", rows)
    names = " + ".join(
        one.name if one.weight == 1 else f"{one.weight:g} x {one.name}" for one in problem.workloads
    )
    print(f"time of {names}: {best.time_s * 1e3:,.4f} ms")
    if best.cost is not None:
        print(f"cost of the network: {best.cost:,.0f} $")
    against = f"{equal.time_s * 1e3:,.4f} ms"
    if problem.objective == "time_x_cost":
        against += f" and {equal.cost:,.0f} $"
    print(
        f"equal bandwidths: {against}, {equal.value / best.value:.4f} times the {problem.objective}"
    )
    print(f"KKT residual: {best.kkt_residual:.1e}")


def _json(problem: Any, best: Any) -> dict[str, Any]:
    return {
        **_figures(best),
        "objective": problem.objective,
        "objective_value": best.value * 1e3,
        "kkt_residual": best.kkt_residual,
        "workloads": [
            {
                "name": one.name,
                "weight": one.weight,
                "time_ms": one.time_s(best.bytes_per_s) * 1e3,
                "compute_ms": one.compute_s * 1e3,
            }
            for one in problem.workloads
        ],
    }


def _figures(found: Any) -> dict[str, Any]:
    return {
        "bandwidth_gb_per_s": [one / 1e9 for one in found.bytes_per_s],
        "time_ms": found.time_s * 1e3,
        "cost": found.cost,
    }


def _of_design(path: Path, constraints: Sequence[str], objective: str | None) -> tuple[Any, Any]:
    """Return the dimensions and the problem of a design, with added constraints and objective."""
    from perfmodel.libra.design import load_design

    file = load_design(path)
    texts = [*file.constraints, *constraints]
    changed = {"constraints": texts, "objective": objective or file.objective}
    file = file.model_copy(update=changed)
    field = "--objective" if objective else "objective"
    return file.network, file.problem(str(path), objective_field=field)


def _of_files(
    workloads: Sequence[Path],
    communicators: Sequence[Path],
    weights: Sequence[float],
    network: Path | None,
    prices: Path | None,
    constraints: Sequence[str],
    objective: str | None,
) -> tuple[Any, Any]:
    """Return the dimensions and the problem in files of the authors' formats."""
    from perfmodel.libra import authors
    from perfmodel.libra.design import problem_of

    for name, given in (("--workload", workloads), ("--network", network)):
        if not given:
            raise InputError("fred libra", name, "must be given, or DESIGN in its place")
    assert network is not None
    for name, given in (("--communicator", communicators), ("--weight", weights)):
        if len(given) != len(workloads) and (given or name == "--communicator"):
            message = (
                f"must be given once for each --workload, {len(workloads)} times, not {len(given)}"
            )
            raise InputError(name, "", message)
    dimensions, tiers = authors.load_network(network)
    if prices:
        dimensions = authors.with_prices(dimensions, tiers, prices)
    found = [
        authors.load_workload(path, authors.load_communicator(groups, dimensions), weight)
        for path, groups, weight in zip(
            workloads, communicators, weights or [1.0] * len(workloads), strict=True
        )
    ]
    problem = problem_of(
        dimensions,
        found,
        constraints,
        objective or "time",
        "fred libra",
        constraint_field="--constraint",
        objective_field="--objective",
        priced=bool(prices),
    )
    return dimensions, problem
