"""What generated Verilog of every kind has beside it."""

from dataclasses import dataclass

from .companions.companion import COMPANIONS
from .ports import Port

__all__ = ["AnyDesign", "companion_names"]


@dataclass(frozen=True, kw_only=True)
class AnyDesign:
    """Generated Verilog and what lies beside it; each kind adds its specification and manifest.

    Parameters
    ----------
    level : str
        What it is of its kind, one of the levels of that.
    name : str
        Name of the top module and of the files.
    verilog : str
        All modules, the top one last.
    ports : tuple of (name, direction, width)
        Ports of the top module, "input" or "output", width in bits.
    modules : Mapping of str to int
        How often each distinct module stands in the hierarchy.
    units : dict of str to str
        From which class each module was generated, ``fred_hw.<room>.<module>.<class>``.
    latency_cycles : int
        Cycles between two events that each kind names.
    """

    level: str
    name: str
    verilog: str
    ports: tuple[Port, ...]
    modules: dict[str, int]
    units: dict[str, str]
    latency_cycles: int

    def files(self) -> dict[str, str]:
        """Return the text of each file by name."""
        served = [one for one in COMPANIONS.values() if one.serves(self.level)]
        return {self.name + one.ending: one.write(self) for one in served}


def companion_names(name: str, level: str) -> list[str]:
    """Return the names of the files of a design, from the name and the level that it will have."""
    return [name + one.ending for one in COMPANIONS.values() if one.serves(level)]
