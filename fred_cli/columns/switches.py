"""Columns of `fred compare --hardware --switches`: a row is a network with a number of ports."""

from operator import attrgetter

from .column import Column, Columns

__all__ = ["COLUMNS"]


COLUMNS = Columns(
    [
        Column(attrgetter("ports"), "ports", "ports"),
        Column(attrgetter("network"), "network", "network", number=False),
        Column(attrgetter("area_um2"), "area_um2", "um2", "{:,.0f}"),
        Column(
            attrgetter("area_per_port_um2"),
            "area_per_port_um2",
            "um2/port",
            "{:,.0f}",
            json="area_per_port_um2",
        ),
        Column(attrgetter("memory_bits"), "memory_bits", "bits", "{:,}"),
        Column(attrgetter("other_share"), "other_share", "other", "{:.1%}"),
        Column(attrgetter("clock_ns"), "clock_ns", "clock ns", "{:.3f}"),
        Column(attrgetter("latency_cycles"), "latency_cycles", "cycles"),
        Column(attrgetter("latency_ns"), "latency_ns", "latency ns", "{:.2f}", json="latency_ns"),
        Column(attrgetter("mw_per_port"), "mw_per_port", "mW/port", "{:.2f}", json="mw_per_port"),
        Column(attrgetter("random_share"), "random_share", "flow sets", "{:.1%}"),
        Column(attrgetter("phase_share"), "phase_share", "phases", "{:.1%}"),
    ]
)
