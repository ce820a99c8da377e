"""The page of the explorer: HTML from templates, charts as JSON."""

from functools import cache
from importlib.metadata import version
from typing import Any

import jinja2

from fred_cli.drawings.chart import asset
from fred_cli.drawings.loads import colour_key, dark_colours
from fred_cli.output import arrow_csv
from fred_cli.templates import environment, neighbour

from .details import detail, detail_charts, differences
from .look import Look
from .parallel import MOST_LINES, axes_of, lines_of, parallel, parallel_data
from .scatter import scatter, scatter_data
from .table import Integers, Table
from .view import MOST_GROUPS, PAGE_ROWS, View
from .words import label, number, quantity

__all__ = ["BOKEH", "csv_of", "page", "points_update", "script", "style", "update"]


BOKEH = f"/bokeh-{version('bokeh')}.js"
"""Path of Bokeh's script, which browsers cache."""


def page(name: str) -> str:
    """Return the page without contents, which its script requests.

    Parameters
    ----------
    name : str
        Of the store.
    """
    return _template("page.html.j2").render(store=name, bokeh=BOKEH)


def update(table: Table, view: View, look: Look) -> dict[str, Any]:
    """Return everything that depends on filters, axes and selection."""
    shown = view.shown(table)
    brushed, front = view.brushed(table, shown), view.front(table, shown)
    axes = axes_of(table, view, brushed)
    lines = lines_of(table, view, brushed, front)
    listed = _listed(table, view, brushed, front)
    charts, data = {}, {}
    if view.x:
        charts["chart-scatter"] = scatter(table, view, look)
        charts["chart-parallel"] = parallel(view, look)
        data["chart-scatter"] = scatter_data(table, view, shown, front)
        data["chart-parallel"] = parallel_data(table, view, lines, front, axes, look)
    return {
        "query": view.query(),
        "controls": _controls(table, view),
        "table": _table(table, view, listed),
        "status": _status(table, view, shown, brushed, front),
        "drawn": _drawn(lines, brushed),
        "axes": [axis.to_dict() for axis in axes],
        "charts": charts,
        "data": data,
    }


def points_update(table: Table, view: View, look: Look) -> dict[str, Any]:
    """Return the point of a view, and the point it is compared with.

    Raises
    ------
    InputError
        No point has the key.
    """
    sides = {"pin": view.pin, "point": view.point}
    shown = {side: detail(table, key) for side, key in sides.items() if key}
    both = (view.pin, view.point) if len(shown) == 2 else None
    charts = detail_charts(shown, look)
    html = _template("points.html.j2").render(
        shown=shown,
        view=view,
        differences=differences(table, both) if both else [],
        charts=charts.keys(),
        colours=colour_key(),
    )
    return {"html": html, "charts": charts}


def csv_of(table: Table, view: View) -> str:
    """Return all columns of the points that pass the filters and the selection."""
    rows = view.sorted(table, view.brushed(table, view.shown(table)))
    return arrow_csv(table.take(rows.tolist()))


@cache
def style() -> str:
    """Return the style sheet."""
    dark = f"@media (prefers-color-scheme: dark) {{\n{dark_colours()}\n}}\n"
    return asset("page.css") + neighbour("fred_cli.explore", "explore.css") + dark


@cache
def script() -> str:
    """Return the script."""
    return neighbour("fred_cli.explore", "explore.js")


def _controls(table: Table, view: View) -> str:
    return _template("controls.html.j2").render(
        table=table,
        view=view,
        numbers=[name for name in table.varied if table.is_number(name)],
        groups=[name for name in table.varied if table.distinct(name) <= MOST_GROUPS],
        values=lambda name: table.codes(name)[1],
    )


def _listed(table: Table, view: View, brushed: Integers, front: Integers) -> Integers:
    if "front" in view.flags and view.x:
        brushed = view.brushed(table, front)
    return view.sorted(table, brushed)


def _table(table: Table, view: View, rows: Integers) -> str:
    pages = max(1, -(-len(rows) // PAGE_ROWS))
    now = min(view.page, pages - 1)
    places = rows[now * PAGE_ROWS : (now + 1) * PAGE_ROWS].tolist()
    columns = tuple(dict.fromkeys((*view.columns, *filter(None, (view.x, view.y)))))
    return _template("table.html.j2").render(
        columns=columns,
        rows=table.rows(places, ("key", *columns)),
        table=table,
        view=view,
        now=now,
        pages=pages,
        first=now * PAGE_ROWS + 1,
        total=len(rows),
    )


def _status(table: Table, view: View, shown: Integers, brushed: Integers, front: Integers) -> str:
    said = f"{len(shown):,} of {len(table):,} points shown"
    if len(brushed) != len(shown):
        said += f", {len(brushed):,} of them selected"
    if table.failed:
        said += f", {table.failed:,} failed"
    if not view.x:
        return f"{said}; no numbers differ that a chart could show."
    return f"{said}; {len(front):,} on the Pareto front."


def _drawn(lines: Integers, brushed: Integers) -> str:
    if len(lines) == len(brushed):
        return f"All {len(brushed):,} points are drawn."
    return (
        f"{len(lines):,} of {len(brushed):,} points are drawn: the Pareto front (bold), and a "
        f"sample of the others, at most {MOST_LINES} in all."
    )


@cache
def _template(name: str) -> jinja2.Template:
    found = environment("fred_cli.explore")
    found.filters |= {"label": label, "number": number}
    found.globals["quantity"] = quantity
    return found.get_template(name)
