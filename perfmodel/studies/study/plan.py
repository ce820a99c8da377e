"""The plan of a study: its points, and those of them that its constraints leave."""

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from fred_hw.errors import InputError
from fred_hw.progress import track

from .axes import Value
from .constraints import Constraint, parse_constraint
from .file import load_study_file
from .inputs import SIZES, CombinationError, Inputs, Resolver, column_of
from .point import Point
from .space import Space, read_space
from .version import model_version

__all__ = ["Plan", "Work", "load_study"]

_CHECKED = 1000
"""Values of a field that are checked before a study begins, at most."""

_DERIVED = ("npus", "fits_memory")
"""Names in constraints that no file has."""


@dataclass(frozen=True)
class Work:
    """What is to be done of a study.

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
    """A study that has been read and checked.

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
    resolver : Resolver
        Finds the inputs of points.
    """

    source: str
    space: Space
    constraints: tuple[Constraint, ...]
    objectives: tuple[str, ...]
    seed: int
    resolver: Resolver

    @property
    def varied(self) -> tuple[str, ...]:
        """Columns of the fields that have several values."""
        return tuple(
            column_of(name)
            for steps in self.space.groups
            for name in steps[0]
            if len({repr(step[name]) for step in steps}) > 1
        )

    def point(self, number: int) -> Point:
        """Return a point by its number; ``problem`` is why its values do not go together."""
        values = self.space[number]
        try:
            inputs = self.resolver.inputs(values)
        except InputError as error:
            problem = str(InputError("", error.field.removeprefix("space."), error.message))
            given = repr(sorted((name, type(one).__name__, one) for name, one in values.items()))
            key = sha256(f"{model_version()} {given}".encode()).hexdigest()[:32]
            return Point(key, values, None, problem, self.seed)
        return Point(inputs.key(model_version()), values, inputs, "", self.seed)

    def work(self) -> Work:
        """Return the points to compute; points with the same inputs are computed once.

        Raises
        ------
        InputError
            The constraints leave no point, or one of them cannot be evaluated.
        """
        excluded = dict.fromkeys(self.constraints, 0)
        numbers: dict[str, int] = {}
        for number in track(range(len(self.space)), "points of the space"):
            point = self.point(number)
            unmet = point.inputs and self._unmet(point)
            if unmet:
                excluded[unmet] += 1
            else:
                numbers.setdefault(point.key, number)
        if not numbers:
            raise self._contradiction(excluded)
        return Work(numbers, {one.text: n for one, n in excluded.items()})

    def _unmet(self, point: Point) -> Constraint | None:
        return next((one for one in self.constraints if not one.holds(point.value_of)), None)

    def _contradiction(self, excluded: dict[Constraint, int]) -> InputError:
        """Return the error of constraints that leave no point: the one that removes the last."""
        last = [one for one, removed in excluded.items() if removed][-1]
        message = (
            f"must leave a point, not remove the last {excluded[last]:,} of {len(self.space):,}: "
            f"{last.text}"
        )
        return InputError(self.source, last.field, message)


def load_study(path: Path) -> Plan:
    """Return the study of a file.

    Every value of every field is checked with the first value of all other fields; what only does
    not go together is a point that fails.

    Raises
    ------
    InputError
        The file or one that it names is bad, or a field, a value, a constraint or an objective is
        unknown or not allowed.
    """
    file, source = load_study_file(path), str(path)
    space = read_space(file, source)
    constraints = tuple(
        parse_constraint(text, source, f"constraints.{n}")
        for n, text in enumerate(file.constraints)
    )
    plan = Plan(source, space, constraints, tuple(file.objectives), file.seed, Resolver(path))
    known: set[str] = set(_DERIVED)
    for inputs, values in _checked(plan):
        known.update(Point("", values, inputs, "", file.seed).derived)
    for constraint in constraints:
        constraint.check_names(known | {f"strategy.{size}" for size in SIZES})
    return plan


def _checked(plan: Plan) -> Iterator[tuple[Inputs, dict[str, Value]]]:
    """Yield the inputs of points that have every value of every field."""
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
