"""What the page of commands has from code: the files that it shows `fred gen` to write."""

import re
from pathlib import Path

from fred_hw.load import load_spec
from gen.companions.companion import COMPANIONS

__all__ = ["COMMANDS_PAGE", "commands_page"]

COMMANDS_PAGE = Path(__file__).parents[1] / "how-to/commands.md"
FOLDER, PRESET = "build/small-4", "small-4"


def commands_page() -> str:
    """Return the page of commands with the files of an interconnect as they are written now."""
    name = load_spec(PRESET).name
    endings = [one.ending for one in COMPANIONS.values() if one.serves("interconnect")]
    lines = "".join(f"  {FOLDER}/{name}{ending}\n" for ending in endings)
    text = COMMANDS_PAGE.read_text(encoding="utf-8")
    return re.sub(rf"(^  {FOLDER}/{name}[._].*\n)+", lines, text, flags=re.MULTILINE)
