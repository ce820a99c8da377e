"""The page of all hardware units, from their docstrings."""

import ast
import inspect
import re
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from textwrap import dedent
from types import FunctionType

import fred_hw
from fred_hw.arith.lane_unit import LaneUnit
from fred_hw.datapath.lane_group import LaneGroup
from fred_hw.endpoint.route_keeper import RouteKeeper
from fred_hw.endpoint_spec import EndpointSpec
from fred_hw.protocol import ProtocolSpec
from fred_hw.unit import Unit

from .blocks import Blocks

__all__ = ["catalogue", "parts", "sizes", "units"]

ROOT = Path(__file__).parents[2]
HEAD = """# Units

<!-- Written by: python -m docs.generate -->

Every hardware unit, by package. A unit is a class, and one module of the Verilog, however often it
is used. The docstring lists parameters and timing, and tests check each of its numbers. The
class declares and describes each port. `help()` of the class prints docstring and ports.
"""
SIZES = """## Sizes

Which files of `fred_hw` go by a size of a link or of an endpoint, or by one that follows from them.
[YAML keys](yaml-keys.md#specification) says what it is.

| size | files |
| --- | --- |"""
FIGURES = """## Figures

Blue boxes are units; a test holds them against the hardware.
A figure is drawn from the YAML beside it.
"""


@cache
def units() -> list[type[Unit]]:
    """Return the public units of all packages, by module, without those that are only bases."""
    found = {
        f"{info.name}.{name}": value
        for info in walk_packages(fred_hw.__path__, "fred_hw.")
        for name, value in vars(import_module(info.name)).items()
        if isinstance(value, type) and issubclass(value, Unit) and value is not Unit
        if value.__module__ == info.name and not name.startswith("_")
    }
    bases = {base for value in found.values() for base in value.__mro__[1:]}
    return [value for _, value in sorted(found.items()) if value not in bases]


@cache
def _tree(thing: type[Unit] | FunctionType) -> ast.Module:
    """Return the syntax of a class or function."""
    return ast.parse(dedent(inspect.getsource(thing)))


def parts(unit: type[Unit]) -> set[str]:
    """Return the names of the other units that a unit makes, which stand in it."""
    classes = [one for one in unit.__mro__ if issubclass(one, Unit) and one is not Unit]
    nodes = [node for one in classes for node in ast.walk(_tree(one))]
    bodies = [line for node in nodes if isinstance(node, ast.FunctionDef) for line in node.body]
    found = {node.id for line in bodies for node in ast.walk(line) if isinstance(node, ast.Name)}
    # A function of its module, or one that this imports, may make it.
    makers = [vars(import_module(one.__module__)).get(name) for one in classes for name in found]
    for maker in makers:
        if inspect.isfunction(maker) and maker.__module__.startswith("fred_hw."):
            calls = [node.func for node in ast.walk(_tree(maker)) if isinstance(node, ast.Call)]
            found |= {func.id for func in calls if isinstance(func, ast.Name)}
    lanes = {one.__name__ for one in units() if issubclass(one, LaneUnit)}
    found |= lanes if unit is LaneGroup else set()  # an operation makes them
    found |= {"RouteChoice"} if unit is RouteKeeper else set()  # a mesh routing creates it
    networks = {"Interconnect", "ReductionCrossbar"}  # a specification chooses one
    found |= networks if unit.__name__ == "SwitchCore" else set()
    found |= {"Interconnect"} if unit.__name__ == "Accumulating" else set()
    return found & {one.__name__ for one in units()} - {unit.__name__}


def entry(unit: type[Unit], name: str) -> str:
    """Return an entry of the section Timing of a unit's docstring, in one line."""
    text = inspect.getdoc(unit) or ""
    found = re.search(rf"^{name} : (.*(?:\n    .*)*)", text, re.MULTILINE)
    return " ".join(found[1].split()) if found else ""


def row(unit: type[Unit], drawn: dict[str, list[str]], homes: dict[str, list[str]]) -> str:
    """Return the table row of a unit."""
    summary = " ".join((inspect.getdoc(unit) or "").split("\n\n")[0].split()).replace("``", "`")
    path = Path(inspect.getfile(unit)).relative_to(ROOT)
    latency = entry(unit, "Latency").replace("``", "`")
    links = ", ".join(f"[{name}](#{name}-blocks)" for name in drawn.get(unit.__name__, []))
    home = ", ".join(homes.get(unit.__name__, []))
    return f"| [{unit.__name__}](../../{path}) | {summary} | {latency} | {home} | {links} |"


def sizes() -> dict[str, list[str]]:
    """Return which files of ``fred_hw`` name a size of links or endpoints, or what follows."""
    folder, found = ROOT / "fred_hw", {}
    named: dict[tuple[str, str], dict[Path, None]] = {}
    for path in sorted(folder.rglob("*.py")):
        for size in re.findall(r"\b(protocol|endpoint)\.(\w+)", path.read_text("utf-8")):
            named.setdefault(size, {})[path] = None
    for where, model in (("protocol", ProtocolSpec), ("endpoint", EndpointSpec)):
        follow = [
            name
            for name, value in vars(model).items()
            if isinstance(value, property) and value.fget.__annotations__["return"] is int
        ]
        for name in (*model.model_fields, *follow):
            files = named.get((where, name), ())
            found[name] = [path.relative_to(folder).as_posix() for path in files]
    return {name: files for name, files in found.items() if files}


def catalogue(figures: dict[str, Blocks]) -> str:
    """Return the page.

    Parameters
    ----------
    figures : dict of str to Blocks
        Block diagrams by the name of their file.
    """
    drawn: dict[str, list[str]] = {}
    for name, blocks in figures.items():
        for unit in sorted({*blocks.units(), *blocks.inside}):
            drawn.setdefault(unit, []).append(name.removesuffix("-blocks"))
    homes: dict[str, list[str]] = {}
    for unit in units():
        for part in sorted(parts(unit)):
            homes.setdefault(part, []).append(unit.__name__)
    packages: dict[str, list[str]] = {}
    for unit in units():
        packages.setdefault(unit.__module__.split(".")[1], []).append(row(unit, drawn, homes))
    lines = [HEAD]
    for package, rows in packages.items():
        doc = inspect.getdoc(import_module(f"fred_hw.{package}")) or ""
        lines += [f"## {package}\n", f"{doc}\n", "| unit | does | latency | stands in | drawn in |"]
        lines += ["| --- | --- | --- | --- | --- |", *rows, ""]
    lines += [SIZES]
    for name, found in sizes().items():
        links = (f"[{one}](../../fred_hw/{one})" for one in found)
        lines.append(f"| `{name}` | {', '.join(links)} |")
    lines += ["", FIGURES]
    for name, blocks in figures.items():
        lines += [f"### {name}\n", f"![{blocks.title}](../figures/{name}.svg)\n"]
    return "\n".join(lines)
