"""Cell libraries that exist: one that is installed, and others beside the project."""

from pathlib import Path

import pytest

from synth.installed import library_path

__all__ = ["asap7", "nangate45", "sky130"]

FOLDERS = [root / "shared/data/liberty" for root in Path(__file__).resolve().parents]


def nangate45() -> list[Path]:
    """Return the file of NanGate's library, which set-up installs."""
    return [library_path("nangate45")]


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
