"""Docstrings name the parameters and fields that the code has."""

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from docs.generate.files import PACKAGES

from .pages import ROOT
from .sources import statements

SECTION = re.compile(r"^Parameters\n-+\n(.*?)(?=^[^\n]+\n-+$|\Z)", re.MULTILINE | re.DOTALL)
MAKERS = ("__init__", "__new__", "__call__")
ANYTHING = {"None.", "others"}
"""Entries that stand for no parameter, or for those of a base class."""

Found = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def named(text: str) -> set[str]:
    """Return the names of the section Parameters of a docstring."""
    section = SECTION.search(inspect.cleandoc(text) + "\n")
    heads = re.findall(r"^(\S.*)$", section[1] if section else "", re.MULTILINE)
    return {name.strip(" *`") for one in heads for name in one.split(" : ")[0].split(",")}


def parameters(one: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    given = one.args
    rest = [arg for arg in (given.vararg, given.kwarg) if arg]
    return {arg.arg for arg in (*given.posonlyargs, *given.args, *given.kwonlyargs, *rest)}


def own(one: Found) -> set[str]:
    """Return the parameters of a function, or the fields, keys and parameters of a class."""
    if not isinstance(one, ast.ClassDef):
        return parameters(one)
    found: set[str] = set()
    for inside in one.body:
        if isinstance(inside, ast.FunctionDef) and inside.name in MAKERS:
            found |= parameters(inside)
        if isinstance(inside, ast.AnnAssign) and isinstance(inside.target, ast.Name):
            found.add(inside.target.id)
            texts = (node.value for node in ast.walk(inside) if isinstance(node, ast.Constant))
            found |= {text for text in texts if isinstance(text, str)}  # a key of another name
    return found


def documented(packages: tuple[str, ...]) -> Iterator[tuple[Path, Found]]:
    for package in packages:
        for path in sorted((ROOT / package).rglob("*.py")):
            for one in statements(path):
                if isinstance(one, Found):
                    yield path, one


def bases(one: ast.ClassDef) -> set[str]:
    """Return the names of the base classes, without module and type parameters."""
    return {re.split(r"\[", ast.unparse(base))[0].rpartition(".")[2] for base in one.bases}


def unknown(found: list[tuple[Path, Found]]) -> list[str]:
    """Return the documented names that a function, or a class and its relatives, do not have.

    A base class may document a field that only its derived classes have.
    """
    classes = [one for _, one in found if isinstance(one, ast.ClassDef)]
    fields: dict[str, set[str]] = {}
    for one in classes:
        fields[one.name] = fields.get(one.name, set()) | own(one)
    inherited = {name: set(names) for name, names in fields.items()}
    derived = {name: set(names) for name, names in fields.items()}
    for _ in range(4):  # at least the depth of the class hierarchy
        for one in classes:
            for base in bases(one) & fields.keys():
                inherited[one.name] |= inherited[base]
                derived[base] |= derived[one.name]
    wrong: list[str] = []
    for path, one in found:
        is_class = isinstance(one, ast.ClassDef)
        have = inherited[one.name] | derived[one.name] if is_class else own(one)
        names = {name.replace("-", "_") for name in named(ast.get_docstring(one) or "")}
        missing = names - {name.replace("-", "_") for name in have} - ANYTHING
        wrong += [f"{path.relative_to(ROOT)}: {one.name}: {name}" for name in sorted(missing)]
    return wrong


def test_docstrings_name_real_parameters() -> None:
    assert unknown(list(documented(tuple(PACKAGES)))) == []


@pytest.mark.parametrize("kind", ["def f(path):", "class F:\n    path: int"])
def test_old_name_of_a_parameter_is_found(kind: str) -> None:
    text = '"""Do it.\n\n    Parameters\n    ----------\n    way : int\n        Path.\n    """'
    head, _, body = kind.partition("\n")
    tree = ast.parse(f"{head}\n    {text}\n{body}").body[0]
    assert isinstance(tree, Found)
    assert unknown([(ROOT / "x.py", tree)]) == [f"x.py: {tree.name}: way"]
