"""The plan of a study: its points, and the points that satisfy its constraints."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from fred_hw.choices import not_one_of
from fred_hw.errors import InputError
from fred_hw.progress import parts

from .axes import Value
from .baseline import Baseline, read_baseline, with_npus
from .constraints import Constraint, parse_constraint
from .file import StudyFile, load_study_file
from .inputs import CombinationError, column_of
from .kind import Bounds, Kind, Resolver, key_of
from .point import Point
from .shared import Numbers, Shared
from .space import Space, read_space
from .traces import TRACES
from .training import TRAINING

__all__ = ["KINDS", "Plan", "Work", "chunks", "load_study"]

KINDS: dict[str, Kind] = {"topology": TRAINING, "traces": TRACES}
"""Kinds by the field that every study of the kind has; the command line adds switches."""

CHUNK = 1 << 16
"""Number of points that are resolved at a time."""

_REFUSED = "refused"
"""Identity of a part of the inputs whose values are inconsistent."""

_CHECKED = 1000
"""Largest number of values per field that are checked before a study starts."""


@dataclass(frozen=True)
class Work:
    """The points of a study that have to be computed.

    Parameters
    ----------
    numbers : dict
        Number of each point that satisfies the constraints, by its key.
    excluded : dict
        Points that each constraint removes, of those that the constraints before it leave.
    """

    numbers: dict[str, int]
    excluded: dict[str, int]


@dataclass(frozen=True)
class Plan:
    """A study whose file has been read and checked.

    Parameters
    ----------
    source : str
        The study file.
    space : Space
        All points.
    constraints : tuple of Constraint
        What points satisfy.
    objectives : tuple of str
        Figures to minimize.
    seed : int
        Of all distributions.
    kind : Kind
        What it is of.
    resolver : Resolver
        Finds the inputs of points.
    digest : str
        Hash of the contents of the study file, which distinguishes the study.
    baseline : Baseline or None
        What points are compared with.
    """

    source: str
    space: Space
    constraints: tuple[Constraint, ...]
    objectives: tuple[str, ...]
    seed: int
    kind: Kind
    resolver: Resolver
    digest: str
    baseline: Baseline | None

    @cached_property
    def varied(self) -> tuple[str, ...]:
        """Columns of the fields that have more than one value."""
        return tuple(
            column_of(name)
            for steps in self.space.groups
            for name in steps[0]
            if len({repr(step[name]) for step in steps}) > 1
        )

    def varied_values(self, numbers: Numbers) -> dict[str, list[Value]]:
        """Return the values of the fields that have several, for some points, by column."""
        return {
            column: [steps[step][name] for step in taken.tolist()]
            for steps, taken in zip(self.space.groups, self.space.steps(numbers), strict=True)
            for name in steps[0]
            if (column := column_of(name)) in self.varied
        }

    def point(self, number: int) -> Point:
        """Return the point with a number; ``problem`` says why its values are inconsistent."""
        values, version = self.space[number], self.kind.version()
        try:
            inputs = self.resolver.inputs(values)
        except InputError as error:
            problem = str(InputError("", error.field.removeprefix("space."), error.message))
            given = repr(sorted((name, type(one).__name__, one) for name, one in values.items()))
            key = sha256(f"{version} {given}".encode()).hexdigest()[:32]
            return Point(self.kind, key, values, None, problem, self.seed)
        return Point(self.kind, self.kind.key(inputs, version), values, inputs, "", self.seed)

    def work(self) -> Work:
        """Return the points to compute; points with the same inputs are computed once.

        Raises
        ------
        InputError
            The constraints leave no point, or one of them cannot be evaluated.
        """
        excluded = dict.fromkeys(self.constraints, 0)
        found: dict[str, int] = {}
        for some in chunks(len(self.space), "points of the space"):
            numbers: Numbers = np.arange(some.start, some.stop, dtype=np.int64)
            left = self.left(numbers, excluded)
            for key, number in zip(self.keys(left), left.tolist(), strict=True):
                found.setdefault(key, number)
        if not found:
            raise self._contradiction(excluded)
        return Work(found, {one.text: n for one, n in excluded.items()})

    def left(self, numbers: Numbers, excluded: dict[Constraint, int] | None = None) -> Numbers:
        """Return the points that satisfy the constraints or cannot be resolved.

        ``excluded`` counts the points that each constraint removes.
        """
        sound = np.all([one.each(numbers) != _REFUSED for one in self._identities], axis=0)
        left = numbers[sound]
        for one in self.constraints:
            held = self._held[one].each(left).astype(bool)  # of no points it is an array of floats
            if excluded is not None:
                excluded[one] += len(left) - int(np.count_nonzero(held))
            left = left[held]
        return np.sort(np.concatenate((left, numbers[~sound])))

    @cached_property
    def bounds(self) -> Bounds:
        """Returns lower bounds of the objectives of points, given their numbers."""
        return self.kind.bounds(self.space, self.resolver, self.objectives)

    def keys(self, numbers: Numbers) -> list[str]:
        """Return the keys of the given points."""
        version = self.kind.version()
        parts = zip(*(one.each(numbers).tolist() for one in self._identities), strict=True)
        return [
            self.point(number).key if _REFUSED in part else key_of(version, part)
            for number, part in zip(numbers.tolist(), parts, strict=True)
        ]

    def _roots_of(self, constraint: Constraint) -> set[str]:
        return {root for name in constraint.names for root in self.kind.depends(name)}

    @cached_property
    def _identities(self) -> "list[Shared[str]]":
        """Identity of each part of a point's inputs."""

        def identity(part: str, number: int) -> str:
            try:
                return self.kind.identity(self.resolver.part(part, self.space[number]))
            except InputError:
                return _REFUSED

        parts = self.kind.parts.items()
        return [Shared(self.space, roots, partial(identity, part)) for part, roots in parts]

    @cached_property
    def _held(self) -> "dict[Constraint, Shared[bool]]":
        """Whether points satisfy each constraint."""

        def holds(constraint: Constraint, number: int) -> bool:
            return constraint.holds(self.point(number).value_of)

        return {
            one: Shared(self.space, self._roots_of(one), partial(holds, one))
            for one in self.constraints
        }

    def _contradiction(self, excluded: dict[Constraint, int]) -> InputError:
        """Return the error for constraints that leave no point; names the last effective one."""
        last = [one for one, removed in excluded.items() if removed][-1]
        message = (
            f"must leave a point, not remove the last {excluded[last]:,} of {len(self.space):,}: "
            f"{last.text}"
        )
        return InputError(self.source, last.field, message)


