"""Comments of a generated module: contract, ports and parts, from the source of its unit."""

import ast
import inspect
import re
import sys
from collections.abc import Iterator
from functools import cache
from importlib.metadata import version
from pathlib import Path
from textwrap import wrap
from typing import Any

import fred_hw
from fred_hw.member import declared
from fred_hw.unit import Unit

__all__ = ["WIDTH", "comment", "header", "origin", "port_texts", "source"]

WIDTH = 100
_HEADING = re.compile(r"^(\w+)\n-+$", re.MULTILINE)
_ENTRY = re.compile(r"^(\w[\w, ]*?) : (.*(?:\n    .*)*)", re.MULTILINE)
_CODE = re.compile("``([^`]*)``")
_PACKAGE = Path(fred_hw.__file__).parent
_SHARED = {
    "clk": "Clock: registers change at its rising edge.",
    "rst": "Reset: synchronous, active high.",
}


def comment(text: str, indent: str = "") -> list[str]:
    """Return a text as lines of Verilog comments."""
    return wrap(text, WIDTH, initial_indent=f"{indent}// ", subsequent_indent=f"{indent}//   ")


def header(unit: Unit) -> list[str]:
    """Return the comment at the beginning of a unit's module.

    It has the first sentences of the docstring, the class, the version of this product, parameters
    with values, timing in numbers, and the methods that :func:`origin` names.
    """
    owner = type(unit)
    summary, sections = _sections(owner)
    lines = [*comment(f"{unit.unit_name}: {summary}"), *comment(source(owner))]
    for names, text in _ENTRY.findall(sections.get("Parameters", "")):
        kind, _, meaning = text.partition("\n")
        values = (_value(getattr(unit, name, None)) for name in names.split(", "))
        given = ", ".join(f"{a}{b}" for a, b in zip(names.split(", "), values, strict=True))
        lines += comment(f"Parameter {given}: {_plain(meaning) or kind}")
    for name, text in _ENTRY.findall(sections.get("Timing", "")):
        values = _CODE.sub(lambda found: _evaluated(found[1], unit) or found[0], text)
        said = _plain(values if name in ("Latency", "Throughput") else text)
        said = re.sub(r"\b1 cycles", "1 cycle", said)
        lines += comment(f"{name}: {said}")
    for name, text in _parts(owner):
        lines += comment(f"Part {owner.__name__}.{name}: {text}")
    return lines


def source(owner: type) -> str:
    """Return the class that a module is made from, and the version of this product."""
    return f"Source: {owner.__module__}.{owner.__qualname__}, fred-hw {version('fred-hw')}"


def port_texts(unit: Unit) -> dict[str, str]:
    """Return the description of each port of a unit's module, by name.

    Fields of an interface without descriptions have that of the interface.
    """
    found = dict(_SHARED)
    for path, _, _ in unit.signature.flatten(unit):
        text = ""
        where: Any = unit
        for part in path:
            if isinstance(part, int):
                where = where[part]
                continue
            text = _described(where, part) or text
            where = getattr(where, part)
        found["__".join(str(part) for part in path)] = text
    return found


def origin(file: str, line: int) -> str:
    """Return the function of this package that a line belongs to; "" if it belongs to none."""
    path = Path(file)
    if _PACKAGE not in path.parents:
        return ""
    inside = [name for name, first, last in _functions(path) if first <= line <= last]
    return inside[-1] if inside else ""


def _described(where: object, name: str) -> str:
    """Return the description of a member, which may be one of several of a declaration."""
    of = declared(type(where))
    if name in of:
        return _plain(of[name].description)
    if isinstance(where, Unit):  # the members of bundles have the names of their declarations
        texts = (one.description for one in of.values() if name in one.found(where))
        return _plain(next(texts, ""))
    return ""


def _plain(text: str) -> str:
    """Return a text on one line, without marks of reStructuredText."""
    return re.sub(r":\w+:`~?([^`]*)`|`+([^`]*)`+", r"\1\2", " ".join(text.split()))


def _evaluated(expression: str, unit: Unit) -> str:
    """Return the value of a sum in a docstring, for a unit; "" if a term has none.

    Terms are numbers, attributes of the unit or of its specification, and functions of the
    specification in the module of the unit.
    """
    spec = getattr(unit, "spec", None)
    total = 0
    for term in expression.split(" + "):
        name = term.removeprefix("spec.")
        function = getattr(sys.modules[type(unit).__module__], name.removesuffix("(spec)"), None)
        if name.endswith("(spec)") and function:
            value = function(spec)
        elif name.isdecimal():
            value = int(name)
        else:
            value = getattr(unit, name, getattr(spec, name, None))
        if not isinstance(value, int) or isinstance(value, bool):
            return ""
        total += value
    return str(total)


def _sections(owner: type) -> tuple[str, dict[str, str]]:
    """Return the first paragraph of a docstring, and its sections by heading."""
    first, *rest = _HEADING.split(inspect.getdoc(owner) or "")
    return _plain(first.split("\n\n")[0]), dict(zip(rest[::2], rest[1::2], strict=True))


def _value(value: object) -> str:
    """Return the value of a parameter, and an equal sign, if it is short."""
    value = getattr(value, "name", value)
    return f" = {value}" if isinstance(value, bool | int | str) else ""


def _parts(owner: type) -> Iterator[tuple[str, str]]:
    """Yield the methods that add hardware to a module and say what they do."""
    for name, one in vars(owner).items():
        if inspect.isfunction(one) and "m" in inspect.signature(one).parameters and one.__doc__:
            yield name, _plain(one.__doc__.split("\n\n")[0])


@cache
def _functions(path: Path) -> list[tuple[str, int, int]]:
    """Return qualified name, first and last line of each function of a file, outer ones first."""
    found: list[tuple[str, int, int]] = []

    def visit(node: ast.AST, outer: str) -> None:
        for one in ast.iter_child_nodes(node):
            if isinstance(one, ast.ClassDef | ast.FunctionDef):
                name = f"{outer}{one.name}"
                if isinstance(one, ast.FunctionDef):
                    found.append((name, one.lineno, one.end_lineno or one.lineno))
                visit(one, f"{name}.")

    visit(ast.parse(path.read_text("utf-8")), "")
    return found
