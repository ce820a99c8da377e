"""Benches of each hardware level, and their figures, listed without cocotb or a simulator."""

import ast
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules
from typing import NamedTuple

import testbench.benches

__all__ = ["BASELINES", "Figure", "benches", "figures_of", "tests_of"]

BASELINES: dict[str, str] = dict.fromkeys(("crossbar", "benes"), "interconnect")
"""Levels with the benches of another level."""


@cache
def benches(level: str) -> tuple[str, ...]:
    """Return the full module names ``tb_<level>`` and ``tb_<level>_<part>``, in order.

    Baselines of the interconnect have the benches of the interconnect.
    """
    folder, level = testbench.benches, BASELINES.get(level, level)
    names = [module.name for module in iter_modules(folder.__path__)]
    found = [name for name in names if f"{name}_".startswith(f"tb_{level}_")]
    return tuple(f"{folder.__name__}.{name}" for name in sorted(found))


def tests_of(level: str) -> list[str]:
    """Return the names of all tests, read from source as only a simulator can import them."""
    return [test.name for module in benches(level) for test in _tests(module)]


class Figure(NamedTuple):
    """A figure that a test reports with ``testbench.agents.measurements.record``."""

    name: str
    unit: str
    meaning: str
    test: str


def figures_of(level: str) -> list[Figure]:
    """Return the figures that all tests report, as stated in their calls of ``record``."""
    found: list[Figure] = []
    for test in (test for module in benches(level) for test in _tests(module)):
        for call in ast.walk(test):
            if isinstance(call, ast.Call) and ast.unparse(call.func) == "record":
                name, unit, meaning = (ast.literal_eval(call.args[place]) for place in (0, 2, 3))
                found.append(Figure(name, unit, meaning, test.name))
    return found


def _tests(module: str) -> list[ast.AsyncFunctionDef]:
    """Return the tests in the source of a module."""
    bench = find_spec(module)
    assert bench is not None and bench.origin is not None
    tree = ast.parse(Path(bench.origin).read_text(encoding="utf-8"))
    return [
        node for node in tree.body if isinstance(node, ast.AsyncFunctionDef) and node.decorator_list
    ]