def chunks(total: int, what: str) -> Iterator[slice]:
    """Yield slices of so many points, at most ``CHUNK`` in each, and report the progress.

    Parameters
    ----------
    total : int
        Points in all.
    what : str
        What they are, in the plural.
    """
    with parts(what, total) as begin:
        for first in range(0, total, CHUNK):
            size = min(CHUNK, total - first)
            begin(size)
            yield slice(first, first + size)


def load_study(path: Path) -> Plan:
    """Return the study in a file.

    Every value of every field is checked with the first value of all other fields; what only does
    not go together is a point that fails.

    Raises
    ------
    InputError
        The file or one that it names is bad, or a field, a value, a constraint or an objective is
        unknown or not allowed.
    """
    file, source = load_study_file(path), str(path)
    kind = _kind_of(file, source)
    resolver = kind.resolver(path)
    fields = with_npus(file, source, kind, resolver)
    space = read_space(file.model_copy(update={"space": fields}), source, kind.required)
    constraints = tuple(
        parse_constraint(text, source, f"constraints.{n}")
        for n, text in enumerate(file.constraints)
    )
    digest = sha256(file.model_dump_json().encode()).hexdigest()[:16]
    baseline = read_baseline(file, source, space, kind, resolver)
    given = (tuple(file.objectives), file.seed, kind, resolver, digest, baseline)
    plan = Plan(source, space, constraints, *given)
    known: set[str] = set(kind.names)
    for inputs, values in _checked(plan):
        known.update(Point(kind, "", values, inputs, "", file.seed).derived)
    for constraint in constraints:
        constraint.check_names(known)
    return plan


def _kind_of(file: StudyFile, source: str) -> Kind:
    """Return the kind of a study, given its fields.

    Raises
    ------
    InputError
        An objective is none of the kind, or lacks the field that it needs.
    """
    kind = next((KINDS[name] for name in KINDS if name in file.space), TRAINING)
    for number, name in enumerate(file.objectives):
        if name not in kind.figures:
            message = not_one_of(name, kind.figures, listed_by="fred schema study")
            raise InputError(source, f"objectives.{number}", message)
        if (needed := kind.needs.get(name)) and needed not in file.space:
            message = f"must be given with the objective {name}"
            raise InputError(source, f"space.{needed}", message)
    return kind


def _checked(plan: Plan) -> Iterator[tuple[Any, dict[str, Value]]]:
    """Yield the inputs of points that together include every value of every field."""
    found = False
    for values in plan.space.each_alone(_CHECKED):
        try:
            yield plan.resolver.inputs(values), values
            found = True
        except CombinationError:
            continue
    if not found:  # whose first values do not go together: any point will do
        numbers = range(min(len(plan.space), _CHECKED))
        yield from ((p.inputs, dict(p.values)) for p in map(plan.point, numbers) if p.inputs)
