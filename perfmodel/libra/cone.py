"""Convex programs with linear and hyperbolic constraints, solved by Clarabel."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import import_module
from math import sqrt
from typing import Any

from fred_hw.errors import InputError
from fred_hw.optional import needed

__all__ = ["ConeProgram", "Point"]

_TOLERANCE = 1e-13
"""Target gap and feasibility error in scaled numbers; Clarabel iterates as long as it improves."""

_USABLE = ("Solved", "AlmostSolved")
_INFEASIBLE = ("PrimalInfeasible", "AlmostPrimalInfeasible")


@dataclass(frozen=True, slots=True)
class Point:
    """A solution of a cone program.

    Parameters
    ----------
    values : tuple of float
        Values of the variables.
    linear : tuple of float
        Multipliers of the linear constraints, in the order in which they were added.
    hyperbolic : tuple of float
        Sensitivity of the optimum to the right-hand side of ``t >= c / x``, likewise.
    """

    values: tuple[float, ...]
    linear: tuple[float, ...]
    hyperbolic: tuple[float, ...]


@dataclass(slots=True)
class ConeProgram:
    """Minimization of a linear function under linear and hyperbolic constraints.

    Parameters
    ----------
    objective : sequence of float
        Factor of each variable.
    """

    objective: Sequence[float]
    _linear: list[tuple[Sequence[float], float, bool]] = field(
        default_factory=list[tuple[Sequence[float], float, bool]]
    )
    _hyperbolic: list[tuple[int, int, float]] = field(default_factory=list[tuple[int, int, float]])

    def bound(self, factors: Sequence[float], bound: float, *, equal: bool = False) -> None:
        """Add the constraint ``factors * x <= bound``, or ``=``; missing factors are 0."""
        self._linear.append((factors, bound, equal))

    def hyperbola(self, time: int, rate: int, least: float) -> None:
        """Add the constraint ``x[time] >= least / x[rate]``, with both above 0."""
        self._hyperbolic.append((time, rate, least))

    def solve(self) -> Point | None:
        """Return the optimum; None if the constraints are infeasible.

        Raises
        ------
        InputError
            The solver is not installed, or does not converge.
        """
        with needed("clarabel", "optimal bandwidths", "fred-hw[libra]"):
            clarabel: Any = import_module("clarabel")
            sparse: Any = import_module("scipy.sparse")
        count = len(self.objective)
        rows: list[tuple[int, int, float]] = []
        bounds: list[float] = []
        cones: list[Any] = []
        for factors, bound, equal in self._linear:
            rows += [(len(bounds), i, value) for i, value in enumerate(factors) if value]
            bounds.append(bound)
            cones.append((clarabel.ZeroConeT if equal else clarabel.NonnegativeConeT)(1))
        for time, rate, least in self._hyperbolic:
            # t x >= c, as |(t - x, 2 sqrt(c))| <= t + x.
            first = len(bounds)
            rows += [(first, time, -1.0), (first, rate, -1.0)]
            rows += [(first + 1, time, -1.0), (first + 1, rate, 1.0)]
            bounds += [0.0, 0.0, 2 * sqrt(least)]
            cones.append(clarabel.SecondOrderConeT(3))
        shape = (len(bounds), count)
        matrix: Any = sparse.csc_matrix(
            ([one[2] for one in rows], ([one[0] for one in rows], [one[1] for one in rows])), shape
        )
        nothing: Any = sparse.csc_matrix((count, count))
        settings: Any = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = _TOLERANCE
        solver: Any = clarabel.DefaultSolver(
            nothing, list(self.objective), matrix, bounds, cones, settings
        )
        return self._point(solver.solve())

    def _point(self, found: Any) -> Point | None:
        status = str(found.status)
        if status in _INFEASIBLE:
            return None
        if status not in _USABLE:
            raise InputError("clarabel", "", f"must converge, not end as {status}")
        z: list[float] = found.z
        linear = len(self._linear)
        hyperbolic = [z[i] + z[i + 1] for i in range(linear, len(z), 3)]
        return Point(tuple(found.x), tuple(z[:linear]), tuple(hyperbolic))
