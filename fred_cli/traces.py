"""`fred estimate` of execution traces, on networks as ASTRA-sim describes them."""

from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from fred_cli.output import option_names, say_json, table
from fred_cli.progress import progress

__all__ = ["TRACE_OPTIONS", "check_options", "estimate_traces", "trace_options"]

TRACE_OPTIONS = ("network", "system", "memory", "groups", "network_model")
"""Names of the options that only traces take."""

_SHARED = ("workload", "as_json")

_SHOWN = 6
"""Spans of ranks that a row of the table names."""


def trace_options(command: Any) -> Any:
    """Add the options that only traces take."""
    files = {
        "network": "Network file of ASTRA-sim, in place of a topology; the workload is a prefix "
        "of Chakra traces then.",
        "system": "System file of ASTRA-sim.",
        "memory": "Remote memory file of ASTRA-sim.  [default: no such memory]",
        "groups": "Communicator groups file of ASTRA-sim.",
    }
    options = [
        click.option(f"--{key}", type=Path, metavar="FILE", help=files[key]) for key in files
    ]
    options.append(
        click.option(
            "--network-model",
            type=click.Choice(["unaware", "aware"]),
            help="Of ASTRA-sim: without congestion, or links that carry one message at a time.",
        )
    )
    for option in reversed(options):
        command = option(command)
    return command


def check_options(context: click.Context) -> bool:
    """Return whether traces are meant.

    Raises
    ------
    click.UsageError
        Options do not go together, or one is missing.
    """
    names = [param.name for param in context.command.params if param.name]
    given = [
        name for name in names if context.get_parameter_source(name) == ParameterSource.COMMANDLINE
    ]
    traces = "network" in given
    if not traces and "topology" not in given:
        raise click.UsageError("--topology: must be given, or --network")
    for name in given:
        if name not in _SHARED and (name in TRACE_OPTIONS) != traces:
            other = "--network" if traces else "--topology"
            raise click.UsageError(f"{_option(name)}: must be left out with {other}")
    for name in ("system", "network_model") if traces else ():
        if name not in given:
            raise click.UsageError(f"{_option(name)}: must be given with --network")
    return traces


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def estimate_traces(
    workload: str,
    as_json: bool,
    *,
    network: Path,
    system: Path,
    memory: Path | None,
    groups: Path | None,
    network_model: str,
) -> None:
    """Run traces, and say where the time of each NPU goes."""
    from perfmodel.astra.engine.graph_engine import GraphEngine
    from perfmodel.astra.engine.setup import load_setup
    from perfmodel.astra.engine.trace import load_traces

    with option_names("workload"), progress("running traces"):
        setup = load_setup(network, system, memory, groups)
        traces = load_traces(workload, setup.network.npus, setup.system)
        times = GraphEngine(traces, setup, network_model).run()
    if as_json:
        total_ns = max(one.total_ns for one in times)
        said = {"workload": workload, "network": network, "network_model": network_model}
        say_json({**said, "total_ns": total_ns, "ranks": times})
        return

    alike: dict[tuple[int, ...], list[int]] = {}
    for one in times:
        rank, *figures = vars(one).values()
        alike.setdefault(tuple(figures), []).append(rank)
    table(
        f"{workload}, network model {network_model}; ns",
        ("ranks", "total", "compute", "communication", "overlap", "exposed communication"),
        [(_spans(ranks), *(f"{ns:,}" for ns in figures)) for figures, ranks in alike.items()],
    )


def _spans(ranks: list[int]) -> str:
    """Return ranks in words: those that follow each other as one, and no more than a few."""
    found: list[list[int]] = []
    for rank in ranks:
        if found and found[-1][-1] == rank - 1:
            found[-1][1:] = [rank]
        else:
            found.append([rank])
    said = ["-".join(map(str, one)) for one in found]
    more = f" and {len(said) - _SHOWN} more" if len(said) > _SHOWN else ""
    return ", ".join(said[:_SHOWN]) + more
