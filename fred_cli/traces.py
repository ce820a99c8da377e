"""`fred estimate` of execution traces, on ASTRA-sim networks and built-in topologies."""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from fred_cli.name_kinds import check_name
from fred_cli.names import loggops_key
from fred_cli.options import (
    InputPath,
    NameChoice,
    NameOrFile,
    OutputPath,
    control_option,
    topology_name,
)
from fred_cli.output import (
    need_plotly,
    option_names,
    plain,
    print_json,
    print_provenance,
    table,
    write_given,
)
from fred_cli.progress import progress
from fred_cli.roce import read_roce
from fred_cli.run_figures import print_figures, print_ranks, spans
from fred_cli.trace_tables import collectives_csv, links_csv, print_details, ranks_csv
from fred_cli.values import parse_group
from perfmodel.training.options import OPTIONS

from .numbers import IntegerFrom

__all__ = [
    "TRACE_OPTIONS",
    "check_options",
    "estimate_traces",
    "given_names",
    "trace_options",
]

TRACE_OPTIONS = (
    "network",
    "system",
    "memory",
    "groups",
    "loggops",
    "job",
    "symmetry",
    "chart",
    "queues",
    "control",
    "details",
    "csv_file",
    "collectives_file",
    "links_file",
)
"""Names of the options that apply only to traces."""

_SHARED = (
    "workload",
    "as_json",
    "protocol",
    "algorithm",
    "energy",
    "memory",
    "network_model",
    "repeats",
    "timeline",
    "cc",
    "roce",
    "congestion_chart",
)

_OF_ONE = ("chart", "details", "csv_file", "collectives_file", "links_file", "timeline")
"""Names of the options that conflict with --job."""

_JOB = re.compile(r"(.+?):([0-9, -]+)(?::([0-9]{1,3}))?")


def _network_models(_context: click.Context) -> Iterable[str]:
    from tracemodel.names import NETWORK_MODELS

    return dict.fromkeys((*OPTIONS["network_model"].names(), *NETWORK_MODELS, "loggops"))


_MODEL_OPTIONS = (
    click.option(
        "--network-model",
        type=NameChoice(_network_models),
        default="fluid",
        show_default=True,
        help="fluid, packet and roce are built in. unaware and aware are those of ASTRA-sim, "
        "without and with congestion. loggops has no --network: it runs a GOAL text FILE.goal "
        "or traces.",
    ),
    click.option(
        "--loggops",
        metavar="KEY=VALUE",
        type=loggops_key,
        multiple=True,
        help="Parameter of LogGOPS: L, o or g [ns], G or O [ns per byte]. L is required, the "
        "others are 0 by default. Repeat for more.",
    ),
)


_RUN_OPTIONS = [
    click.option(
        "--network",
        metavar="NAME|FILE",
        type=topology_name,
        multiple=True,
        help="Network file of ASTRA-sim, or a built-in topology, instead of --topology; the "
        "workload is then a prefix of Chakra traces. Repeat for more.",
    ),
    click.option("--system", type=InputPath(), metavar="FILE", help="System file of ASTRA-sim."),
    click.option(
        "--memory",
        type=InputPath(),
        metavar="FILE",
        help="Remote memory file of ASTRA-sim, or a hierarchical pool. Without --network, weights "
        "and input are loaded from it instead of from I/O controllers.  [default: none]",
    ),
    click.option(
        "--groups",
        type=InputPath(),
        metavar="FILE",
        multiple=True,
        help="Communicator groups file of ASTRA-sim, one for all jobs or one for each.",
    ),
    *_MODEL_OPTIONS,
    click.option(
        "--job",
        metavar="PREFIX:NPUS[:PRIORITY]",
        type=NameOrFile(),
        multiple=True,
        help="Run traces on NPUs such as 0,1,4-7, instead of --workload. In the network model "
        "fluid, a lower priority number is served first. Repeat for more.",
    ),
    click.option(
        "--symmetry/--no-symmetry",
        default=True,
        help="Compute work that is the same on several NPUs only once.  [default: symmetry]",
    ),
    control_option,
    click.option(
        "--num-queues-per-dim",
        "queues",
        type=IntegerFrom(1, 1024),
        default=1,
        show_default=True,
        help="Queues of each dimension of an ASTRA-sim network. Chunks and phases use them in "
        "rotation; each queue serves its share of active-chunks-per-dimension, at least one.",
    ),
]
"""Options that select the inputs and the simulation of a run."""

