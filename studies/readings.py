"""Readings of the paper: alternative options that a comparison also evaluates."""

from collections.abc import Mapping, Sequence

from fred_hw.errors import InputError
from perfmodel.training.options import OPTIONS, Options

__all__ = ["read_readings"]


def read_readings(texts: Sequence[str]) -> dict[str, Mapping[str, str]]:
    """Return the options of each reading, keyed by its text.

    Parameters
    ----------
    texts : sequence of str
        Each like ``compute=weights``, or ``compute=weights,algorithm=auto`` for two options.

    Raises
    ------
    InputError
        A text is malformed or there twice, or an option or its value is not allowed.
    """
    found: dict[str, Mapping[str, str]] = {}
    for text in texts:
        if text in found:
            raise InputError("", "reading", f"must have each reading once, not {text!r} twice")
        options: dict[str, str] = {}
        for part in text.split(","):
            key, equals, value = part.partition("=")
            name = key.strip().replace("-", "_")
            if not equals or name not in OPTIONS or name in options:
                allowed = f"OPTION=VALUE with each of {', '.join(OPTIONS)} once at most"
                raise InputError("", "reading", f"must be {allowed}, not {text!r:.60}")
            options[name] = value.strip()
        try:
            Options(**options)
        except InputError as error:
            raise InputError("", "reading", f"{error.field} {error.message}") from None
        found[text] = options
    return found
