"""Screening of a study: lower bounds of the objectives, and the points they exclude."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import nan
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from fred_hw.progress import track
from perfmodel.training.bound import Fabric, Rates, Sizes, bounds_of
from perfmodel.training.compute_model import compute_model

from .front import Front
from .plan import CHUNK, Plan
from .point import FAILURES, Row
from .shared import Numbers, Shared
from .store import Store
from .training import TRAINING, rates_of, topology_of, workload_of

__all__ = ["Bounds", "Screen", "figures_of", "write_screened"]

Array = NDArray[np.float64]
T = TypeVar("T")


class Screen:
    """Points in the order of their bounds, without those that cannot be on the front.

    A point is left out if a simulated point is as good as its bound in all objectives. So the best
    point and every figure of the front are found.

    Parameters
    ----------
    numbers : array
        The points.
    bounds : array
        A row of lower bounds of the objectives for each.
    """

    def __init__(self, numbers: Numbers, bounds: Array) -> None:
        largest = bounds.max(axis=0, initial=0.0)
        largest[largest == 0.0] = 1.0
        order = np.argsort((bounds / largest).sum(axis=1), kind="stable")
        self._numbers, self._bounds = numbers[order], bounds[order]
        self._skipped = np.zeros(len(order), bool)
        self.front = Front(bounds.shape[1])

    def __iter__(self) -> Iterator[int]:
        """Yield points to simulate; each choice uses the front at the time of the request."""
        place, known = 0, None
        while place < len(self._numbers):
            if known is not self.front.figures:
                known = self.front.figures
                self._skipped[place:] = self.front.reaches(self._bounds[place:])
            left = np.flatnonzero(~self._skipped[place : place + CHUNK])
            if left.size == 0:
                place += CHUNK
                continue
            place += int(left[0]) + 1
            yield int(self._numbers[place - 1])

    @property
    def skipped(self) -> tuple[Numbers, Array]:
        """Points that were excluded, with their bounds."""
        return self._numbers[self._skipped], self._bounds[self._skipped]


def figures_of(rows: Iterable[Row], names: Sequence[str]) -> list[tuple[float, ...]]:
    """Return the named figures of the rows that have all of them."""
    return [
        tuple(row[name] for name in names)
        for row in rows
        if all(row.get(name) is not None for name in names)
    ]


def write_screened(plan: Plan, store: Store, numbers: Numbers, bounds: Array) -> int:
    """Write the excluded points and their bounds as a table; return their number."""
    columns: dict[str, Any] = {"key": plan.keys(numbers)}
    columns["study"] = [plan.source] * len(numbers)
    columns |= plan.varied_values(numbers)
    bound = (one.tolist() for one in bounds.T)
    columns |= dict(zip((f"bound.{name}" for name in plan.objectives), bound, strict=True))
    store.write_table("screened", plan.digest, columns)
    return len(numbers)


class Bounds:
    """Lower bounds of the objectives of points; shared intermediate results are computed once.

    Parameters
    ----------
    plan : Plan
        The study.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        shared = self._shared
        self._workloads = shared(("workload",), lambda part: workload_of(part("workload")), None)
        self._sizes = shared(
            ("strategy", "workload"), lambda part: Sizes.row(part("strategy")), [nan] * Sizes.COUNT
        )
        self._rates = shared(("topology", "npu", "compute"), _rates, [nan] * Rates.COUNT)
        self._fabric = shared(("topology", "remote_memory"), _fabric, [nan] * Fabric.COUNT)
        self._scale = shared(("compute", "workload", "topology", "npu"), _scale, nan)

    def _shared(
        self, roots: tuple[str, ...], find: Callable[[Callable[[str], Any]], T], unknown: T
    ) -> Shared[T]:
        """Return cached results of ``find`` on the parts of a point; ``unknown`` if it fails."""
        plan = self._plan

        def found(number: int) -> T:
            values = plan.space[number]
            try:
                return find(lambda part: plan.resolver.part(part, values))
            except FAILURES:  # so does the simulation of the point, whose row has the reason
                return unknown

        return Shared(plan.space, roots, found)

    def of(self, numbers: Numbers) -> Array:
        """Return lower bounds of the objectives, one row per point; 0 where no bound is known."""
        found = np.zeros((len(numbers), len(self._plan.objectives)))
        if self._plan.kind is not TRAINING:
            return found
        for first in track(range(0, len(numbers), CHUNK), "points screened"):
            self._fill(found[first : first + CHUNK], numbers[first : first + CHUNK])
        return found

    def _fill(self, rows: Array, numbers: Numbers) -> None:
        sizes, rates = self._sizes.each(numbers), self._rates.each(numbers)
        fabric, scale = self._fabric.each(numbers), self._scale.each(numbers)
        workloads, index = self._workloads.of(numbers)
        for number, workload in enumerate(workloads):
            if workload is None:
                continue
            here = np.flatnonzero(index == number)
            found = bounds_of(
                workload,
                Sizes.of(sizes[here]),
                Rates.of(rates[here]),
                Fabric.of(fabric[here]),
                scale[here],
            )
            for column, name in enumerate(self._plan.objectives):
                if name in found:
                    rows[here, column] = np.nan_to_num(found[name], nan=0.0, posinf=0.0)


def _rates(part: Callable[[str], Any]) -> list[float]:
    npu = rates_of(part("topology"), part("npu"))
    return Rates.row(compute_model(part("options")["compute"]).npu(npu))


def _fabric(part: Callable[[str], Any]) -> list[float]:
    return Fabric.row(topology_of(part("topology")), remote_memory=part("memory") is not None)


def _scale(part: Callable[[str], Any]) -> float:
    topology, workload = topology_of(part("topology")), workload_of(part("workload"))
    npu = rates_of(part("topology"), part("npu"))
    return compute_model(part("options")["compute"]).scale(workload.name, topology, npu)