_REPORT_OPTIONS = [
    click.option(
        "--chart",
        type=OutputPath(),
        metavar="FILE.html",
        help="Draw stacked bars of time, one bar per network.",
    ),
    click.option(
        "--details",
        is_flag=True,
        help="Also report collectives, links and the use of compute. All nodes of all ranks are "
        "then simulated, as with --collectives-csv, --links-csv and --timeline.",
    ),
    click.option(
        "--collectives-csv",
        "collectives_file",
        type=OutputPath(),
        metavar="FILE",
        help="Write each collective of each rank as CSV.",
    ),
    click.option(
        "--links-csv",
        "links_file",
        type=OutputPath(),
        metavar="FILE",
        help="Write the bytes and the utilization of each link as CSV.",
    ),
    click.option(
        "--csv",
        "csv_file",
        type=OutputPath(),
        metavar="FILE",
        help="Write the times of each rank on each network as CSV.",
    ),
]
"""Options that select the outputs of a run."""


def trace_options(command: Any) -> Any:
    """Add the options that apply only to traces."""
    for option in reversed([*_RUN_OPTIONS, *_REPORT_OPTIONS]):
        command = option(command)
    return command


def given_names(context: click.Context) -> list[str]:
    """Return the names of the options and arguments given on the command line."""
    names = [param.name for param in context.command.params if param.name]
    return [
        name for name in names if context.get_parameter_source(name) == ParameterSource.COMMANDLINE
    ]


def check_options(context: click.Context) -> bool:
    """Return whether traces are requested.

    Raises
    ------
    click.UsageError
        Options do not go together, or one is missing.
    """
    given = given_names(context)
    traces = "network" in given
    if not traces and "topology" not in given:
        raise click.UsageError("--topology: must be given without --network")
    for name in given:
        if name not in _SHARED and (name in TRACE_OPTIONS) != traces:
            other = "--network" if traces else "--topology"
            raise click.UsageError(f"{_option(context, name)}: must be left out with {other}")
    if traces and "system" not in given:
        raise click.UsageError("--system: must be given with --network")
    if ("workload" in given) == ("job" in given):
        problem = "left out with --job" if "job" in given else "given"
        raise click.UsageError(f"--workload: must be {problem}")
    model = context.params.get("network_model")
    for name in _OF_ONE if "job" in given else ():
        if name in given:
            raise click.UsageError(f"{_option(context, name)}: must be left out with --job")
    for name in ("timeline", "congestion_chart"):
        if name in given and len(context.params["network"]) > 1:
            message = "must be left out with more than one --network"
            raise click.UsageError(f"{_option(context, name)}: {message}")
    for name in ("protocol", "algorithm") if traces and model not in ("fluid", "roce") else ():
        if name in given:
            message = f"must be left out with network model {model}"
            raise click.UsageError(f"{_option(context, name)}: {message}")
    return traces


def _option(context: click.Context, name: str) -> str:
    """Return the name of a command's parameter on the command line."""
    return next(one.opts[-1] for one in context.command.params if one.name == name)


def estimate_traces(
    workload: str | None,
    as_json: bool,
    *,
    network: tuple[str, ...],
    network_model: str,
    job: tuple[str, ...],
    chart: Path | None,
    timeline: Path | None,
    details: bool,
    csv_file: Path | None,
    collectives_file: Path | None,
    links_file: Path | None,
    congestion_chart: Path | None,
    cc: str | None,
    roce: Path | None,
    **given: Any,
) -> None:
    """Run traces, and print the time of each NPU by activity."""
    from tracemodel.api import Inputs, JobRequest, estimate_jobs
    from tracemodel.api import estimate_traces as run_traces

    if chart:
        need_plotly()
    needs = bool(details or collectives_file or links_file or timeline)
    with (
        option_names("workload", "protocol", "algorithm", "energy", "roce"),
        progress("running traces"),
    ):
        parameters = read_roce(network_model, cc, roce, "congestion_chart")
        inputs = Inputs(model=network_model, details=needs, roce=parameters, **given)
        if workload is None:
            requests = [JobRequest(*_job(one)) for one in job]
            found = estimate_jobs(requests, network, inputs)
        else:
            if len(inputs.groups) > 1:
                raise click.UsageError("--groups: must be given once without --job")
            check_name(workload, "the prefix of traces", "workload")
            found = run_traces(workload, network, inputs)
    files = {csv_file: ranks_csv, collectives_file: collectives_csv, links_file: links_csv}
    texts = {path: partial(text, found) for path, text in files.items()}
    texts = {**texts, chart: partial(_chart, found), timeline: partial(_timeline, found)}
    write_given({**texts, congestion_chart: partial(_congestion, found)})
    if as_json:
        said = [_json(one, details) for one in found]
        print_json(said if len(said) > 1 else said[0])
        return
    if len(found) > 1:
        _say_networks(found)
        return
    _say_run(found[0], details)


