"""Columns of the tables of `fred cost`."""

from operator import attrgetter
from typing import Any

from .column import Column, Columns

__all__ = ["DENSITIES", "FAULTS", "KINDS", "SEARCH", "WIRING", "optional"]


def optional(form: str, name: str) -> Any:
    """Return a function from a row to the text of a figure that it may not have."""

    def text(row: Any) -> str:
        value = getattr(row, name)
        return "-" if value is None else form.format(value)

    return text


def _column(name: str, title: str, form: str = "{}") -> Column:
    return Column(attrgetter(name), name, title, optional(form, name))


KINDS = Columns(
    [
        Column(attrgetter("gb_per_s_per_mm"), "gb_per_s_per_mm"),
        Column(attrgetter("name"), "name", "chiplet", number=False),
        _column("chiplets", "chiplets"),
        _column("gb_per_s", "GB/s each way", "{:,.1f}"),
        _column("perimeter_mm", "perimeter [mm]", "{:,.2f}"),
        _column("area_mm2", "area [mm2]", "{:,.1f}"),
        _column("logic_mm2", "logic, at most [mm2]", "{:,.1f}"),
        _column("power_w", "power [W]", "{:,.2f}"),
        _column("die_yield", "yield", "{:.4f}"),
        _column("price", "price, known good", "{:,.2f}"),
    ]
)
"""A row is a kind of chiplets at a density of I/O."""

WIRING = Columns(
    [
        _column("name", "links"),
        _column("links", "number"),
        _column("tb_per_s", "TB/s each way", "{:,.3f}"),
        _column("edge_mm", "edge at both ends [mm]", "{:,.1f}"),
    ]
)
"""A row is a kind of links."""

DENSITIES = Columns(
    [
        _column("gb_per_s_per_mm", "I/O density [GB/s/mm]", "{:g}"),
        _column("chiplets", "chiplets"),
        _column("area_mm2", "area [mm2]", "{:,.0f}"),
        _column("share_percent", "share of first area [%]", "{:.2f}"),
        _column("chiplet_price", "known-good chiplets", "{:,.0f}"),
        _column("assembled_price", "per good wafer", "{:,.0f}"),
        _column("monolithic_yield", "monolithic yield", "{:.3g}"),
        _column("monolithic_price", "monolithic, per good wafer", "{:,.0f}"),
    ]
)
"""A row is a density of I/O, with the totals of the wafer."""

FAULTS = Columns(
    [
        _column("kind", "single fault"),
        _column("faults", "in a plane"),
        _column("survived", "survived"),
        _column("plane_slowdown", "slowdown of the plane", "{:.2f}"),
        _column("wafer_slowdown", "slowdown of the wafer", "{:.3f}"),
        _column("why", "why not survived"),
    ]
)
"""A row is a kind of fault."""

SEARCH = Columns(
    [
        _column("l1s", "L1 switches"),
        _column("planes", "chiplets of an L1"),
        _column("l2_chiplets", "chiplets of the L2"),
        _column("chiplets", "all chiplets"),
        _column("ports", "ports"),
        _column("port_gb_per_s", "GB/s of a port", "{:,.1f}"),
        _column("largest_mm2", "largest chiplet [mm2]", "{:,.1f}"),
        _column("area_mm2", "area [mm2]", "{:,.0f}"),
        _column("price", "price", "{:,.0f}"),
        _column("rounds", "rounds"),
    ]
)
"""A row is the best wafer of a number of L1 switches."""
