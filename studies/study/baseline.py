"""Baseline of a study: the topology or network with which points are compared on equal terms."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from fred_hw.choices import not_one_of
from fred_hw.errors import InputError

from .axes import Value
from .file import StudyFile
from .kind import Comparison, Kind, Resolver
from .shared import Numbers, Shared
from .space import Space

__all__ = ["Baseline", "read_baseline", "with_npus"]


@dataclass(frozen=True)
class Baseline:
    """Points with which others are compared: the same points on one topology or network.

    Parameters
    ----------
    name : str
        The topology or network.
    space : Space
        All points.
    comparison : Comparison
        What is compared.
    """

    name: str
    space: Space
    comparison: Comparison
    _group: int
    _step: int

    def numbers(self, numbers: Numbers) -> Numbers:
        """Return for each point the point on the baseline that is equal in all other fields."""
        steps: Numbers = self.space.steps(numbers)[self._group]
        return numbers + (self._step - steps) * self.space.strides[self._group]


def read_baseline(
    file: StudyFile, source: str, space: Space, kind: Kind, resolver: Resolver
) -> Baseline | None:
    """Return the baseline of a study file, or None if it has none.

    Raises
    ------
    InputError
        The space has no such topology or network, or points may not be compared with it.
    """
    if file.baseline is None:
        if file.as_is:
            raise InputError(source, "as_is", "must be given with baseline alone")
        return None
    comparison = _comparison(kind, "baseline", source)
    group = next(n for n, one in enumerate(space.groups) if comparison.field in one[0])
    names = [step[comparison.field] for step in space.groups[group]]
    if (count := names.count(file.baseline)) != 1:
        known = dict.fromkeys(map(str, names))
        message = not_one_of(file.baseline, known)
        if count:
            message = f"must have one step of its group in zip, not {count} as {file.baseline}"
        raise InputError(source, "baseline", message)
    found = Baseline(file.baseline, space, comparison, group, names.index(file.baseline))
    _check_terms(found, resolver, source, as_is=file.as_is)
    return found


def with_npus(file: StudyFile, source: str, kind: Kind, resolver: Resolver) -> dict[str, Any]:
    """Return the space of a study file with the NPUs of the topology ``npu_from`` everywhere.

    Raises
    ------
    InputError
        There is no such topology, ``as_is`` is given too, or points have no NPUs.
    """
    if file.npu_from is None:
        return file.space
    if file.as_is:
        message = "must not be given if NPUs are compared as they are"
        raise InputError(source, "npu_from", message)
    try:
        fields = _comparison(kind, "npu_from", source).npus(resolver, file.npu_from)
    except InputError as error:
        raise InputError(source, "npu_from", error.message) from None
    return {**fields, **{name: _filled(one, fields.get(name)) for name, one in file.space.items()}}


def _filled(given: Any, rate: Value) -> Any:
    """Return the values of a field with a rate where they leave the field as it is."""
    if isinstance(given, list):
        return [rate if one is None else one for one in cast("list[Any]", given)]
    return rate if given is None else given


def _comparison(kind: Kind, key: str, source: str) -> Comparison:
    if kind.comparison is None:
        raise InputError(source, key, "must be given only with topology or network")
    return kind.comparison


def _check_terms(baseline: Baseline, resolver: Resolver, source: str, *, as_is: bool) -> None:
    space, comparison = baseline.space, baseline.comparison

    def check(number: int) -> None:
        base = baseline.numbers(np.array([number]))[0]
        pair: list[dict[str, Value]] = [space[int(base)], space[number]]
        try:
            inputs = [resolver.inputs(values) for values in pair]
        except InputError:  # a point that fails
            return
        try:
            comparison.check(inputs[0], inputs[1], as_is)
        except InputError as error:
            raise InputError(source, f"space.{error.field}", error.message) from None

    terms = Shared(space, comparison.roots, check)
    terms.of(_one_of_each(space, comparison.roots))


def _one_of_each(space: Space, roots: Collection[str]) -> Numbers:
    """Return the points with all steps of the groups of some fields, and the others' first."""
    found: Numbers = np.zeros(1, np.int64)
    for stride, steps in zip(space.strides, space.groups, strict=True):
        if any(name.partition(".")[0] in roots for name in steps[0]):
            found = np.add.outer(found, stride * np.arange(len(steps))).reshape(-1)
    return found
