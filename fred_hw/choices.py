"""Names that a user chooses from, matched in any letter case, with suggestions."""

import re
from collections.abc import Iterable
from difflib import get_close_matches

__all__ = ["did_you_mean", "find_choice", "not_one_of"]

_LIST = 100
"""Largest number of characters of a list of choices in an error message."""

_SUGGESTED = 3
"""Largest number of suggestions."""


def find_choice(value: object, choices: Iterable[str]) -> str | None:
    """Return the choice that ``value`` names, or None.

    The case of letters does not matter, and hyphens may stand for underscores.
    """
    if not isinstance(value, str):
        return None
    wanted = _plain(value)
    return next((choice for choice in choices if _plain(choice) == wanted), None)


def _plain(name: str) -> str:
    return name.casefold().replace("-", "_")


def did_you_mean(value: object, choices: Iterable[str]) -> str:
    """Return ``; did you mean 'NAME'?`` for the closest choice, or an empty text.

    Hyphens, underscores and spaces do not matter, so ``allreduce`` suggests ``all_reduce``. Two or
    three choices that begin with the value are all suggested: ``fp8`` has ``fp8_e4m3`` and
    ``fp8_e5m2``.
    """
    if not isinstance(value, str) or len(value) > _LIST:
        return ""
    by_letters = {_letters(choice): choice for choice in choices}
    given = _letters(value)
    close = [name for name in by_letters if name.startswith(given)]
    if not given or not 2 <= len(close) <= _SUGGESTED:
        close = get_close_matches(given, by_letters, n=1)
    names = " or ".join(repr(by_letters[name]) for name in close)
    return f"; did you mean {names}?" if close else ""


def not_one_of(
    value: object,
    choices: Iterable[str],
    *,
    otherwise: str = "",
    listed_by: str | None = None,
) -> str:
    """Return the error message for a value that is not one of the choices.

    Parameters
    ----------
    value : object
        The given value.
    choices : iterable of str
        The allowed values.
    otherwise : str
        Other allowed values, from "or" on.
    listed_by : str or None
        The command that lists the choices; named in place of a list that is too long for a line.
        Without it the whole list is written.
    """
    known = tuple(choices)
    allowed = ", ".join(known)
    if listed_by and len(allowed) > _LIST:
        allowed = f"the {len(known)} names that '{listed_by}' lists"
    allowed += f" {otherwise}" if otherwise else ""
    return f"must be one of {allowed}, not {value!r:.60}{did_you_mean(value, known)}"


def _letters(name: str) -> str:
    return re.sub(r"[-_ ]", "", name.casefold())
