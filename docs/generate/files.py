"""The page of all files, each with the first sentence of its docstring."""

import ast
from itertools import groupby
from pathlib import Path

__all__ = ["ROOMS", "files", "says"]

ROOT = Path(__file__).parents[2]

ROOMS = ("fred_hw", "gen", "testbench", "synth", "perfmodel", "fred_cli", "docs/generate", "tests")

HEAD = """# Files

<!-- Written by: python -m docs.generate -->

Every Python file, with the first sentence of its docstring. [architecture.md](architecture.md) says
what folders are for, and which may import which. Tests mirror them; here is only what is no test.
"""


def says(path: Path) -> str:
    """Return the first sentence of a module's docstring, without its full stop."""
    text = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
    return text.partition("\n")[0].strip().removesuffix(".").replace("``", "`")


def files() -> str:
    """Return the page."""
    found = [path for room in ROOMS for path in (ROOT / room).rglob("*.py") if listed(path)]
    found.sort(key=lambda path: (ROOMS.index(room_of(path)), path.parent, path.name))
    lines = [HEAD]
    for folder, paths in groupby(found, lambda path: path.parent):
        about = folder / "__init__.py"
        lines.append(f"## `{folder.relative_to(ROOT).as_posix()}/`\n")
        lines += [f"{says(about)}.\n"] if about.exists() and says(about) else []
        lines += ["| file | |", "| --- | --- |"]
        lines += [
            f"| [{path.name}](../{path.relative_to(ROOT).as_posix()}) | {says(path)} |"
            for path in paths
        ]
        lines.append("")
    return "\n".join(lines)


def room_of(path: Path) -> str:
    """Return the one of ``ROOMS`` that a file is in."""
    return next(room for room in ROOMS if path.is_relative_to(ROOT / room))


def listed(path: Path) -> bool:
    """Whether a file is on the page."""
    test = path.name.startswith("test_") and path.is_relative_to(ROOT / "tests")
    return path.name != "__init__.py" and not test
