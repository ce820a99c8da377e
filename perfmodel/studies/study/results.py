"""Results of a study: its best points and its Pareto front."""

from collections.abc import Collection

from .front import Front
from .plan import Plan
from .point import Row
from .store import Store

__all__ = ["best_rows", "front_rows"]


def best_rows(plan: Plan, store: Store, keys: Collection[str]) -> dict[str, Row | None]:
    """Return the row with the least figure for each objective; None if no row has the figure."""
    found: dict[str, Row | None] = {}
    for name in plan.objectives:
        figures = store.figures((name,), keys)
        best = [min(figures, key=lambda key: figures[key])] if figures else []
        found[name] = next(iter(store.rows(best)), None)
    return found


def front_rows(plan: Plan, store: Store, keys: Collection[str]) -> list[Row]:
    """Return varied fields and objectives of the points on the front, and store the front.

    Only several objectives have a front; it becomes the table ``front`` of the store.
    """
    if len(plan.objectives) == 1:
        return []
    figures, front = store.figures(plan.objectives, keys), Front(len(plan.objectives))
    front.add(figures.values())
    best = sorted((key for key in figures if front.has(figures[key])), key=lambda k: figures[k])
    columns = [*dict.fromkeys((*plan.varied, *plan.objectives))]
    rows = store.rows(best, columns)
    table = {one: [row.get(one) for row in rows] for one in ("key", *columns)}
    store.write_table("front", plan.digest, {"study": [plan.source] * len(rows), **table})
    return rows
