"""Command `fred estimate`."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from fred_cli.columns.parts import parts_of
from fred_cli.command import Command
from fred_cli.loggops import check_loggops, estimate_schedule
from fred_cli.numbers import Integer
from fred_cli.options import (
    TRAINING_OPTIONS,
    InputPath,
    OutputPath,
    as_json_option,
    mode_option,
    npu_option,
    optional_topology_option,
    optional_workload_option,
    protocol_option,
    read_npu,
    request_option,
    schedule_option,
)
from fred_cli.output import (
    option_names,
    plain,
    print_json,
    print_provenance,
    table,
    write_json,
    write_text,
)
from fred_cli.progress import progress
from fred_cli.roce import congestion_chart_option, read_roce, roce_options, with_roce
from fred_cli.run_figures import figure_rows
from fred_cli.traces import TRACE_OPTIONS, check_options, estimate_traces, trace_options
from perfmodel.training.options import OPTIONS

__all__ = ["command"]


@click.command(
    "estimate", cls=Command, example="fred estimate --topology fred-d --workload transformer-17b"
)
@optional_topology_option
@optional_workload_option
@click.option(
    "--strategy", help="Strategy, like MP2-DP5-PP2 or TP2-DP5-PP2; by default that of the workload."
)
@request_option("compute")
@request_option("placement")
@request_option("algorithm")
@request_option("energy")
@request_option("endpoint")
@protocol_option
@npu_option
@mode_option
@schedule_option
@click.option(
    "--overlap/--no-overlap",
    default=None,
    help="Reduce gradients layer by layer during the backward pass.",
)
@click.option("--microbatches", type=Integer(), help="Microbatches of a replica.")
@click.option("--samples", type=Integer(), help="Samples per replica and iteration.")
@click.option(
    "--repeats/--no-repeats",
    default=True,
    help="Simulate repeating microbatches, and repeating iterations of traces, only once; with "
    "--timeline all are simulated.  [default: repeats]",
)
@click.option(
    "--timeline",
    type=OutputPath(),
    metavar="FILE.json",
    help="Write a timeline for ui.perfetto.dev.",
)
@click.option(
    "--rtl",
    type=InputPath(),
    metavar="FABRIC.yaml",
    help="Also run the iteration in RTL, on a plane of this wafer or on this mesh, and compare "
    "(docs/how-to/train-in-rtl.md).",
)
@click.option(
    "--record",
    type=OutputPath(),
    metavar="FILE.json",
    help="With --rtl: write the iteration in RTL as a record, for `fred report`.",
)
@trace_options
@roce_options
@congestion_chart_option
@as_json_option
@click.pass_context
def command(context: click.Context, workload: Any, as_json: bool, **given: Any) -> None:
    """Estimate one training iteration: where its time goes.

    With --network the workload is the prefix of Chakra traces PREFIX.RANK.et, which run on a
    network file of ASTRA-sim or on a built-in topology.
    """
    if check_loggops(context):
        estimate_schedule(workload, given["loggops"], given["control"], as_json)
        return
    traces = check_options(context)
    both = ("protocol", "algorithm", "energy", "memory", "network_model", "repeats", "timeline")
    both += ("cc", "roce", "congestion_chart")
    chosen = {
        name: value
        for name, value in given.items()
        if name != "loggops" and (name in both or (name in TRACE_OPTIONS) == traces)
    }
    if traces:
        estimate_traces(workload, as_json, **chosen)
    else:
        _estimate(workload=workload, as_json=as_json, **chosen)


def _estimate(
    topology: str,
    workload: str,
    strategy: str | None,
    protocol: Any,
    npu_changes: tuple[str, ...],
    memory: Path | None,
    timeline: Path | None,
    repeats: bool,
    rtl: Path | None,
    record: Path | None,
    cc: str | None,
    roce: Path | None,
    congestion_chart: Path | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Estimate an iteration on a topology."""
    from fred_cli.iteration_record import check_record, write_record
    from fred_cli.rtl import print_rtl, run_in_rtl, with_rtl
    from fred_hw.errors import InputError
    from perfmodel.training.estimate import simulate, summarize
    from perfmodel.training.request import read_requests
    from perfmodel.training.trace import chrome_trace

    options = {name: given.pop(name) for name in OPTIONS}
    if rtl and options["endpoint"] != OPTIONS["endpoint"].default:
        message = "must be ideal with --rtl, which simulates endpoints and not their memory, not "
        raise InputError("fred estimate", "--endpoint", f"{message}{options['endpoint']!r}")
    other = {"protocol": protocol, "npu": npu_changes, "memory": memory, **given}
    check_record(record, rtl, {f"--{name}": value for name, value in other.items()})
    with option_names(*TRAINING_OPTIONS, "roce"), progress("estimating an iteration"):
        parameters = read_roce(options["network_model"], cc, roce, "congestion_chart")
        (request,) = read_requests(
            [topology],
            [workload],
            strategy,
            protocol=protocol,
            npu=read_npu(npu_changes),
            memory=memory,
            changes=given,
            **options,
        )
        request = replace(request, topology=with_roce(request.topology, parameters))
        found = simulate(request, repeats=repeats and not (timeline or congestion_chart or rtl))
        result = summarize(found)
    rtl_run = run_in_rtl(str(rtl), found, recorded=record is not None) if rtl else None
    if record and rtl_run:
        write_record(rtl_run, record, request)
    if timeline:
        trace = chrome_trace(found.iteration, _title(result))
        write_json(with_rtl(trace, rtl_run) if rtl_run else trace, timeline)
    if congestion_chart:
        _draw_congestion(found.iteration, _title(result), parameters, congestion_chart)
    if as_json:
        print_json({**plain(result), "rtl": rtl_run.to_dict()} if rtl_run else result)
        return
    _say(result)
    if rtl_run:
        print_rtl(rtl_run)


