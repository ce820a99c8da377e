"""Results of a study: its best points, its Pareto front, and speed-ups over its baseline."""

from collections.abc import Collection, Mapping

import numpy as np

from .front import Front
from .plan import Plan
from .point import Row
from .store import Store

__all__ = ["known_points", "results_of"]


def results_of(
    plan: Plan, store: Store, numbers: Mapping[str, int]
) -> tuple[dict[str, Row | None], list[Row], list[Row]]:
    """Return best points, front and speed-ups of points, and write the latter two as tables.

    Parameters
    ----------
    plan, store : Plan, Store
        The study, and its rows.
    numbers : mapping
        Number of each point by its key.
    """
    found = (_best(plan, store, numbers), _front(plan, store, numbers))
    return *found, _speedups(plan, store, numbers)


def known_points(plan: Plan, store: Store) -> dict[str, int]:
    """Return the numbers of the points in the tables that earlier runs wrote, by key.

    Points whose key has changed with their inputs or the version of the model are left out.
    """
    found: dict[str, int] = {}
    for name in ("front", "speedups"):
        keys, numbers = store.table_columns(name, plan.digest, ("key", "number"))
        found.update(zip(keys, numbers, strict=True))
    numbers = np.fromiter(found.values(), np.int64)
    numbers = numbers[numbers < len(plan.space)]
    now = zip(plan.keys(numbers), numbers.tolist(), strict=True)
    return {key: number for key, number in now if found.get(key) == number}


def _best(plan: Plan, store: Store, keys: Collection[str]) -> dict[str, Row | None]:
    """Return the row with the least figure of each objective, or None if none has a figure."""
    found: dict[str, Row | None] = {}
    for name in plan.objectives:
        figures = store.figures((name,), keys)
        best = [min(figures, key=lambda key: figures[key])] if figures else []
        found[name] = next(iter(store.rows(best)), None)
    return found


def _front(plan: Plan, store: Store, numbers: Mapping[str, int]) -> list[Row]:
    """Return varied fields and objectives of the points on the front of several objectives."""
    if len(plan.objectives) == 1:
        return []
    figures, front = store.figures(plan.objectives, numbers), Front(len(plan.objectives))
    front.add(figures.values())
    best = sorted((key for key in figures if front.has(figures[key])), key=lambda k: figures[k])
    columns = [*dict.fromkeys((*plan.varied, *plan.objectives))]
    rows = store.rows(best, columns)
    _write(plan, store, "front", numbers, ["key", *columns], rows)
    return rows


def _speedups(plan: Plan, store: Store, numbers: Mapping[str, int]) -> list[Row]:
    """Return varied fields, time and speed-up of the points that have them, in their order."""
    if plan.baseline is None:
        return []
    name = plan.baseline.comparison.figure
    points = np.fromiter(numbers.values(), np.int64)
    bases = plan.keys(plan.baseline.numbers(points))
    times = store.figures((name,), {*numbers, *bases})
    varied = plan.varied_values(points)
    rows: list[Row] = []
    for key, base, *values in zip(numbers, bases, *varied.values(), strict=True):
        if key in times and base in times and (time := times[key][0]):
            said = dict(zip(varied, values, strict=True))
            rows.append({"key": key, **said, name: time, "speedup": times[base][0] / time})
    _write(plan, store, "speedups", numbers, ["key", *varied, name, "speedup"], rows)
    return rows


def _write(
    plan: Plan,
    store: Store,
    name: str,
    numbers: Mapping[str, int],
    columns: list[str],
    rows: list[Row],
) -> None:
    given = {
        "study": [plan.source] * len(rows),
        "number": [numbers[row["key"]] for row in rows],
    }
    table = {one: [row.get(one) for row in rows] for one in columns}
    store.write_table(name, plan.digest, {**given, **table})
