"""Rewrite the figures of the ideal protocol; `make golden` runs this, too."""

import json
from pathlib import Path

from studies.reproduce import reproduce
from studies.section import Setting

__all__ = ["FIGURES"]

FIGURES = Path(__file__).with_name("ideal_figures.json")


def main() -> None:
    """Write our figures by the id of their row."""
    found = {row.id: row.model for row in reproduce(setting=Setting("ideal"))}
    FIGURES.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
