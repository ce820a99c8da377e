"""A phase of a strategy on a plane: flows, phase numbers and members."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from fred_hw.ace.steps import circuit_of
from fred_hw.compiler.flows import Flow
from fred_hw.compiler.placement import Strategy, phases
from fred_hw.errors import FieldError
from fred_hw.protocol import DATA_CIRCUITS

from .flows import NoWayError, PhaseWays
from .plane import Plane
from .rounds import NO_ROUNDS, Round, Rounds, find_rounds
from .storage import storage_phases

__all__ = ["Entry", "Part", "Phase", "switched_phases"]


class Entry(NamedTuple):
    """What switches have under a number.

    Parameters
    ----------
    number : int
        The same in all switches.
    name : str
        That of the phase, with ``:round_0``, ``:turn_0``, ``:end_0`` and so on behind it if it is
        in rounds.
    flows : tuple of Flow
        Flows between NPUs, and controllers that have endpoints.
    ways : PhaseWays
        What each chiplet does.
    """

    number: int
    name: str
    flows: tuple[Flow, ...]
    ways: PhaseWays


class Part(NamedTuple):
    """One action of an endpoint: phase numbers that it sends and receives in, and its kind.

    ``whole`` says whether that is the buffers of the phase, or a flit that tells of rounds.
    """

    sends: int | None
    receives: int | None
    whole: bool


@dataclass(frozen=True)
class Phase:
    """A phase of a strategy on the switches of a plane.

    Parameters
    ----------
    name, circuit : str
        As ``fred_hw.compiler.placement.phases`` or ``.storage.storage_phases`` has it, of a ring
        with a ``pattern`` as ``collective_phases``; and the virtual circuit of its packets.
    number : int
        The same in all switches; of its first round if it is in rounds, and others follow.
    flows : tuple of Flow
        Flows between NPUs, and controllers that have endpoints.
    switched : Rounds
        What switches do; nothing where endpoints do the phase.
    pattern : str
        One of ``RING_PATTERNS`` if endpoints do that in one ring of all members of each flow, which
        are its inputs and its outputs; empty if flows say what is done.
    """

    name: str
    circuit: str
    number: int
    flows: tuple[Flow, ...]
    switched: Rounds = NO_ROUNDS
    pattern: str = ""

    @property
    def rounds(self) -> tuple[Round, ...]:
        """Flows that are active at once; nothing where endpoints do the phase."""
        return self.switched.rounds

    @property
    def numbers(self) -> int:
        """How many numbers it has."""
        return max(1, len(self.switched.all))

    @property
    def ways(self) -> PhaseWays:
        """What each chiplet does, of a phase that switches do in one round.

        Raises
        ------
        ValueError
            It is another one.
        """
        if len(self.rounds) != 1:
            raise ValueError(f"phase {self.name} must have one round, not {len(self.rounds)}")
        return self.rounds[0].ways

    @property
    def entries(self) -> tuple[Entry, ...]:
        """What switches have of it, in the order of its numbers."""
        kinds = [("round", self.rounds), ("turn", self.switched.turns)]
        kinds.append(("end", self.switched.ends))
        named = [(f":{kind}_{k}", one) for kind, own in kinds for k, one in enumerate(own)]
        alone = len(named) == 1
        return tuple(
            Entry(number, self.name if alone else self.name + name, one.flows, one.ways)
            for number, (name, one) in enumerate(named, self.number)
        )

    def parts(self, end: int) -> list[Part]:
        """Return the actions of an endpoint in order; none if it is not in the phase.

        Where nobody has to be told of rounds it is one part, whatever rounds it sends and receives
        in: all of them are under way at once. Else an end that sends waits for its turn, and tells
        those of the next one; when it has the last part all rounds of its switch are over.
        """
        count, turns = len(self.rounds), len(self.switched.turns)
        entries = self.entries
        rounds, told, ends = entries[:count], entries[count:][:turns], entries[count + turns :]
        sends, receives = (_first(rounds, end, side) for side in ("inputs", "outputs"))
        if not told:
            return [] if sends is None and receives is None else [Part(sends, receives, True)]
        heard = [(n, flow) for n, _, flows, _ in told for flow in flows if end in flow.outputs]
        # Who speaks with others hears of them in the same flow.
        both = [n for n, flow in heard if end in flow.inputs]
        found: list[Part] = []
        for number in sorted({one for one in (sends, receives) if one is not None}):
            now = number == sends
            if now:
                found += [Part(None, n, False) for n, flow in heard if end not in flow.inputs]
            found.append(
                Part(number if now else None, number if number == receives else None, True)
            )
            if now:
                tells = _numbers(told, end, "inputs")
                found += [Part(n, n if n in both else None, False) for n in tells]
        for side in ("inputs", "outputs"):
            if (number := _first(ends, end, side)) is not None:
                sent = side == "inputs"
                found.append(Part(number if sent else None, None if sent else number, False))
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return it JSON-friendly; docs/explanation/wafer.md has the keys."""
        found: dict[str, Any] = {"name": self.name, "number": self.number, "circuit": self.circuit}
        found |= {"pattern": self.pattern} if self.pattern else {}
        found["flows"] = [flow.to_dict() for flow in self.flows]
        if len(self.entries) > 1:
            found["entries"] = [
                {"name": one.name, "number": one.number, "flows": [f.to_dict() for f in one.flows]}
                for one in self.entries
            ]
        return found


def _numbers(entries: Sequence[Entry], end: int, side: str) -> list[int]:
    """Return the numbers of the entries in whose flows an end sends, or receives."""
    return [one.number for one in entries if any(end in getattr(flow, side) for flow in one.flows)]


def _first(entries: Sequence[Entry], end: int, side: str) -> int | None:
    return next(iter(_numbers(entries, end, side)), None)


def switched_phases(plane: Plane, strategy: Strategy) -> tuple[Phase, ...]:
    """Return the phases of a strategy on switches that reduce and copy.

    Parameters
    ----------
    plane : Plane
        The plane.
    strategy : Strategy
        At most as many workers as there are NPUs; worker n is NPU n.

    Raises
    ------
    FieldError
        Flows of a phase fit neither at once nor in rounds.
    """
    busy: dict[str, dict[tuple[int, int], int]] = {name: {} for name in DATA_CIRCUITS}
    found: list[Phase] = []
    number = 0
    for name, flows in {**phases(strategy), **storage_phases(plane, strategy)}.items():
        circuit = circuit_of(name)
        try:
            switched = find_rounds(plane, flows, busy[circuit])
        except NoWayError as error:
            raise FieldError(
                "switches",
                f"must have links and micro-switches for {error.flows} flows at once, for "
                f"phase {name} of {strategy}, not for {error.space}",
            ) from None
        found.append(Phase(name, circuit, number, flows, switched))
        number += found[-1].numbers
    return tuple(found)
