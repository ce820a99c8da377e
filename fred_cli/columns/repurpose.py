"""Columns of `fred repurpose`: rows are products, placements at equal error, or latencies."""

from operator import attrgetter

from .column import Column, Columns

__all__ = ["BASELINES", "LATENCIES", "LAYERS"]

LAYERS = Columns(
    [
        Column(attrgetter("name"), "product", "product"),
        Column(attrgetter("weights"), "weights", "weights", "{:,}"),
        Column(attrgetter("nonzeros"), "kept", "kept", "{:,}"),
        Column(
            attrgetter("dropped_share"),
            "dropped energy",
            "dropped energy [%]",
            lambda row: f"{100 * row.dropped_share:.2f}",
        ),
        Column(attrgetter("error"), "error", "error", "{:.4g}"),
    ]
)

BASELINES = Columns(
    [
        Column(attrgetter("method"), "method", "method"),
        Column(attrgetter("error"), "error", "error [%]", lambda row: f"{100 * row.error:.2f}"),
        Column(attrgetter("activations"), "crossings", "crossings", "{:,}"),
        Column(attrgetter("numbers"), "numbers", "numbers received", "{:,}"),
        Column(attrgetter("nonzeros"), "nonzeros", "weights", "{:,}"),
    ]
)

LATENCIES = Columns(
    [
        Column(attrgetter("placed.topology"), "topology", "topology"),
        Column(attrgetter("placed.trees"), "trees", "trees", number=False),
        Column(
            attrgetter("contiguous.time_s"),
            "split [s]",
            "split [µs]",
            lambda row: f"{1e6 * row.contiguous.time_s:,.3f}",
        ),
        Column(
            attrgetter("placed.time_s"),
            "placed [s]",
            "placed [µs]",
            lambda row: f"{1e6 * row.placed.time_s:,.3f}",
        ),
        Column(
            attrgetter("placed.traffic_s"),
            "traffic [s]",
            "of it traffic [µs]",
            lambda row: f"{1e6 * row.placed.traffic_s:,.3f}",
        ),
        Column(attrgetter("speedup"), "speed-up", "speed-up", "{:.3f}"),
    ]
)
