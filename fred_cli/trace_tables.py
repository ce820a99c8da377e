"""Tables of completed trace runs: ranks, collectives and links."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from fred_cli.output import as_csv, table

__all__ = ["collectives_csv", "links_csv", "print_details", "ranks_csv"]

_SHOWN = 20
"""Number of collectives and links that are shown, the most important first."""

_RANK = (
    *("rank", "total_ns", "compute_ns", "communication_ns", "overlap_ns"),
    "exposed_communication_ns",
)
_USE = ("compute_bound", "compute_utilization", "memory_utilization", "operation_intensity")


def ranks_csv(found: Sequence[Any]) -> str:
    """Return a CSV row per network and rank; compute columns are empty without details."""
    rows: list[list[object]] = []
    for one in found:
        use = {row.rank: row for row in one.details.compute} if one.details else {}
        for times in one.ranks:
            own = [getattr(times, name) for name in _RANK]
            more = [getattr(use.get(times.rank), name, None) for name in _USE]
            rows.append([one.workload, one.network, one.network_model, *own, *more])
    return as_csv(("workload", "network", "network_model", *_RANK, *_USE), rows)


def collectives_csv(found: Sequence[Any]) -> str:
    """Return a CSV row per network, rank and collective."""
    return _csv(found, "collectives")


def links_csv(found: Sequence[Any]) -> str:
    """Return a CSV row per network and link that carries bytes."""
    return _csv(found, "links")


def _csv(found: Sequence[Any], name: str) -> str:
    rows = [(one, asdict(row)) for one in found for row in getattr(one.details, name)]
    columns = [*rows[0][1]] if rows else []
    return as_csv(
        ("network", "network_model", *columns),
        [(one.network, one.network_model, *row.values()) for one, row in rows],
    )


def print_details(details: Any) -> None:
    """Print link loads of a run, its collectives and its use of compute."""
    _say_network(details)
    _say_collectives(details)
    _say_compute(details)


def _say_network(details: Any) -> None:
    busiest = sorted(details.links, key=lambda row: -row.utilization)
    _say(
        "busiest links",
        ("link", "dimension", "bytes", "utilization"),
        [
            (
                f"{row.source} to {row.target}",
                row.dimension,
                _count(row.bytes),
                _share(row.utilization),
            )
            for row in busiest
        ],
    )


def _say_collectives(details: Any) -> None:
    most = sorted(details.collectives, key=lambda row: (-row.exposed_ns, row.begin_ns, row.rank))
    _say(
        "collectives with the longest exposed time; ns",
        ("collective", "group", "rank", "node", "bytes", "begin", "end", "exposed"),
        [
            (
                row.collective,
                row.group or "all",
                row.rank,
                row.node,
                *map(_count, (row.bytes, row.begin_ns, row.end_ns, row.exposed_ns)),
            )
            for row in most
        ],
    )


def _say_compute(details: Any) -> None:
    _say(
        "compute nodes by the roofline",
        (
            "rank",
            "compute-bound",
            "compute utilization",
            "memory utilization",
            "operations per byte",
        ),
        [
            (
                row.rank,
                *map(_share, (row.compute_bound, row.compute_utilization, row.memory_utilization)),
                f"{row.operation_intensity:.4g}",
            )
            for row in details.compute
        ],
    )


def _say(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print the first rows of a table, if it has any."""
    every = list(rows)
    if every:
        more = f"; {_SHOWN} of {len(every):,}" if len(every) > _SHOWN else ""
        table(title + more, columns, every[:_SHOWN])


def _count(value: float) -> str:
    return f"{value:,.0f}"


def _share(value: float) -> str:
    return f"{100 * value:.2f} %"
