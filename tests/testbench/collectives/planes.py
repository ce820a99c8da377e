"""Small planes in compiled code, which tests of one worker share."""

from collections.abc import Mapping
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

from fred_hw.reading import read_data
from fred_hw.wafer.load import load_wafer
from fred_hw.wafer.spec import WaferSpec
from testbench.collectives.compiled import build_compiled
from testbench.collectives.fabric import Sizes
from tests.fred_hw.wafer.test_plane import THREE_LEVELS

__all__ = [
    "EXAMPLE",
    "bare_wafer",
    "compiled_bare_plane",
    "compiled_high_plane",
    "compiled_plane",
    "high_wafer",
]

EXAMPLE = Path(__file__).parents[3] / "examples/wafer-4.yaml"


@cache
def compiled_plane(controllers: str = "links") -> Path:
    """Return its program, which takes a second where the generated top takes Icarus 30.

    Units are the same whatever its controllers are, and are compiled once.
    """
    return build_compiled(load_wafer(str(EXAMPLE), {"controllers": controllers}), Sizes())


def bare_wafer(lanes: int = 1) -> WaferSpec:
    """Return the small wafer without I/O controllers: all its chiplets have four ports."""
    data = _without_controllers(read_data(EXAMPLE))
    return WaferSpec.model_validate({**data, "lanes": lanes})


@cache
def compiled_bare_plane(lanes: int = 1) -> Path:
    """Return the program of its plane, of one endpoint and one switch to compile."""
    return build_compiled(bare_wafer(lanes), Sizes())


def high_wafer() -> WaferSpec:
    """Return eight NPUs below three levels, of units that the bare wafer has."""
    links = bare_wafer().model_dump(include={"protocol", "endpoint"})
    return WaferSpec.model_validate({**THREE_LEVELS, **links})


@cache
def compiled_high_plane() -> Path:
    """Return the program of its plane; nothing is compiled for it that others do not need."""
    return build_compiled(high_wafer(), Sizes())


def _without_controllers(data: Mapping[str, Any]) -> dict[str, Any]:
    found = deepcopy(dict(data))
    for one in found["switches"]:
        one["ports"] -= one.pop("controllers", 0)
    return found