def _title(result: Any) -> str:
    return f"{result.workload}, {result.strategy}, on {result.topology}"


def _draw_congestion(iteration: Any, title: str, parameters: Any, path: Path) -> None:
    """Draw the congestion of each collective of an iteration, from the collective's start."""
    from fred_cli.drawings.congestion import draw_congestion, spans_of

    spans = [
        (start_s + begin_s, one)
        for task, start_s in zip(iteration.tasks, iteration.run.start_s, strict=True)
        if task.profile.details
        for begin_s, one in spans_of(task.profile.details)
    ]
    write_text(draw_congestion(spans, f"{title}, {parameters.congestion_control}"), path)


def _say(result: Any) -> None:
    """Print an estimate as a table."""
    rows = [
        ("iteration", _milliseconds(result.iteration_time_s)),
        (f"compute of NPU {result.rank}, which ends last", _milliseconds(result.compute_s)),
        (
            f"exposed on NPU {result.rank}: iteration - compute",
            _milliseconds(result.exposed_s.total_s),
        ),
        *(
            (f"  {part.words}", _milliseconds(part.seconds(result)))
            for part in parts_of([result])
            if part.name != "compute"
        ),
        ("critical path", _path(result.critical_path_s)),
        ("per sample", _milliseconds(result.time_per_sample_s)),
        ("compute of the busiest NPU", _milliseconds(result.busy_s)),
        ("rate of compute", _rate(result.peak_share)),
        (
            "memory",
            (
                f"{result.memory.total_bytes / 1e9:,.1f} GB, with recomputation "
                f"{result.memory.least_bytes / 1e9:,.1f} GB, of "
                f"{result.memory.available_bytes / 1e9:g} GB: {result.memory_verdict}"
            ),
        ),
        *figure_rows(result),
        ("placement", result.placement),
    ]
    table(
        f"{result.workload}, {result.strategy}, {result.mode}, minibatch {result.minibatch}, "
        f"on {result.topology}; compute: {result.compute_model}",
        ("part", "time"),
        rows,
    )
    print_provenance(result.provenance)


def _path(parts_s: dict[str, float]) -> str:
    """Return the parts of the critical path with nonzero time."""
    return ", ".join(
        f"{name.replace('_', ' ')} {_milliseconds(seconds)}"
        for name, seconds in parts_s.items()
        if seconds
    )


def _rate(peak_share: float | None) -> str:
    return "not identified" if peak_share is None else f"{peak_share:.3g} times the peak of the NPU"


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:,.3f} ms"
