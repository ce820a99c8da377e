"""Axes of a study: the values of one field, as a list, a range, a log range or a distribution."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from math import floor, isclose
from typing import Annotated, Any, Literal, cast
from zlib import crc32

import numpy as np
from pydantic import Field, model_validator

from fred_hw.errors import InputError
from fred_hw.files import Check, FileModel, int_range, number_range, refused, validate

__all__ = ["AXES", "MAX_VALUES", "Axis", "Value", "values_of"]

MAX_VALUES = 1_000_000
"""Largest number of values of one axis."""

Value = str | int | float | bool | None
"""Value of a field; None leaves the field as in its file."""

_MOST = 1e300


def _bounded(value: object) -> object:
    """Check the range of a number, which stays an integer if it is one."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not (number and -_MOST <= value <= _MOST):  # pyright: ignore[reportOperatorIssue]
        raise refused(f"must be a number from {-_MOST:g} to {_MOST:g}, not {value!r:.60}")
    return value


_Bound = Annotated[
    float | int,
    Check(_bounded, schema=lambda: {"type": "number", "minimum": -_MOST, "maximum": _MOST}),
]
_Number = Annotated[float, number_range(-_MOST, _MOST)]
_Samples = Annotated[int, int_range(1, MAX_VALUES)]


class Axis(FileModel):
    """Values of a field that are given by a rule."""

    @abstractmethod
    def values(self, seed: Sequence[int]) -> list[Value]:
        """Return the values in order; random values depend only on the seed."""


class RangeAxis(Axis):
    """Numbers at equal distances.

    Parameters
    ----------
    range : list of float
        First value and the bound of the last one, which is included if a step reaches it.
    step : float
        Distance of two values, above 0.
    """

    range: Annotated[list[_Bound], Field(examples=[[1, 8]])]
    step: Annotated[_Bound, Field(examples=[1])]

    @model_validator(mode="after")
    def _check(self) -> "RangeAxis":
        first, last = _ends("range", self.range)
        if not self.step > 0:
            raise refused(f"step must be above 0, not {self.step!r}")
        if (last - first) / self.step >= MAX_VALUES:
            raise refused(f"step must give at most {MAX_VALUES:,} values, not {self.step!r}")
        return self

    def values(self, seed: Sequence[int]) -> list[Value]:
        first, last = self.range
        steps = (last - first) / self.step
        count = floor(steps) + 1
        if isclose(steps, count):  # rounding alone keeps the last value out
            count += 1
        return [first + n * self.step for n in range(count)]


class LogRangeAxis(Axis):
    """Numbers at equal ratios.

    Parameters
    ----------
    log_range : list of float
        First and last value, both above 0.
    points : int
        Number of values.
    integer : bool
        Whether values are rounded to integers; each integer is taken once.
    """

    log_range: Annotated[list[_Bound], Field(examples=[[1.0e12, 8.0e12]])]
    points: Annotated[int, int_range(1, MAX_VALUES), Field(examples=[4])]
    integer: bool = False

    @model_validator(mode="after")
    def _check(self) -> "LogRangeAxis":
        first, _ = _ends("log_range", self.log_range)
        if not first > 0:
            raise refused(f"log_range must be above 0, not {first!r}")
        return self

    def values(self, seed: Sequence[int]) -> list[Value]:
        first, last = map(float, self.log_range)
        return _numbers(np.geomspace(first, last, self.points), integer=self.integer)


