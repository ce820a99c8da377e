"""Cell libraries that exist, which lie beside the project and not in it."""

from pathlib import Path

import pytest

__all__ = ["asap7", "sky130"]

FOLDERS = [root / "shared/data/liberty" for root in Path(__file__).resolve().parents]


def asap7() -> list[Path]:
    """Return the files of ASAP7; skip the test where there are none."""
    return _files("asap7_*_RVT_TT.lib.gz", 3)


def sky130() -> list[Path]:
    """Return the file of sky130hd; skip the test where there is none."""
    return _files("sky130hd_tt.lib.gz", 1)


def _files(pattern: str, count: int) -> list[Path]:
    for folder in FOLDERS:
        if len(found := sorted(folder.glob(pattern))) == count:
            return found
    pytest.skip(f"no cell library {pattern} in ../shared/data/liberty")
