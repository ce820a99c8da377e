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
    spans = sorted(
        (begin, end)
        for begin, end in zip(found.begin_s.tolist(), found.end_s.tolist(), strict=True)
        if end > begin
    )
    lasting = sorted(end - begin for begin, end in spans) or [0.0]
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
        **({"flows": _listed(spans)} if len(spans) <= _MOST_FLOWS else {}),
    }


def _listed(spans: list[tuple[float, float]]) -> list[dict[str, float]]:
    return [{"begin_s": begin, "end_s": end} for begin, end in spans]


def _over_time(samples: Any) -> dict[str, list[float]]:
    """Return samples over time, keyed by JSON name; fewer than 2 x ``_POINTS``."""
    rows = samples[:: max(1, len(samples) // _POINTS)]
    return {name: rows[:, place].tolist() for place, name in enumerate(_SAMPLED)}
