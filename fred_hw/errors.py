"""The exception for invalid input."""

from .visible import visible

__all__ = ["LINE", "FieldError", "InputError", "InputWarning", "one_line"]

LINE = 300
"""Largest length of an error line, including the leading word."""

_WORD = "error: "
_SOURCE, _FIELD = 100, 60
"""Largest lengths of source and field in an error line."""


def one_line(text: str, limit: int = LINE - len(_WORD)) -> str:
    """Return ``text`` as one line of at most ``limit`` characters without control characters.

    Characters that do not print stand as Python writes them in a string; what is too long lacks
    its middle, as what is allowed stands in front and what was given in the end.
    """
    if len(text) > 20 * limit:  # a character may become ten, so longer text is never shown
        text = f"{text[: 10 * limit]}...{text[-10 * limit :]}"
    text = visible(" ".join(text.split()))
    if len(text) <= limit:
        return text
    tail = limit // 3
    return f"{text[: limit - tail - 3]}...{text[-tail:]}"


class InputWarning(UserWarning):
    """Accepted input that partly has no effect; the command line prints a warning line."""


class FieldError(ValueError):
    """A field of a specification is not suitable for the requested use.

    Parameters
    ----------
    field : str
        Field, as a dotted path.
    message : str
        The rule and the value, from "must" on.
    """

    def __init__(self, field: str, message: str) -> None:
        self.field, self.message = field, message
        super().__init__(f"{field} {message}")


class InputError(Exception):
    """Invalid input from a file or the command line: one line with source, field and rule.

    Parameters
    ----------
    source : str
        File, option or argument that the input came from.
    field : str
        Field in the source, as a dotted path; empty if the whole source is invalid.
    message : str
        The rule and the given value. The line has all three parts, as ``one_line`` shortens them.
    """

    def __init__(self, source: str, field: str, message: str) -> None:
        self.source, self.field, self.message = source, field, " ".join(message.split())
        front = [one_line(source, _SOURCE), one_line(field, _FIELD)]
        line = "".join(f"{part}: " for part in front if part)
        super().__init__(line + one_line(message, LINE - len(_WORD) - len(line)))
