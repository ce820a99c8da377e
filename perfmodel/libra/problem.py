"""The optimization problem, and the check that it has an optimum."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from fred_hw.errors import InputError

from .cone import ConeProgram
from .constraint import Constraint
from .workload import Workload

__all__ = ["OBJECTIVES", "Problem", "Row"]

OBJECTIVES = ("time", "time_x_cost")
"""Objectives: the weighted time of the workloads, or that time multiplied by the network's cost."""

_LEAST = 1e-9
"""Least value that each used bandwidth must be able to reach, relative to the largest bound."""

_SOME = 1e-6
"""Threshold above which a component of a unit direction is not rounding."""

Row = tuple[tuple[float, ...], float, bool]
"""A scaled constraint: factors, bound, and whether the sum must equal the bound."""


@dataclass(frozen=True)
class Problem:
    """Workloads that share one network, and the constraints on its bandwidths.

    Parameters
    ----------
    workloads : tuple of Workload
        Workloads, one or more.
    constraints : tuple of Constraint
        Constraints on the bandwidths; one text may have several.
    costs : tuple of float or None
        Cost of each dimension per bandwidth of an NPU [$ per B/s]; None without prices.
    dimensions : int
        Number of dimensions of the network.
    objective : str
        One of ``OBJECTIVES``.
    source, field : str
        Position of the constraints in error messages.
    """

    workloads: tuple[Workload, ...]
    constraints: tuple[Constraint, ...]
    costs: tuple[float, ...] | None
    dimensions: int
    objective: str = "time"
    source: str = "libra"
    field: str = "constraints"

    def time_s(self, bytes_per_s: Sequence[float]) -> float:
        """Return the weighted sum of the times of the workloads [s]."""
        return sum(one.weight * one.time_s(bytes_per_s) for one in self.workloads)

    def cost(self, bytes_per_s: Sequence[float]) -> float | None:
        """Return the cost of the network [$]; None without prices."""
        if self.costs is None:
            return None
        return sum(a * b for a, b in zip(self.costs, bytes_per_s, strict=True))

    def value(self, bytes_per_s: Sequence[float]) -> float:
        """Return the objective: [s], or [s $]."""
        time_s = self.time_s(bytes_per_s)
        cost = self.cost(bytes_per_s) if self.objective == "time_x_cost" else None
        return time_s if cost is None else time_s * cost

    @cached_property
    def used(self) -> tuple[bool, ...]:
        """Whether a collective uses each dimension."""
        sent = [one for work in self.workloads for one in work.collectives]
        return tuple(any(one[i] for one in sent) for i in range(self.dimensions))

    @cached_property
    def unit(self) -> float:
        """Bandwidth by which scaled bandwidths are measured [B/s]."""
        found = [abs(one.bound) / max(map(abs, one.factors)) for one in self.constraints]
        return max(found, default=0.0) or 1e9

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """The constraints on bandwidths in units of ``unit``, their largest factor 1."""
        found: list[Row] = []
        for one in self.constraints:
            largest = max(map(abs, one.factors))
            factors = tuple(factor / largest for factor in one.factors)
            found.append((factors, one.bound / largest / self.unit, one.equal))
        return tuple(found)

    @cached_property
    def centre(self) -> tuple[float, ...]:
        """Scaled bandwidths that meet all constraints, the least of those in use being largest.

        Raises
        ------
        InputError
            The constraints conflict; names a minimal conflicting set.
        """
        if (found := self._widest(range(len(self.rows)))) is not None:
            return found
        texts = list(dict.fromkeys(one.text for one in self.constraints))
        for text in tuple(texts):  # drop constraints that the conflict does not need
            fewer = [one for one in texts if one != text]
            left = [i for i, one in enumerate(self.constraints) if one.text in fewer]
            if self._widest(left) is None:
                texts = fewer
        listed = " and ".join(map(repr, texts))
        message = (
            f"must allow a bandwidth above 0 in every dimension in use; these conflict: {listed}"
        )
        raise InputError(self.source, self.field, message)

    def check(self) -> None:
        """Fail unless the problem has an optimum.

        Raises
        ------
        InputError
            The constraints conflict, or leave the bandwidths without a bound that an optimum needs;
            or nothing takes time.
        """
        if not any(one.compute_s or one.collectives for one in self.workloads):
            message = "must have compute, or collectives of groups of 2 or more NPUs, not neither"
            raise InputError(self.source, "workloads", message)
        assert self.centre
        if self.objective == "time_x_cost":
            if all(one.bound == 0 if one.equal else one.bound >= 0 for one in self.constraints):
                message = "must keep the total above 0 with time_x_cost, for example total = 500"
                raise InputError(self.source, self.field, message)
            return  # the cost limits all bandwidths
        if free := [f"b{i}" for i, value in enumerate(self._ray()) if value > _SOME]:
            message = f"must bound every bandwidth from above, not leave {', '.join(free)} free"
            raise InputError(self.source, self.field, message)

    def _ray(self) -> tuple[float, ...]:
        """Return a direction of unbounded growth that includes every unbounded bandwidth."""
        ray = ConeProgram([-1.0] * self.dimensions)
        for i in range(self.dimensions):
            ray.bound(_unit(i, self.dimensions), 1.0)
            ray.bound(_unit(i, self.dimensions, -1.0), 0.0)
        for factors, _, equal in self.rows:
            ray.bound(factors, 0.0, equal=equal)
        found = ray.solve()
        assert found is not None  # zero is a feasible point
        return found.values

    def _widest(self, places: Iterable[int]) -> tuple[float, ...] | None:
        """Return scaled bandwidths that maximise the smallest used one; None if infeasible.

        They meet the rows at ``places``.
        """
        count = self.dimensions
        program = ConeProgram([*[0.0] * count, -1.0])
        for i, used in enumerate(self.used):
            least = 1.0 if used else 0.0
            program.bound([*_unit(i, count, -1.0), least], 0.0)
        program.bound([*[0.0] * count, 1.0], 1.0)
        program.bound([*[0.0] * count, -1.0], 0.0)
        for i in places:
            factors, bound, equal = self.rows[i]
            program.bound(factors, bound, equal=equal)
        found = program.solve()
        if found is None or found.values[-1] < _LEAST:
            return None
        return found.values[:-1]


def _unit(place: int, count: int, value: float = 1.0) -> list[float]:
    return [value * (i == place) for i in range(count)]
