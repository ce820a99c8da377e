"""Bandwidth designs from YAML: a network, workloads, constraints and an objective."""

from collections.abc import Sequence
from math import prod
from pathlib import Path
from typing import Annotated

from pydantic import Field

from fred_hw.errors import InputError
from fred_hw.file_kinds import DESIGN
from fred_hw.files import FileModel, int_range, load_model, number_range, one_of

from .authors import MAX_NPUS
from .constraint import Constraint, names_of, parse_constraint
from .network import BLOCKS, Dimension, cost_per_byte_per_s
from .problem import OBJECTIVES, Problem
from .workload import COLLECTIVES, Workload, summed

__all__ = ["DesignFile", "load_design", "problem_of"]

_Price = Annotated[float, number_range(0, 1e12)]
_Size = Annotated[float, number_range(0, 1e30)]


class DesignDimension(FileModel):
    """A network dimension to design.

    Parameters
    ----------
    block : str
        Connection of the NPUs of a line along it.
    npus : int
        NPUs in a line.
    link : float
        Price of links [$ per GB/s]. Either all dimensions have prices or none has.
    switch : float
        Price of switches, in a dimension with switches [$ per GB/s].
    nic : float
        Price of network interfaces, in a dimension with switches [$ per GB/s].
    """

    block: Annotated[str, one_of(*BLOCKS)]
    npus: Annotated[int, int_range(1, MAX_NPUS)]
    link: Annotated[_Price | None, Field(examples=[2.0])] = None
    switch: _Price = 0.0
    nic: _Price = 0.0


class DesignCollective(FileModel):
    """Collectives of one kind that the workload waits for.

    Parameters
    ----------
    kind : str
        Kind of the collective.
    bytes : float
        Size [B]; for an all-gather the share of one NPU.
    groups : list of int
        NPUs of each dimension that take part; 1 if the collective does not use a dimension.
    count : int
        Number of executions in an iteration.
    """

    kind: Annotated[str, one_of(*COLLECTIVES)]
    bytes: _Size
    groups: list[Annotated[int, int_range(1, MAX_NPUS)]]
    count: Annotated[int, int_range(1, 1 << 40)] = 1


class DesignWorkload(FileModel):
    """A training iteration, in which nothing overlaps.

    Parameters
    ----------
    name : str
        Shown in results.
    weight : float
        Factor of its time in the objective.
    compute_ms : float
        All compute of the iteration [ms].
    collectives : list of DesignCollective
        Collectives of the iteration.
    """

    name: str
    weight: Annotated[float, number_range(1e-9, 1e9)] = 1.0
    compute_ms: Annotated[float, number_range(0, 1e15)] = 0.0
    collectives: list[DesignCollective]


class DesignFile(FileModel):
    """A network whose bandwidths are to be chosen, and its workloads.

    Parameters
    ----------
    dimensions : list of DesignDimension
        Dimensions of the network, the innermost first.
    workloads : list of DesignWorkload
        Workloads to be trained on the network.
    constraints : list of str
        Linear constraints, such as `b0 + b1 <= 500` or `b0 >= b1 >= b2`. `b0` is the bandwidth of
        an NPU in the innermost dimension [GB/s], `total` the sum of all, and `cost` the price of
        the network [$].
    objective : str
        Quantity to be minimised: the time, or the time times the cost.
    """

    file_kind = DESIGN

    dimensions: Annotated[list[DesignDimension], Field(min_length=1, max_length=8)]
    workloads: Annotated[list[DesignWorkload], Field(min_length=1, max_length=100)]
    constraints: Annotated[
        list[str], Field(min_length=1, max_length=100, examples=[["b0 + b1 = 500", "b0 >= b1"]])
    ]
    objective: Annotated[str, one_of(*OBJECTIVES)] = "time"

    def check(self, source: str) -> None:
        """Fail unless the keys are consistent.

        Raises
        ------
        InputError
            There are too many NPUs, prices of some dimensions only, or groups that do not fit.
        """
        npus = prod(one.npus for one in self.dimensions)
        if npus > MAX_NPUS:
            message = f"must have at most {MAX_NPUS} NPUs in all, not {npus}"
            raise InputError(source, "dimensions", message)
        priced = [one.link is not None for one in self.dimensions]
        if any(priced) and not all(priced):
            place = priced.index(False)
            message = "must be given, as other dimensions have prices"
            raise InputError(source, f"dimensions.{place}.link", message)
        for number, work in enumerate(self.workloads):
            for place, one in enumerate(work.collectives):
                self._check_groups(one.groups, source, f"workloads.{number}.collectives.{place}")

    def _check_groups(self, groups: Sequence[int], source: str, field: str) -> None:
        if len(groups) != len(self.dimensions):
            message = f"must have {len(self.dimensions)} entries, not {len(groups)}"
            raise InputError(source, f"{field}.groups", message)
        for place, (size, one) in enumerate(zip(groups, self.dimensions, strict=True)):
            if size > one.npus:
                message = f"must be 1 to {one.npus}, the NPUs of the dimension, not {size}"
                raise InputError(source, f"{field}.groups.{place}", message)

    @property
    def network(self) -> tuple[Dimension, ...]:
        """The dimensions, with prices of 0 where none are given."""
        return tuple(
            Dimension(one.block, one.npus, (one.link or 0.0) / 1e9, one.switch / 1e9, one.nic / 1e9)
            for one in self.dimensions
        )

    def problem(self, source: str, *, objective_field: str = "objective") -> Problem:
        """Return the optimization problem that the file states.

        Parameters
        ----------
        source, objective_field : str
            Names of the file and of the objective in error messages.

        Raises
        ------
        InputError
            A constraint is malformed, or the objective needs prices that are not given.
        """
        workloads = tuple(
            Workload(
                work.name,
                work.compute_ms / 1e3,
                summed(
                    (one.kind, one.bytes * one.count, (*one.groups,)) for one in work.collectives
                ),
                work.weight,
            )
            for work in self.workloads
        )
        priced = self.dimensions[0].link is not None
        return problem_of(
            self.network,
            workloads,
            self.constraints,
            self.objective,
            source,
            objective_field=objective_field,
            priced=priced,
        )


def problem_of(
    dimensions: Sequence[Dimension],
    workloads: Sequence[Workload],
    constraints: Sequence[str],
    objective: str,
    source: str,
    *,
    constraint_field: str = "constraints",
    objective_field: str = "objective",
    priced: bool,
) -> Problem:
    """Return the problem of a network, with constraints given as texts.

    Raises
    ------
    InputError
        A constraint is malformed, or the objective needs prices that are not given.
    """
    costs = cost_per_byte_per_s(dimensions) if priced else None
    if objective == "time_x_cost" and (costs is None or min(costs) <= 0):
        message = "must be time unless all dimensions have prices above 0, not time_x_cost"
        raise InputError(source, objective_field, message)
    names = names_of(costs, len(dimensions))
    found: list[Constraint] = []
    for text in constraints:
        try:
            found += parse_constraint(text, names, len(dimensions))
        except ValueError as error:
            raise InputError(source, constraint_field, str(error)) from None
    count = len(dimensions)
    return Problem(
        tuple(workloads), tuple(found), costs, count, objective, source, constraint_field
    )


def load_design(path: Path) -> DesignFile:
    """Return the bandwidth design in a file.

    Raises
    ------
    InputError
        The file is unreadable, or a key is unknown, missing or has a value that is not allowed.
    """
    return load_model(DesignFile, path)
