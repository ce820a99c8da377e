"""What docs/architecture.md says of imports is so."""

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from .pages import ROOT
from .sources import statements

PACKAGES = ("fred_hw", "gen", "testbench", "perfmodel", "synth", "fred_cli")
ROW = re.compile(r"^\| `(\w+)` \|.*\| ([^|]*) \|$", re.MULTILINE)
SAID = {
    name: sorted(re.findall(r"`(\w+)`", imports))
    for name, imports in ROW.findall((ROOT / "docs/architecture.md").read_text())
}


def rooms(package: str) -> list[str]:
    """Return the folders of a package."""
    return [path.parent.name for path in sorted((ROOT / package).glob("*/__init__.py"))]


def modules(folder: Path) -> Iterator[str]:
    """Yield what the files of a folder import, at the top and inside functions."""
    for path in folder.rglob("*.py"):
        yield from imports(path)


@cache
def imports(path: Path) -> list[str]:
    """Return what a file imports: that of a room is looked at for its package, too."""
    package, found = path.relative_to(ROOT).parts[:-1], list[str]()
    for node in statements(path):
        if isinstance(node, ast.Import):
            found += [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            base = ".".join((*above, *([node.module] if node.module else [])))
            found += [base, *(f"{base}.{name.name}" for name in node.names)]
    return found


@pytest.mark.parametrize("package", PACKAGES)
def test_package_imports_what_the_page_says(package: str) -> None:
    found = {module.split(".")[0] for module in modules(ROOT / package)}
    assert SAID[package] == sorted(found - {package} - sys.stdlib_module_names)


def needs_of(package: str, room: str) -> set[str]:
    """Return the other rooms of its package that a room imports."""
    parts = [module.split(".") for module in modules(ROOT / package / room)]
    found = {part[1] for part in parts if part[0] == package and len(part) > 1}
    return found & set(rooms(package)) - {room}


@pytest.mark.parametrize("room", rooms("fred_hw"))
def test_room_imports_what_the_page_says(room: str) -> None:
    assert SAID[room] == sorted(needs_of("fred_hw", room))


@pytest.mark.parametrize("package", ["fred_hw", "testbench"])
def test_rooms_have_no_circle(package: str) -> None:
    left = {room: needs_of(package, room) for room in rooms(package)}
    while free := [room for room, needs in left.items() if not needs & left.keys()]:
        for room in free:
            del left[room]
    assert left == {}
