"""Paths of the pages that ``python -m docs.generate`` writes as a whole."""

from pathlib import Path

__all__ = [
    "ATTACKS",
    "COMMAND_LINE",
    "DOCS",
    "EVIDENCE",
    "FILES",
    "MEASURED",
    "NAMES",
    "PAGES",
    "PROOFS",
    "PYTHON",
    "UNITS",
    "YAML_KEYS",
]

DOCS = Path(__file__).parents[1]

UNITS = DOCS / "reference/units.md"
NAMES = DOCS / "reference/names.md"
COMMAND_LINE = DOCS / "reference/command-line.md"
PYTHON = DOCS / "reference/python.md"
FILES = DOCS / "reference/files.md"
ATTACKS = DOCS / "explanation/attacks.md"
EVIDENCE = DOCS / "explanation/evidence.md"
MEASURED = DOCS / "reference/measured.md"
PROOFS = DOCS / "explanation/proofs.md"
YAML_KEYS = DOCS / "reference/yaml-keys.md"

PAGES = (UNITS, NAMES, COMMAND_LINE, PYTHON, FILES, MEASURED, YAML_KEYS, EVIDENCE, PROOFS, ATTACKS)
