"""Benches of each hardware level, listed without cocotb or a simulator."""

import ast
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules

import testbench.benches

__all__ = ["benches", "tests_of"]


@cache
def benches(level: str) -> tuple[str, ...]:
    """Return the full module names ``tb_<level>`` and ``tb_<level>_<part>``, in order."""
    folder = testbench.benches
    names = [module.name for module in iter_modules(folder.__path__)]
    found = [name for name in names if f"{name}_".startswith(f"tb_{level}_")]
    return tuple(f"{folder.__name__}.{name}" for name in sorted(found))


def tests_of(level: str) -> list[str]:
    """Return the names of all tests, read from source as only a simulator can import them."""
    tests: list[str] = []
    for module in benches(level):
        bench = find_spec(module)
        assert bench is not None and bench.origin is not None
        tree = ast.parse(Path(bench.origin).read_text(encoding="utf-8"))
        tests += [
            node.name
            for node in tree.body
            if isinstance(node, ast.AsyncFunctionDef) and node.decorator_list
        ]
    return tests
