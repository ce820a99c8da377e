"""Results of a simulation, keyed by JSON name."""

from collections.abc import Mapping
from typing import Any

from .parameters import RoceFile
from .simulate import Found

__all__ = ["figures"]

_MOST_FLOWS = 1 << 16
"""Largest number of flows that a result lists individually."""

_POINTS = 256
_SAMPLED = (
    *("time_s", "longest_queue_bytes", "queued_bytes", "paused_links"),
    "mean_rate_bytes_per_s",
)


def figures(found: Found, parameters: RoceFile) -> Mapping[str, Any]:
    """Return the figures of a simulation; ``simulated_s`` is its total time."""
    columns = (found.begin_s, found.end_s, found.sources, found.targets, found.sizes)
    rows = zip(*(one.tolist() for one in columns), strict=True)
    flows = sorted(row for row in rows if row[1] > row[0])
    lasting = sorted(end - begin for begin, end, *_ in flows) or [0.0]
    return {
        "congestion_control": parameters.congestion_control,
        "simulated_s": found.time_s,
        "pauses": found.pauses,
        "paused_s": found.paused_s,
        "marks": found.marks,
        "drops": found.drops,
        "resent_bytes": found.resent_bytes,
        **{f"queue_{name}_bytes": value for name, value in found.queue_bytes.items()},
        "events": found.events,
        "packets": found.packets,
        "flow_p50_s": lasting[len(lasting) // 2],
        "flow_p99_s": lasting[len(lasting) * 99 // 100],
        "flow_longest_s": lasting[-1],
        "over_time": _over_time(found.samples),
        **({"flows": _listed(flows)} if len(flows) <= _MOST_FLOWS else {}),
    }


def _listed(flows: list[tuple[Any, ...]]) -> list[dict[str, Any]]:
    names = ("begin_s", "end_s", "source", "target", "bytes")
    return [dict(zip(names, row, strict=True)) for row in flows]


def _over_time(samples: Any) -> dict[str, list[float]]:
    """Return samples over time, keyed by JSON name; fewer than 2 x ``_POINTS``."""
    rows = samples[:: max(1, len(samples) // _POINTS)]
    return {name: rows[:, place].tolist() for place, name in enumerate(_SAMPLED)}
