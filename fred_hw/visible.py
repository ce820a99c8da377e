"""Escaping of characters that do not print."""

__all__ = ["visible"]

_KEPT = "\n\t"


def visible(text: str) -> str:
    """Return ``text`` with non-printing characters escaped as in a Python string.

    These are control characters, marks of text direction, and unpaired surrogates; line ends and
    tabs stay. The result has no effect on a terminal, and is allowed in XML.
    """
    return "\n".join(
        line if line.replace("\t", "").isprintable() else "".join(map(_shown, line))
        for line in text.split("\n")
    )


def _shown(one: str) -> str:
    if one.isprintable() or one in _KEPT:
        return one
    return one.encode("unicode_escape").decode("ascii")
