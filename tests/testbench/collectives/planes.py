"""The plane of the small wafer in compiled code, which tests of one worker share."""

from functools import cache
from pathlib import Path

from fred_hw.wafer.load import load_wafer
from testbench.collectives.compiled import build_compiled_plane
from testbench.collectives.fabric import Sizes

__all__ = ["EXAMPLE", "compiled_plane"]

EXAMPLE = Path(__file__).parents[3] / "examples/wafer-4.yaml"


@cache
def compiled_plane(controllers: str = "links") -> Path:
    """Return its program, which takes a second where the generated top takes Icarus 30.

    Units are the same whatever its controllers are, and are compiled once.
    """
    return build_compiled_plane(load_wafer(str(EXAMPLE), {"controllers": controllers}), Sizes())
