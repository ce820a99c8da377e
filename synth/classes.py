"""Classes of area, by the purpose of a unit's hardware."""

import re
from dataclasses import dataclass, field

__all__ = ["CLASSES", "UNKNOWN", "Kinds", "kinds_of"]

CLASSES = ("adders", "multiplexers", "pipeline", "bypass", "configuration", "buffers", "control")

UNKNOWN = "unclassified"
"""Class of imported hardware."""


@dataclass(frozen=True)
class Kinds:
    """Classes of the parts of a unit.

    Parameters
    ----------
    logic : str
        Class of its gates and memories.
    registers : str
        Class of its flip-flops.
    named : dict of str to str
        Class of flip-flops in whose signal's name a pattern is found; the first counts.
    whole : bool
        Whether all units inside count as its logic does.
    """

    logic: str
    registers: str
    named: dict[str, str] = field(default_factory=dict)
    whole: bool = False

    def of_register(self, signal: str) -> str:
        """Return the class of a signal's flip-flops."""
        return next(
            (to for name, to in self.named.items() if re.search(name, signal)), self.registers
        )


PACKAGES = {
    # Data that bypasses a lane waits in its registers, and in others where these are too few.
    "arith": Kinds("adders", "pipeline", {"(^|_)own(_q\\d+)?$": "bypass"}),
    "datapath": Kinds(
        "multiplexers",
        "pipeline",
        {r"configuration|^(lane_\d+_)?reduce": "configuration", r"^i\d*_+(data|valid)": "bypass"},
    ),
    "gates": Kinds("buffers", "buffers"),
    "link": Kinds("control", "control", {r"^(data|payload)$": "pipeline"}),
}
"""Classes of units by package of ``fred_hw``; units of other packages are control."""

UNITS = {
    "EntryCheck": Kinds("configuration", "configuration", whole=True),
    "PhaseTable": Kinds("configuration", "configuration"),
    "InputPort": Kinds("buffers", "buffers"),
    "OutputPort": Kinds("buffers", "buffers"),
    "CircuitQueue": Kinds("buffers", "buffers"),
    "Crossbar": Kinds("multiplexers", "pipeline"),
    "PacketQueue": Kinds("buffers", "buffers"),
    "RouterInput": Kinds("buffers", "buffers"),
}
"""Classes of units that differ from those of their package."""


def kinds_of(unit: str | None) -> Kinds:
    """Return the classes of a unit ``fred_hw.<package>.<module>.<class>``; None if imported."""
    if unit is None:
        return Kinds(UNKNOWN, UNKNOWN)
    _, package, *_, name = unit.split(".")
    return UNITS.get(name) or PACKAGES.get(package) or Kinds("control", "control")
