"""Statements of Python files, of which tests look at many."""

import ast
from collections.abc import Iterator
from pathlib import Path

__all__ = ["statements"]

_INSIDE = ("body", "orelse", "finalbody", "handlers", "cases")


def statements(path: Path) -> Iterator[ast.AST]:
    """Yield the statements of a file and those inside them; expressions, most of it, are left."""
    waiting: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
    while waiting:
        one = waiting.pop()
        yield one
        for name in _INSIDE:
            inside = getattr(one, name, None)
            if isinstance(inside, list):
                waiting += inside
