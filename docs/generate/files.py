"""The page of all files, each with the first sentence that it says of itself."""

import ast
from itertools import groupby
from pathlib import Path

__all__ = ["PACKAGES", "files", "found_files", "says"]

ROOT = Path(__file__).parents[2]

PACKAGES = (
    *("fred_hw", "gen", "testbench", "synth"),
    *("perfmodel", "tracemodel", "clustermodel", "studies", "fred_cli"),
)
"""Packages that the wheel contains."""

FOLDERS = (*PACKAGES, "docs/generate", "tests")

ENDINGS = (".py", ".hpp", ".cpp", ".v")

HEAD = """# Files

<!-- Written by: python -m docs.generate -->

Every Python, C++ and Verilog file with the first sentence of its docstring, tests excepted.
[Architecture](../explanation/architecture.md) describes the folders and which may import which.
Tests mirror the folders.
"""


def says(path: Path) -> str:
    """Return the first line of a module's docstring, or of a comment, without its full stop."""
    text = path.read_text("utf-8")
    if path.suffix == ".py":
        text = ast.get_docstring(ast.parse(text)) or ""
    else:
        text = text.removeprefix("//") if text.startswith("// ") else ""
    return text.partition("\n")[0].strip().removesuffix(".").replace("``", "`")


def found_files() -> list[Path]:
    """Return the files that are on the page, in its order."""
    found = [
        path
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*")
        if path.suffix in ENDINGS and listed(path)
    ]
    return sorted(found, key=lambda path: (FOLDERS.index(folder_of(path)), path.parent, path.name))


def files() -> str:
    """Return the page."""
    lines = [HEAD]
    for folder, paths in groupby(found_files(), lambda path: path.parent):
        about = folder / "__init__.py"
        lines.append(f"## `{folder.relative_to(ROOT).as_posix()}/`\n")
        lines += [f"{says(about)}.\n"] if about.exists() and says(about) else []
        lines += ["| file | |", "| --- | --- |"]
        lines += [
            f"| [{path.name}](../../{path.relative_to(ROOT).as_posix()}) | {says(path)} |"
            for path in paths
        ]
        lines.append("")
    return "\n".join(lines)


def folder_of(path: Path) -> str:
    """Return the one of ``FOLDERS`` that a file is in."""
    return next(folder for folder in FOLDERS if path.is_relative_to(ROOT / folder))


def listed(path: Path) -> bool:
    """Whether a file is on the page: no test, nor what a program wrote for one."""
    tests = path.is_relative_to(ROOT / "tests")
    test = tests and (path.name.startswith("test_") or path.suffix != ".py")
    return path.name != "__init__.py" and not test
