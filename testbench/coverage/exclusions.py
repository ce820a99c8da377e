"""Places of the generated Verilog that no simulation can reach, each with the reason."""

import re
from dataclasses import dataclass

__all__ = ["EXCLUSIONS", "Exclusion"]


@dataclass(frozen=True)
class Exclusion:
    """Places of a unit that do not count if nothing reaches them.

    Parameters
    ----------
    unit : str
        Name of its class.
    kinds : tuple of str
        Kinds of coverage.
    pattern : str
        Regular expression that the line must contain, with " -> " and its part; for toggles the net
        and its direction.
    why : str
        Why it cannot be reached.
    """

    unit: str
    kinds: tuple[str, ...]
    pattern: str
    why: str

    def excludes(self, unit: str, kind: str, text: str) -> bool:
        """Return whether a place is excluded."""
        return unit == self.unit and kind in self.kinds and bool(re.search(self.pattern, text))


EXCLUSIONS: tuple[Exclusion, ...] = (
    Exclusion(
        "DestinationChoice",
        ("branch",),
        r"= behind_\w+\[0\] \? .* -> cond_then$",
        "bit 0 of `behind` is reset to 0 and written with 0 alone: no port comes before the first",
    ),
    Exclusion(
        "Ledger",
        ("branch",),
        r"^assign other_key = other_key_\w+ \? .* -> cond_then$",
        "the source of a flow looks up no other flow: input `other` of its ledger is tied to 0",
    ),
)
"""All exclusions, which docs/explanation/evidence.md lists if there are any."""