class DistributionAxis(Axis):
    """Random numbers from a distribution.

    Parameters
    ----------
    distribution : str
        ``normal`` (``mean``, ``std``), ``uniform`` or ``loguniform`` (``low``, ``high``).
    mean, std : float
        Of a normal distribution.
    low, high : float
        Bounds of a uniform or log-uniform distribution.
    samples : int
        Number of values.
    integer : bool
        Whether values are rounded to integers; each integer is taken once.
    """

    distribution: Annotated[Literal["normal", "uniform", "loguniform"], Field(examples=["normal"])]
    mean: Annotated[_Number | None, Field(examples=[1.0e15])] = None
    std: Annotated[_Number | None, Field(examples=[1.0e14])] = None
    low: Annotated[_Number | None, Field(examples=[1.0e12])] = None
    high: Annotated[_Number | None, Field(examples=[8.0e12])] = None
    samples: Annotated[_Samples, Field(examples=[20])]
    integer: bool = False

    @model_validator(mode="after")
    def _check(self) -> "DistributionAxis":
        normal = self.distribution == "normal"
        needed, other = ("mean", "std"), ("low", "high")
        if not normal:
            needed, other = other, needed
        for name in needed:
            if getattr(self, name) is None:
                raise refused(f"{name} must be given with {self.distribution}")
        for name in other:
            if getattr(self, name) is not None:
                raise refused(f"{name} must not be given with {self.distribution}")
        if self.std is not None and not self.std > 0:
            raise refused(f"std must be above 0, not {self.std:g}")
        if self.low is not None and self.high is not None:
            if not self.high > self.low:
                raise refused(f"high must be above low, {self.low:g}, not {self.high:g}")
            if not normal and self.distribution == "loguniform" and not self.low > 0:
                raise refused(f"low must be above 0 with loguniform, not {self.low:g}")
        return self

    def values(self, seed: Sequence[int]) -> list[Value]:
        random = np.random.default_rng(seed)
        if self.distribution == "normal":
            found = random.normal(self.mean or 0.0, self.std or 0.0, self.samples)
        else:
            low, high = self.low or 0.0, self.high or 0.0
            if self.distribution == "uniform":
                found = random.uniform(low, high, self.samples)
            else:
                found = np.exp(random.uniform(np.log(low), np.log(high), self.samples))
        return _numbers(found, integer=self.integer)


AXES: dict[str, type[Axis]] = {
    "range": RangeAxis,
    "log_range": LogRangeAxis,
    "distribution": DistributionAxis,
}
"""Rules for values, keyed by the key that identifies each."""


def values_of(
    given: object, name: str, seed: int, source: str, *, once: bool = True
) -> list[Value]:
    """Return the values that a study file gives for a field.

    Parameters
    ----------
    given : object
        A value, a list of values, or a mapping with a key of ``AXES``.
    name : str
        Field, whose random numbers differ from those of other fields with the same seed.
    seed : int
        Of the study.
    source : str
        The file, for error lines.
    once : bool
        Whether a list may have each value once only, as fields outside of groups.

    Raises
    ------
    InputError
        It is none of these, empty, has a value twice, or has a width that is not positive.
    """
    field = f"space.{name}"
    if isinstance(given, Mapping):
        rule = next((AXES[key] for key in AXES if key in given), None)
        if rule is None:
            keys = ", ".join(AXES)
            raise InputError(source, field, f"must be a value, a list or a mapping with {keys}")
        try:
            axis = validate(rule, cast("object", given), source)
        except InputError as error:
            inner = f"{field}.{error.field}" if error.field else field
            key, _, message = error.message.partition(" must ")
            if key.isidentifier() and message:  # a rule names the key at fault in the message
                inner, error = f"{field}.{key}", InputError("", "", f"must {message}")
            raise InputError(source, inner, error.message) from None
        return axis.values([seed, crc32(name.encode())])
    found: list[Any] = cast("list[Any]", given) if isinstance(given, list) else [given]
    if not found:
        raise InputError(source, field, "must have 1 or more values, not []")
    seen: set[tuple[type, Value]] = set()
    for value in found:
        if not (value is None or isinstance(value, str | int | float | bool)):
            raise InputError(source, field, f"must be text, numbers, true or false, not {value!r}")
        if once and (type(value), value) in seen:
            raise InputError(source, field, f"must have each value once, not {value!r} twice")
        seen.add((type(value), value))
    return found


def _ends(key: str, ends: Sequence[float]) -> Sequence[float]:
    if len(ends) != 2:
        raise refused(f"{key} must have a first and a last value, not {len(ends)} values")
    if not ends[0] <= ends[1]:
        raise refused(f"{key} must have its smaller value first, not {list(ends)}")
    return ends


def _numbers(found: Any, *, integer: bool) -> list[Value]:
    numbers = [float(one) for one in found]
    return list(dict.fromkeys(round(one) for one in numbers)) if integer else list(numbers)
