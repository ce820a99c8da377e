"""Checks of parameters, shared by every constructor."""

from collections.abc import Collection
from typing import TypeVar

from .choices import not_one_of

__all__ = ["check_choice", "check_int", "check_kind"]

Some = TypeVar("Some")


def check_int(name: str, value: object, *, minimum: int, maximum: int | None = None) -> int:
    """Return ``value`` if it is an integer from ``minimum`` to ``maximum``; fail otherwise.

    Raises
    ------
    TypeError
        ``value`` is not an integer; a ``bool`` does not count as one.
    ValueError
        ``value`` is out of range.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} must be an integer, not {value!r}")
    if value < minimum or (maximum is not None and value > maximum):
        allowed = f"{minimum} or more" if maximum is None else f"{minimum} to {maximum}"
        raise ValueError(f"{name} must be {allowed}, not {value}")
    return value


def check_choice(name: str, value: object, choices: Collection[str]) -> str:
    """Return ``value`` if it is one of ``choices``; fail otherwise.

    Raises
    ------
    ValueError
        ``value`` is not one of ``choices``.
    """
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} {not_one_of(value, choices)}")
    return value


def check_kind(name: str, value: object, kind: type[Some]) -> Some:
    """Return ``value`` if it is an instance of a class; fail otherwise.

    Raises
    ------
    TypeError
        ``value`` is not an instance of the class.
    """
    if not isinstance(value, kind):
        article = "an" if kind.__name__[0] in "aeiouAEIOU" else "a"
        raise TypeError(f"{name} must be {article} {kind.__name__}, not {value!r}")
    return value
