"""Descriptions and results are values: nothing changes them once they are made."""

from collections.abc import Iterator
from dataclasses import FrozenInstanceError, fields, is_dataclass
from importlib import import_module
from inspect import isabstract
from pkgutil import walk_packages
from typing import Any, cast

import pytest

CHANGING: dict[str, set[str]] = {
    "clustermodel": set(),
    "fred_hw": set(),
    "gen": {"Instance", "Item", "Module"},
    "perfmodel": {"ActiveFlow", "ConeProgram", "ScheduleBuilder", "Traffic", "Watch"},
    "studies": set(),
    "synth": {"Cell", "Flat", "Group", "Inside", "Item", "MappedModule"},
    "tracemodel": {"Event", "Operation", "Progress", "Stats", "Task"},
}
"""Public dataclasses of each package whose instances change: builders, nodes that a parser fills,
and the state of a simulation."""


def public_dataclasses(package: str) -> Iterator[type[Any]]:
    """Yield the dataclasses with instances that the modules of a package define for others."""
    for info in walk_packages(import_module(package).__path__, f"{package}."):
        if info.name.endswith("__main__"):
            continue
        module = import_module(info.name)
        for name in getattr(module, "__all__", ()):
            one: Any = getattr(module, name)
            own = isinstance(one, type) and one.__module__ == info.name
            if own and is_dataclass(one) and not isabstract(one):
                yield cast(type[Any], one)


def changes(kind: type[Any]) -> bool:
    """Return whether a field of an instance can be set."""
    instance = object.__new__(kind)
    try:
        setattr(instance, fields(kind)[0].name, None)
    except FrozenInstanceError:
        return False
    return True


@pytest.mark.parametrize("package", CHANGING)
def test_only_state_and_what_is_being_built_changes(package: str) -> None:
    found = {kind.__name__ for kind in public_dataclasses(package) if changes(kind)}
    assert found == CHANGING[package]
