"""Parsing of class docstrings, for pages and schemas."""

import inspect
import re

__all__ = ["parameters", "summary"]

_SECTION = re.compile(r"^Parameters\n-+\n(.*?)(?=^[^\n]+\n-+$|\Z)", re.MULTILINE | re.DOTALL)
_ENTRY = re.compile(r"^([\w-]+(?:, [\w-]+)*) : [^\n]*\n((?:(?: {4}[^\n]*)?\n?)*)", re.MULTILINE)


def summary(cls: type) -> str:
    """Return the first paragraph of a class docstring as one line."""
    return _line(inspect.cleandoc(cls.__doc__ or "").partition("\n\n")[0])


def parameters(cls: type) -> dict[str, str]:
    """Return the description of each parameter of a class and its bases.

    They stand in a section Parameters as numpydoc has it; a subclass goes before its bases.
    """
    found: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        section = _SECTION.search(inspect.cleandoc(base.__doc__ or "") + "\n")
        for entry in _ENTRY.finditer(section[1] if section else ""):
            found |= dict.fromkeys(entry[1].split(", "), _line(entry[2]))
    return found


def _line(text: str) -> str:
    return " ".join(text.split()).replace("``", "`")
