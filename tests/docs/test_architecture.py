"""What docs/explanation/architecture.md says of imports is so."""

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

import networkx as nx
import pytest

from docs.generate.files import PACKAGES

from .pages import ROOT
from .sources import statements

ROW = re.compile(r"^\| `(\w+)` \|.*\| ([^|]*) \|$", re.MULTILINE)
SAID = {
    name: sorted(re.findall(r"`(\w+)`", imports))
    for name, imports in ROW.findall((ROOT / "docs/explanation/architecture.md").read_text())
}
SUBPACKAGES = [path.parent.name for path in sorted((ROOT / "fred_hw").glob("*/__init__.py"))]


def modules(folder: Path) -> Iterator[str]:
    """Yield what the files of a folder import, at the top and inside functions."""
    for path in folder.rglob("*.py"):
        yield from imports(path)


@cache
def imports(path: Path) -> list[str]:
    """Return what a file imports: that of a subpackage is looked at for its package, too."""
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


@pytest.mark.parametrize("subpackage", SUBPACKAGES)
def test_room_imports_what_the_page_says(subpackage: str) -> None:
    parts = [module.split(".") for module in modules(ROOT / "fred_hw" / subpackage)]
    found = {part[1] for part in parts if part[0] == "fred_hw" and len(part) > 1}
    assert SAID[subpackage] == sorted(found & set(SUBPACKAGES) - {subpackage})


@pytest.mark.parametrize("package", PACKAGES)
def test_rooms_have_no_circle(package: str) -> None:
    # Loose files of a package are subpackages here; what functions import counts as well.
    left = needs(package)
    ends = {subpackage for subpackage, others in left.items() if not others}
    while ends:
        left = {
            subpackage: others - ends
            for subpackage, others in left.items()
            if subpackage not in ends
        }
        needed = set[str]().union(*left.values())
        ends = {
            subpackage
            for subpackage, others in left.items()
            if not others or subpackage not in needed
        }
    assert left == {}


def needs(package: str) -> dict[str, set[str]]:
    """Return which others each subpackage or loose file of a package imports."""
    found: dict[str, set[str]] = {}
    for path in (ROOT / package).rglob("*.py"):
        subpackage = path.relative_to(ROOT / package).parts[0].removesuffix(".py")
        parts = [module.split(".") for module in imports(path)]
        found.setdefault(subpackage, set()).update(
            part[1] for part in parts if part[0] == package and len(part) > 1
        )
    return {
        subpackage: (others - {subpackage}) & found.keys() for subpackage, others in found.items()
    }


def test_files_have_no_circle() -> None:
    """Those of all packages, with what is imported for types or inside functions."""
    files = {name_of(path): path for package in PACKAGES for path in (ROOT / package).rglob("*.py")}
    graph = nx.DiGraph(
        (name, other)
        for name, path in files.items()
        for other in imports(path)
        if other in files and other != name
    )
    circles = [found for found in nx.strongly_connected_components(graph) if len(found) > 1]
    assert circles == []


def name_of(path: Path) -> str:
    """Return what a file is imported as."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


INTERFACES = {"clustermodel": {"api"}, "tracemodel": {"api", "names"}}
"""Modules that other packages and users may import from products of their own."""


@pytest.mark.parametrize("product", INTERFACES)
def test_a_product_is_used_through_its_interface_alone(product: str) -> None:
    """Names in texts count too, as options and examples name modules."""
    inside = re.compile(rf"\b{product}\.([a-z_]\w*)|\bimport {product}\b")
    wrong = {
        f"{path}: {found[0]}"
        for path, text in users(product).items()
        for found in inside.finditer(text)
        if found[1] not in INTERFACES[product]
    }
    assert wrong == set()


@pytest.mark.parametrize("product", INTERFACES)
def test_an_interface_has_nothing_that_is_not_used(product: str) -> None:
    used = set[str]()
    for text in users(product).values():
        for names in re.findall(rf"from {product}\.\w+ import (\([^)]*\)|.+)", text):
            used |= {*re.findall(r"\w+", names)}
        used |= {*re.findall(rf'"{product}\.\w+", "(\w+)"', text)}  # names that options load
    for name in INTERFACES[product]:
        offered = import_module(f"{product}.{name}").__all__
        assert [one for one in offered if one not in used] == []


@cache
def users(product: str) -> dict[Path, str]:
    """Return the texts of other packages, pages and examples that name a product's modules."""
    places = [ROOT / place for place in (*PACKAGES, "docs", "examples") if place != product]
    paths = [path for place in places for path in place.rglob("*.*")]
    texts = {path: path.read_text() for path in paths if path.suffix in (".py", ".md", ".ipynb")}
    return {
        path.relative_to(ROOT): text
        for path, text in texts.items()
        if f"{product}." in text or f"import {product}" in text
    }
