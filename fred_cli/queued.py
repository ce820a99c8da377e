"""`fred collective` with chunk orders such as Themis."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fred_cli.output import plain, print_json, print_provenance, table, write_text
from fred_cli.schedule_files import write_schedule

__all__ = ["print_queued"]


def print_queued(
    fabric: Any,
    pattern: str,
    size: tuple[str, float],
    group: Any,
    how: Any,
    *,
    check: bool,
    draw: Path | None,
    files: Sequence[Path],
    as_json: bool,
) -> None:
    """Simulate a collective by dimensions, and print the result.

    Parameters
    ----------
    fabric, pattern, group, how : Topology, str, sequence of int or None, Queuing
        As for ``run_queued``.
    size : tuple of str and float
        As the user wrote it, and in bytes.
    check, draw, as_json : bool, Path or None, bool
        As the options of the command.
    files : sequence of Path
        Where the schedule is exported to.
    """
    from fred_hw.errors import InputError
    from perfmodel.collectives.replay import replay
    from perfmodel.collectives.themis.messages import chunk_schedule
    from perfmodel.collectives.themis.network import share_links
    from perfmodel.network.queued import run_queued

    if draw:
        from fred_cli.drawings.queues import refuse_many

        refuse_many(how.chunks)
        members = range(fabric.npus) if group is None else group
        if share_links(fabric, members):
            message = f"must be for dimensions that share no links, not those of {fabric.name}"
            raise InputError("--draw", "", message)
    result = run_queued(fabric, pattern, size[1], group, how)
    if check or files:
        schedule = chunk_schedule(fabric, pattern, size[1], group, how)
        replay(schedule)
        if files:
            write_schedule(schedule, fabric.npus, files)
    if draw:
        write_text(_drawn(fabric, size, how, result), draw)
    if as_json:
        checked = {"checked": True} if check else {}
        print_json({**plain(result), **checked})
        return
    table(
        f"{result.pattern} of {size[0]} on {result.topology}",
        ("what", "value"),
        _rows(result, check),
    )
    print_provenance(result.provenance)


def _rows(result: Any, check: bool) -> list[tuple[str, object]]:
    return [
        ("time", f"{result.time_s * 1e6:,.2f} us"),
        ("utilization", f"{result.utilization:.1%} of the bandwidth of all dimensions"),
        ("bus bandwidth", f"{result.bus_bandwidth_bytes_per_s / 1e12:.3f} TB/s"),
        ("algorithm", result.algorithm),
        ("latency", result.latency),
        ("chunks", result.chunks),
        *(
            (
                f"dimension {number}: {one.kind.replace('_', ' ')} of {one.npus}",
                f"{one.bytes / 2**20:,.1f} MiB per NPU, {one.busy_share:.1%} busy",
            )
            for number, one in enumerate(result.dimensions)
        ),
        *(
            (f"chunks in order {', '.join(map(str, order))}", count)
            for order, count in Counter(result.chunk_orders).most_common()
        ),
        *([("symbolic check", "every NPU ends with what it should")] if check else []),
    ]


def _drawn(fabric: Any, size: tuple[str, float], how: Any, result: Any) -> str:
    """Return a chart of the fixed order, with another order below it."""
    from dataclasses import replace

    from fred_cli.drawings.queues import Panel, draw_queues
    from perfmodel.collectives.themis.network import queue_dimensions
    from perfmodel.collectives.themis.run import run_chunks

    dimensions = queue_dimensions(fabric, result.groups[0])
    fixed = replace(how, policy="dimension_order", intra=None)
    panels: list[Panel] = []
    for one in [fixed] if how.policy == fixed.policy else [fixed, how]:
        _, services = run_chunks(dimensions, size[1], result.pattern, one)
        time_us = 1e6 * max(service.done_s for service in services)
        share = result.ideal_s * 1e6 / time_us
        words = f"{one.policy}, {one.intra_name}: {time_us:,.1f} us, utilization {share:.1%}"
        panels.append(Panel(words, services))
    title = f"{result.pattern} of {size[0]} on {result.topology}, {how.chunks} chunks"
    return draw_queues(dimensions, panels, title)
