"""The space of a study: points by number, as the product of its axes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

from fred_hw.choices import did_you_mean
from fred_hw.errors import InputError

from .axes import Value, values_of
from .file import StudyFile

__all__ = ["MAX_POINTS", "Space", "read_space"]

MAX_POINTS = 10_000_000
"""Largest number of points of a study before constraints are applied."""

Steps = Sequence[Mapping[str, Value]]
"""Values of the fields of a group, one mapping per step."""


@dataclass(frozen=True)
class Space:
    """The Cartesian product of groups of fields.

    Parameters
    ----------
    groups : sequence
        Steps of each group; the last group changes fastest. Fields of topologies come first, so
        that successive points share a topology and all that is known of its collectives.
    """

    groups: Sequence[Steps]

    def __len__(self) -> int:
        return prod(map(len, self.groups))

    def __getitem__(self, number: int) -> dict[str, Value]:
        taken: list[int] = self.steps(number)
        found: dict[str, Value] = {}
        for steps, step in zip(self.groups, taken, strict=True):
            found.update(steps[step])
        return found

    @cached_property
    def strides(self) -> tuple[int, ...]:
        """Distance between the numbers of two points that are one step of a group apart."""
        return tuple(prod(map(len, self.groups[n + 1 :])) for n in range(len(self.groups)))

    def steps(self, number: Any) -> list[Any]:
        """Return the step of each group at a point, or at each point of an array."""
        pairs = zip(self.strides, self.groups, strict=True)
        return [number // stride % len(steps) for stride, steps in pairs]

    def number(self, steps: Iterable[int]) -> int:
        """Return the number of the point that is at these steps, one of each group."""
        return sum(step * stride for step, stride in zip(steps, self.strides, strict=True))

    def each_alone(self, most: int) -> Iterator[dict[str, Value]]:
        """Yield a point for each step of each group, with the other groups at their first step.

        From a group with more than ``most`` steps, at most that many evenly spaced steps are used,
        and the last one.
        """
        first = self[0]
        for steps in self.groups:
            stride = -(-len(steps) // most)
            for number in dict.fromkeys([*range(0, len(steps), stride), len(steps) - 1]):
                yield {**first, **steps[number]}


def read_space(file: StudyFile, source: str, required: Sequence[str]) -> Space:
    """Return the space of a study file, which must include the required fields.

    Raises
    ------
    InputError
        Values are malformed or empty, fields in a group have different numbers of values or are in
        two groups, or there are too many points.
    """
    for needed in required:
        if needed not in file.space:
            raise InputError(source, f"space.{needed}", "is required and was not given")
    zipped = {name for group in file.zip for name in group}
    axes = {
        name: values_of(given, name, file.seed, source, once=name not in zipped)
        for name, given in file.space.items()
    }
    grouped: dict[str, str] = {}
    for number, group in enumerate(file.zip):
        where = f"zip.{number}"
        for name in group:
            if name not in axes:
                message = f"must name fields of space, not {name!r}{did_you_mean(name, axes)}"
                raise InputError(source, where, message)
            if grouped.setdefault(name, where) != where:
                raise InputError(source, where, f"must not have {name}, which {grouped[name]} has")
        counts = {name: len(axes[name]) for name in group}
        if len(set(counts.values())) > 1:
            said = ", ".join(f"{count} of {name}" for name, count in counts.items())
            raise InputError(source, where, f"must have equally many values, not {said}")
    groups = [*file.zip, *([name] for name in axes if name not in grouped)]
    groups.sort(key=lambda names: min(map(_rank, names)))
    space = Space([_steps({name: axes[name] for name in names}) for names in groups])
    if (points := prod(len(steps) for steps in space.groups)) > MAX_POINTS:
        raise InputError(
            source, "space", f"must have at most {MAX_POINTS:,} points, not {points:,}"
        )
    return space


def _steps(axes: Mapping[str, Sequence[Value]]) -> Steps:
    return [dict(zip(axes, one, strict=True)) for one in zip(*axes.values(), strict=True)]


def _rank(name: str) -> int:
    """Return the sort rank of a field: 0 for topologies, 1 for workloads, 2 for others."""
    return {"topology": 0, "workload": 1}.get(name.partition(".")[0], 2)
