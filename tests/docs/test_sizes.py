"""Functions and files of the product stay short."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from docs.generate.files import PACKAGES

from .pages import ROOT
from .sources import statements

FUNCTION_LINES, FILE_LINES = 60, 500


def functions(path: Path) -> Iterator[tuple[str, int]]:
    """Yield name and length of each function of a file, docstring included."""
    for node in statements(path):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            yield node.name, node.end_lineno - node.lineno + 1


@pytest.mark.parametrize("package", [*PACKAGES, "docs", "tests"])
def test_functions_are_short(package: str) -> None:
    long = [
        f"{path.relative_to(ROOT)}: {name} has {lines} lines"
        for path in sorted((ROOT / package).rglob("*.py"))
        for name, lines in functions(path)
        if lines > FUNCTION_LINES
    ]
    assert long == []


@pytest.mark.parametrize("package", [*PACKAGES, "docs", "tests"])
def test_files_are_short(package: str) -> None:
    files = {
        str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines())
        for path in (ROOT / package).rglob("*.*")
        if path.suffix in (".py", ".cpp", ".hpp")
    }
    assert {name: lines for name, lines in files.items() if lines > FILE_LINES} == {}
