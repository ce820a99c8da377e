"""Limits and allowed values of YAML and JSON texts."""

import re

__all__ = ["MAX_DEPTH", "MAX_DIGITS", "MAX_VALUES", "BadTextError", "finite", "refuse_halves"]

MAX_VALUES, MAX_DEPTH, MAX_DIGITS = 50_000, 32, 1000
"""Largest number of values (counting repetitions by aliases), of nesting levels, and of digits."""


class BadTextError(Exception):
    """Error in a text, with its line."""

    def __init__(self, problem: str, line: int | None = None) -> None:
        super().__init__(f" at line {line}: {problem}" if line else f": {problem}")


def refuse_halves(text: str, line: int | None = None) -> None:
    """Fail if a text contains an unpaired surrogate, which cannot be encoded.

    Parameters
    ----------
    text : str
        The text.
    line : int, optional
        The line that it stands in.

    Raises
    ------
    BadTextError
        The text contains an unpaired surrogate.
    """
    if found := re.search("[\ud800-\udfff]", text):
        half = f"\\u{ord(found[0]):04x}"
        raise BadTextError(f"{half} must be paired with the other surrogate of its character", line)


def finite(text: str, line: int | None = None) -> float:
    """Return the number in a text; fail unless it is finite.

    Parameters
    ----------
    text : str
        A number.
    line : int, optional
        The line that it stands in.

    Raises
    ------
    BadTextError
        The number is beyond the range of floats.
    """
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise BadTextError(f"numbers must be below 1.8e308, not {text:.60}", line)
    return number
