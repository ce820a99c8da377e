"""Interior of a switch, as far as the wafer model needs it."""

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["Interconnect"]


@dataclass(frozen=True, slots=True)
class Interconnect:
    """The interior of a switch, which limits how many flows have paths at the same time.

    Parameters
    ----------
    ports, middle_switches : int
        Ports P and middle subswitches m of FRED_m(P).
    ports_of : mapping
        Port numbers by the node at the other end of their link.
    bytes_per_s : float
        Payload rate of one round of flows through all chiplets of the switch [B/s].
    """

    ports: int
    middle_switches: int
    ports_of: Mapping[int, range]
    bytes_per_s: float
