"""What the README has from code: the files that it shows `fred gen` to write."""

import re
from pathlib import Path

from fred_hw.load import load_spec
from gen.companions.companion import COMPANIONS

__all__ = ["README", "readme"]

README = Path(__file__).parents[2] / "README.md"
FOLDER, PRESET = "build/small-4", "small-4"


def readme() -> str:
    """Return the README with the files of an interconnect as they are written now."""
    name = load_spec(PRESET).name
    endings = [one.ending for one in COMPANIONS.values() if one.serves("interconnect")]
    lines = "".join(f"  {FOLDER}/{name}{ending}\n" for ending in endings)
    text = README.read_text(encoding="utf-8")
    return re.sub(rf"(^  {FOLDER}/{name}[._].*\n)+", lines, text, flags=re.MULTILINE)
