"""What rewriting of Verilog has in common: modules, names, and how wide those are."""

import re

__all__ = ["MODULE", "NAME", "declared_widths"]

MODULE = re.compile(r"^module .*?^endmodule", re.M | re.S)
"""A module, as ``gen.emitter`` writes it."""

NAME = r"(?:\\\S+ |[A-Za-z_]\w*)"
"""A name; an escaped one ends with a space."""

_DECLARED = re.compile(rf"^  (?:wire|reg)(?: \[(\d+):0\])? ({NAME});", re.M)


def declared_widths(text: str) -> dict[str, int]:
    """Return the width of each wire and register of a module, but memories, in bits."""
    return {found[2].strip(): int(found[1] or 0) + 1 for found in _DECLARED.finditer(text)}
