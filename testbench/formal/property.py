"""Registry of properties: what is proven of a unit, how, and which mutant it must refute."""

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from fred_hw.registry import Registry
from fred_hw.unit import Unit
from testbench.faults.fault import Fault

from .harness import Harness

__all__ = ["COMBINATIONAL", "PROPERTIES", "Bound", "Property", "prove"]

Conditions = Callable[[Harness, Any], None]


@dataclass(frozen=True)
class Bound:
    """Depth of a bounded proof.

    Parameters
    ----------
    cycles : int
        Cycles from reset in which the property is proven.
    why : str
        What happens within this number of cycles.
    """

    cycles: int
    why: str


COMBINATIONAL = Bound(1, "no registers: outputs depend on the inputs of the same cycle")
"""Depth of the proof of a unit without registers."""


@dataclass(frozen=True, eq=False)
class Property:
    """A property of a unit.

    Parameters
    ----------
    name : str
        Name on the command line.
    unit : callable
        Makes the unit, with its size.
    shows, omits : str
        What is proven, and what is not.
    conditions : callable
        Adds assumptions, checks and covers to a harness, given the ports of the unit.
    mutant : Fault
        Breaks the unit such that a check fails.
    bound : Bound, optional
        Depth of a bounded proof; without one the proof is by induction, for any number of cycles.
    fast : bool
        Whether the regular tests include the property.
    cases : str
        Name of a shown value. CaDiCaL proves the property for each of its values, in any state.
        ABC does not find a proof for all of them at once.
    """

    name: str
    unit: Callable[[], Unit]
    shows: str
    omits: str
    conditions: Conditions
    mutant: Fault
    bound: Bound | None = None
    fast: bool = True
    cases: str = ""

    def harness(self, *, broken: bool = False) -> Harness:
        """Return the harness of the unit, or of its mutant."""
        harness = Harness(self.unit(), self.mutant if broken else None)
        self.conditions(harness, harness.ports)
        return harness

    def netlist_sha256(self) -> str:
        """Return the SHA-256 of the netlist to prove: unit, assumptions and checks."""
        return sha256(self.harness().netlist().encode()).hexdigest()


PROPERTIES: Registry[Property] = Registry("testbench.formal.properties", "property")


def prove(
    unit: Callable[[], Unit],
    *,
    shows: str,
    omits: str,
    mutant: Fault,
    bound: Bound | None = None,
    fast: bool = True,
    cases: str = "",
) -> Callable[[Conditions], Property]:
    """Register a function that adds conditions as the property of its name."""

    def register(conditions: Conditions) -> Property:
        name = conditions.__name__.replace("_", "-")
        one = Property(name, unit, shows, omits, conditions, mutant, bound, fast, cases)
        return PROPERTIES.add(name, one)

    return register
