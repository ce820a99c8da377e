"""Numbers on the command line."""

from typing import Any

import click
from click.types import IntParamType

from .names import option_name

__all__ = ["Integer", "IntegerFrom", "Number"]


def _refused(value: object, param: click.Parameter | None, wanted: str) -> Exception:
    """Return the error for a value that is not what an option wants."""
    from fred_hw.errors import InputError

    return InputError(option_name(param), "", f"must be {wanted}, not {value!r:.60}")


class Integer(IntParamType):
    """An integer.

    Raises
    ------
    InputError
        The text is no integer.
    """

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            raise _refused(value, param, "an integer") from None


class IntegerFrom(click.IntRange):
    """An integer in a range, both ends included; the range may have no upper end.

    Raises
    ------
    InputError
        The text is no integer, or is out of range.
    """

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            wanted = f"an integer of {self.min} or more"
            if self.max is not None:
                wanted = f"an integer from {self.min} to {self.max}"
            raise _refused(value, param, wanted) from None


class Number(click.FloatRange):
    """A finite number in a range, both ends included.

    Raises
    ------
    InputError
        The text is no number, or is out of range.
    """

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        wanted = f"a number from {self.min:g} to {self.max:g}"
        try:
            found = super().convert(value, param, ctx)
        except click.BadParameter:
            raise _refused(value, param, wanted) from None
        if found != found:  # FloatRange accepts NaN, which is neither below nor above
            raise _refused(value, param, wanted)
        return found
