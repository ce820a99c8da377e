"""Generated parts of pages that are otherwise written by hand."""

from collections.abc import Sequence
from pathlib import Path

__all__ = ["with_part"]


def with_part(page: Path, text: str, name: str, lines: Sequence[str]) -> str:
    """Return the text of a page with lines between the marks of a part.

    Raises
    ------
    ValueError
        The page lacks a mark.
    """
    begin, end = f"<!-- {name}: make docs -->\n", "<!-- end -->\n"
    before, found, rest = text.partition(begin)
    _, ended, after = rest.partition(end)
    if not (found and ended):
        raise ValueError(f"{page.name} must have {begin.strip()} and {end.strip()} after it")
    return "\n".join([before + begin, *lines, "", end + after])
