"""Conditions of a run, shared by all C++ harnesses."""

from collections.abc import Sequence
from dataclasses import dataclass, fields

__all__ = ["CLEAN", "FAULT_KINDS", "Conditions"]

FAULT_KINDS = ("flipped", "bursts", "lost", "doubled", "runs", "lost_acks")
"""Kinds of link faults: a bit flips, a burst of up to 32 bits changes, a flit is lost or
duplicated, up to 12 successive flits are lost, or an ack is lost (ten times as often)."""


@dataclass(frozen=True, kw_only=True)
class Conditions:
    """Run conditions of any harness with links.

    Parameters
    ----------
    seed : int
        Seed of payload, pauses and faults.
    delay : int
        Latency of a link in each direction, 1 or more [cycles].
    faults_per_million : float
        Faults of any kind per flit of each link in each direction, times a million.
    stall_percent : int
        Share of cycles in which sources and destinations pause [%].
    idle_limit : int
        Cycles without any movement after which the run gives up.
    plusargs : sequence of str
        Arguments of the model, each with its "+": the enabled fault.
    """

    seed: int = 1
    delay: int = 20
    faults_per_million: float = 0.0
    stall_percent: int = 0
    idle_limit: int = 200_000
    plusargs: Sequence[str] = ()

    def options(self) -> dict[str, float]:
        """Return the program options: numbers by name."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if isinstance(value, int | float)}


CLEAN = Conditions()
"""Conditions without faults and pauses."""
