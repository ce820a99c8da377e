"""Proof of a property, with the evidence that the proof could have failed."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from .certificate import clear_in_each_case, invariant_holds
from .engine import Outcome, abc_program, model_check
from .netlist import VIOLATED, FormalError, Graph, lower
from .property import Property

__all__ = ["Verdict", "tools", "verify"]

_BAD = "bad_"
_PACKAGES = {"Yosys and ABC": "pyosys", "CaDiCaL in PySAT": "python-sat", "Amaranth": "amaranth"}

REACH_CYCLES = 100
"""Cycles in which covers are searched, and a mutant whose property is proven without a bound."""


@dataclass(frozen=True)
class Verdict:
    """Result of a property.

    Parameters
    ----------
    name, unit : str
        Name of the property, and of the module that it is proven of.
    netlist_sha256 : str
        SHA-256 of the netlist of unit and property.
    shows, omits : str
        What is proven, and what is not.
    method : str
        "induction", or "bounded".
    cycles : int or None
        Depth of a bounded proof.
    why : str
        Reason of this depth.
    holds : bool or None
        Whether the property holds; None if the time was not enough.
    invariant : int
        Clauses of the invariant of an induction; CaDiCaL has confirmed it.
    mutant : str
        Description of the mutant.
    killed_after : int or None
        Cycles of the shortest trace that refutes the property of the mutant; None if there is none.
    covers : dict of str to int or None
        Cycles after which each cover is reached; None for one that is not.
    seconds : float
        CPU time of all searches [s].
    failed : tuple of str
        Checks that the trace of a counterexample violates.
    trace : tuple of dict of str to int
        Values of all ports in each cycle of a counterexample.
    """

    name: str
    unit: str
    netlist_sha256: str
    shows: str
    omits: str
    method: str
    cycles: int | None
    why: str
    holds: bool | None
    invariant: int
    mutant: str
    killed_after: int | None
    covers: dict[str, int | None]
    seconds: float
    failed: tuple[str, ...] = ()
    trace: tuple[dict[str, int], ...] = ()

    @property
    def result(self) -> str:
        """Whether the property is proven, refuted or undecided."""
        return {True: "proven", False: "refuted", None: "undecided"}[self.holds]

    @property
    def depth(self) -> str:
        """The method, with its depth."""
        if self.cycles is None:
            return f"induction, {self.invariant} clauses"
        return f"bounded, {self.cycles} cycle{'s' if self.cycles != 1 else ''}"

    @property
    def passed(self) -> bool:
        """Whether the property holds, its mutant is killed and its covers are reached."""
        reached = bool(self.covers) and None not in self.covers.values()
        return self.holds is True and self.killed_after is not None and reached


def tools() -> dict[str, str]:
    """Return the versions of the tools.

    Raises
    ------
    FormalError
        Yosys is not installed.
    """
    abc_program()
    return {name: version(package) for name, package in _PACKAGES.items()}


def verify(one: Property, folder: Path, *, seconds: int = 600) -> Verdict:
    """Prove a property, refute it for its mutant, and reach its covers.

    Parameters
    ----------
    one : Property
        Property.
    folder : Path
        Folder of the files of the proof.
    seconds : int
        Limit of each search [s].

    Raises
    ------
    FormalError
        A tool failed, or another solver does not confirm its result.
    """
    begun = _cpu_s()
    harness = one.harness()
    covers = list(harness.covers)
    built = {"proof": (harness, None), "mutant": (one.harness(broken=True), None)}
    built |= {f"cover_{name}": (one.harness(), name) for name in covers}
    graphs = lower(built, folder)
    bound = one.bound.cycles + 1 if one.bound else None

    def search(name: str, cycles: int | None) -> tuple[Outcome, tuple[dict[str, int], ...]]:
        outcome = model_check(folder / f"{name}.aig", cycles=cycles, seconds=seconds)
        return outcome, _replayed(name, graphs[name], outcome)

    whole = graphs["proof"]
    if one.cases and clear_in_each_case(whole, whole.ports[one.cases]):
        proof, trace = Outcome(True), ()
    else:
        proof, trace = search("proof", bound)
    if bound is None and proof.holds and not invariant_holds(whole, proof.excluded):
        raise FormalError(f"{one.name}: invariant of ABC must be confirmed by CaDiCaL, not refuted")
    reach = bound or REACH_CYCLES
    mutant, _ = search("mutant", reach)
    reached = {name: search(f"cover_{name}", reach)[0] for name in covers}
    return Verdict(
        one.name,
        harness.unit.unit_name,
        one.netlist_sha256(),
        one.shows,
        one.omits,
        "bounded" if one.bound else "induction",
        one.bound.cycles if one.bound else None,
        one.bound.why if one.bound else "",
        proof.holds,
        len(proof.excluded),
        " ".join((one.mutant.disturb.__doc__ or "").split()),
        _length(mutant),
        {name: _length(outcome) for name, outcome in reached.items()},
        _cpu_s() - begun,
        _failed(trace),
        trace,
    )


def _cpu_s() -> float:
    """Return the CPU time of this process and of all programs that it has run [s]."""
    return sum(os.times()[:4])


def _failed(trace: Sequence[Mapping[str, int]]) -> tuple[str, ...]:
    """Return the checks that are violated in the last cycle of a trace."""
    last = trace[-1].items() if trace else ()
    return tuple(name.removeprefix(_BAD) for name, value in last if value and name.startswith(_BAD))


def _length(outcome: Outcome) -> int | None:
    """Return the cycles of a trace after the first one, which resets; None without a trace."""
    return len(outcome.stimuli) - 1 if outcome.holds is False else None


def _replayed(name: str, graph: Graph, outcome: Outcome) -> tuple[dict[str, int], ...]:
    """Return the ports in each cycle of a trace, which must end in a bad state."""
    cycles = tuple(graph.run(outcome.stimuli))
    violated = any(cycle.pop(VIOLATED) for cycle in cycles)
    if outcome.holds is False and (violated or not _failed(cycles)):
        raise FormalError(f"{name}: trace of ABC must end in a bad state, not in a good one")
    return cycles
