"""Figures that benches report, written to a file that the runner reads."""

import json
import os
from pathlib import Path
from typing import Any

__all__ = ["count_flits", "record"]


def record(name: str, value: object, unit: str, meaning: str) -> None:
    """Report a figure: `fred sim` prints it, and docs/reference/measured.md lists it.

    The page is written from the source of the benches, so names, units and meanings in a bench
    are string literals.

    Parameters
    ----------
    name : str
        Name of the figure in the results.
    value : object
        A JSON value.
    unit : str
        Unit of the value, or of each number in it; empty without one.
    meaning : str
        What the figure says, in one sentence without its full stop.
    """
    path, known = _known()
    known[name] = {"value": value, "unit": unit, "meaning": meaning}
    path.write_text(json.dumps(known))


def count_flits(flits: int) -> None:
    """Add to the flits that benches have compared."""
    before = _known()[1].get("flits_checked", {"value": 0})["value"]
    record("flits_checked", before + flits, "flits", "Received flits that a test compared")


def _known() -> tuple[Path, dict[str, Any]]:
    """Return the file, and the figures in it."""
    path = Path(os.environ["FRED_MEASUREMENTS"])
    return path, json.loads(path.read_text()) if path.exists() else {}
