"""Numbers on the command line."""

from typing import Any

import click

from .options import option_name

__all__ = ["Number"]


class Number(click.ParamType):
    """A finite number in a range.

    Parameters
    ----------
    least, most : float
        The range, both ends included.

    Raises
    ------
    InputError
        The text is no number, or is out of range.
    """

    name = "number"

    def __init__(self, least: float, most: float) -> None:
        self.least, self.most = least, most

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        from fred_hw.errors import InputError

        try:
            found = float(value)
        except ValueError:
            found = float("nan")
        if not self.least <= found <= self.most:
            message = f"must be a number from {self.least:g} to {self.most:g}, not {value!r:.60}"
            raise InputError(option_name(param), "", message)
        return found