def _say_run(one: Any, details: bool) -> None:
    """Print a run on one network."""
    if one.jobs:
        _say_jobs(one)
    else:
        title = f"{one.workload} on {one.network}, network model {one.network_model}; ns"
        print_ranks(title, one.ranks)
    print_figures(one)
    if details:
        print_details(one.details)
    _say_congestion(one)
    _say_faster(one)
    print_provenance(one.provenance)


def _chart(found: Sequence[Any]) -> str:
    """Return a page with a chart."""
    from fred_cli.drawings.chart import page
    from fred_cli.drawings.traces import trace_chart

    return page(f"{found[0].workload} on networks", trace_chart(found))


def _timeline(found: Sequence[Any]) -> str:
    """Return the timeline of the single network."""
    from tracemodel.api import node_names, trace_timeline

    (one,) = found
    title = f"{one.workload} on {one.network}, network model {one.network_model}"
    return json.dumps(trace_timeline(one.spans, node_names(one.workload), title), indent=1) + "\n"


def _congestion(found: Sequence[Any]) -> str:
    """Return a chart of queues, paused links and rates on the single network."""
    from fred_cli.drawings.congestion import draw_congestion

    (one,) = found
    title = f"{one.workload} on {one.network}, {one.congestion['congestion_control']}"
    return draw_congestion([(0.0, one.congestion)], title)


def _job(text: str) -> tuple[str, tuple[int, ...], int]:
    """Return the prefix, NPUs and priority in a job option."""
    found = _JOB.fullmatch(text)
    if found is None:
        raise click.UsageError(f"--job: must be like traces/step:0-15 or step:0-3:1, not {text!r}")
    return found[1], tuple(parse_group(found[2], "--job") or ()), int(found[3] or 0)


def _json(one: Any, details: bool) -> dict[str, Any]:
    """Return an estimate as JSON values, without keys for missing parts."""
    said = plain(replace(one, spans=(), details=one.details if details else None))
    del said["spans"]
    if not one.congestion:
        del said["congestion"]
    if not details:
        del said["details"]
    if one.jobs:
        del said["ranks"]
        for job, found in zip(said["jobs"], one.jobs, strict=True):
            job["slowdown"] = found.slowdown
    else:
        del said["jobs"]
    if one.faster_than_links:
        said["faster_than_links"]["worst"]["times"] = one.faster_than_links.worst.times
    return said


def _say_networks(found: Sequence[Any]) -> None:
    """Print one row per network."""
    rows: list[tuple[str, ...]] = []
    for one in found:
        last = max(one.ranks or one.jobs, key=lambda row: row.total_ns)
        name = (one.network, f"{one.total_ns:,}", f"{one.total_ns / found[0].total_ns:.3f}")
        if one.jobs:
            rows.append((*name, *(f"{job.total_ns:,}" for job in one.jobs)))
            continue
        figures = (last.compute_ns, last.communication_ns, last.exposed_communication_ns)
        rows.append((*name, *(f"{ns:,}" for ns in figures)))
    parts = ("compute", "communication", "exposed communication")
    columns = [one.job for one in found[0].jobs] or parts
    title = f"{found[0].workload}, network model {found[0].network_model}; ns"
    table(
        title + ("" if found[0].jobs else ", of the rank that ends last"),
        ("network", "total", "of the first", *columns),
        rows,
    )
    for one in found:
        _say_faster(one, f"{one.network}: ")


def _say_jobs(one: Any) -> None:
    """Print one row per job."""
    table(
        f"jobs on {one.network}, network model {one.network_model}; ns",
        ("job", "NPUs", "priority", "total", "alone", "slowdown"),
        [
            (
                job.job,
                spans(sorted(job.npus)),
                job.priority,
                f"{job.total_ns:,}",
                f"{job.alone_ns:,}",
                f"{job.slowdown:.3f}",
            )
            for job in one.jobs
        ],
    )


def _say_congestion(one: Any) -> None:
    """Print the congestion of the network, for network model roce."""
    if one.congestion:
        found = one.congestion
        print(
            f"  {found['congestion_control']}: {found['pauses']:,} pauses, {found['marks']:,} "
            f"packets marked, {found['drops']:,} dropped, longest queue "
            f"{found['queue_longest_bytes'] / 1e3:,.4g} kB"
        )


def _say_faster(one: Any, front: str = "") -> None:
    """Warn how much faster than its links a congestion-unaware model is."""
    if not one.faster_than_links:
        return
    faster, worst = one.faster_than_links, one.faster_than_links.worst
    print(
        f"  {front}{faster.collectives} of {faster.of} collectives are faster than links allow; "
        f"most so node {worst.node} of rank {worst.rank}, {worst.collective} of {worst.bytes:,} "
        f"bytes: {worst.time_ns:,.0f} ns, though sending alone takes an NPU "
        f"{worst.injection_bound_ns:,.0f} ns, {worst.times:.1f} times as long"
    )
