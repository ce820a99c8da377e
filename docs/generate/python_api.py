"""Reference of the Python interface: signatures and docstrings of its public names."""

import inspect
import re
from collections.abc import Iterator
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from fred_hw import load, spec
from fred_hw.compiler import flows, placement, routing
from gen import design
from perfmodel import api
from perfmodel.workloads import workload
from studies import api as studies

__all__ = ["python_api"]

_NAMES: dict[Any, tuple[str, ...]] = {
    api: tuple(api.__all__),
    studies: tuple(studies.__all__),
    workload: ("load_workload",),
    spec: ("SwitchSpec",),
    load: ("load_spec",),
    flows: ("Flow",),
    placement: ("Strategy",),
    routing: ("route",),
    design: ("generate",),
}
"""Modules of the interface, and their names."""

_HEAD = """# Python interface

<!-- Written by: python -m docs.generate -->

This page has the signatures and docstrings of the Python interface.
[Use it from Python](../how-to/python.md) shows how the names work together.
"""


def python_api() -> str:
    """Return the page with all names of the Python interface."""
    parts = [_HEAD]
    for module, names in _NAMES.items():
        parts.append(f"## {module.__name__}\n")
        for name in names:
            parts += _sections(name, getattr(module, name))
    return "\n".join(parts)


def _sections(name: str, item: Any) -> Iterator[str]:
    """Yield the section of a name, and those of the public methods of a class."""
    yield f"### {name}\n\n```text\n{_signature(name, item)}\n\n{inspect.getdoc(item)}\n```\n"
    if not inspect.isclass(item):
        return
    for key, member in vars(item).items():
        if key.startswith("_") or not (text := inspect.getdoc(member)):
            continue
        if isinstance(member, property):
            yield f"### {name}.{key}\n\n```text\n{name}.{key}\n\n{text}\n```\n"
        elif callable(getattr(item, key)):
            shown = _signature(f"{name}.{key}", getattr(item, key))
            yield f"### {name}.{key}\n\n```text\n{shown}\n\n{text}\n```\n"


def _signature(name: str, item: Any) -> str:
    """Return the call of a function or a class, each parameter on a line of its own."""
    found = inspect.signature(item).parameters.values()
    bare = [one.replace(annotation=_without_checks(one.annotation)) for one in found]
    lines = [re.sub(r"\b(perfmodel|studies)\.", "", f"    {one},") for one in bare]
    return "\n".join([f"{name}(", *lines, ")"]) if lines else f"{name}()"


def _without_checks(annotation: Any) -> Any:
    """Return the type of a field whose annotation also has checks."""
    if get_origin(annotation) is Annotated:
        return _without_checks(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        return Union[*map(_without_checks, get_args(annotation))]
    return annotation
