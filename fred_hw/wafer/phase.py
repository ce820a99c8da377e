"""A phase of a strategy on a plane: flows, phase numbers and members."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from fred_hw.ace.steps import circuit_of
from fred_hw.compiler.flows import Flow
from fred_hw.compiler.placement import Strategy, phases
from fred_hw.errors import FieldError

from .flows import NoPathError, PhasePaths
from .plane import Plane
from .rounds import NO_ROUNDS, Round, Rounds, find_rounds
from .storage import storage_phases

__all__ = ["Entry", "Part", "Phase", "switched_phases"]


class Entry(NamedTuple):
    """Contents of the switches under one phase number.

    Parameters
    ----------
    number : int
        The same number in all switches.
    name : str
        Name of the phase, with a suffix ``:round_0``, ``:token_0``, ``:end_0`` and so on if it has
        rounds.
    flows : tuple of Flow
        Flows between NPUs, and controllers with endpoints.
    paths : PhasePaths
        Configuration of each chiplet.
    """

    number: int
    name: str
    flows: tuple[Flow, ...]
    paths: PhasePaths


class Part(NamedTuple):
    """One action of an endpoint: phase numbers of its send and receive, and its kind.

    ``whole`` says whether these are the buffers of the phase, or a round token.
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
        Name as in ``fred_hw.compiler.placement.phases`` or ``.storage.storage_phases``, or for a
        ring with a ``pattern`` as in ``collective_phases``; and the virtual channel of its packets.
    number : int
        The same number in all switches; the number of its first round if it is in rounds, and the
        others follow.
    flows : tuple of Flow
        Flows between NPUs, and controllers with endpoints.
    switched : Rounds
        Rounds that switches execute; empty if endpoints execute the phase.
    pattern : str
        One of ``RING_PATTERNS`` if endpoints execute it in one ring of all members of each flow,
        which are its inputs and its outputs; empty if the flows define the operation.
    """

    name: str
    circuit: str
    number: int
    flows: tuple[Flow, ...]
    switched: Rounds = NO_ROUNDS
    pattern: str = ""

    @property
    def rounds(self) -> tuple[Round, ...]:
        """Sets of concurrent flows; empty if endpoints execute the phase."""
        return self.switched.rounds

    @property
    def numbers(self) -> int:
        """Number of phase numbers."""
        return max(1, len(self.switched.all))

    @property
    def paths(self) -> PhasePaths:
        """Configuration of each chiplet, for a phase that switches execute in one round.

        Raises
        ------
        ValueError
            The phase needs endpoints or more rounds.
        """
        if len(self.rounds) != 1:
            raise ValueError(f"phase {self.name} must have one round, not {len(self.rounds)}")
        return self.rounds[0].paths

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Switch entries of the phase, in the order of its numbers."""
        kinds = [("round", self.rounds), ("token", self.switched.tokens)]
        kinds.append(("end", self.switched.ends))
        named = [(f":{kind}_{k}", one) for kind, own in kinds for k, one in enumerate(own)]
        alone = len(named) == 1
        return tuple(
            Entry(number, self.name if alone else self.name + name, one.flows, one.paths)
            for number, (name, one) in enumerate(named, self.number)
        )

    def parts(self, end: int) -> list[Part]:
        """Return the actions of an endpoint in order; empty if it is not in the phase.

        Without round tokens there is one part, whatever rounds it sends and receives in: all are in
        flight at once. Otherwise an endpoint that sends waits for its round, and sends a token to
        those of the next one; when it has the last part, all rounds of its switch are over.
        """
        count = len(self.rounds)
        entries, sent_tokens = self.entries, len(self.switched.tokens)
        rounds, ends = entries[:count], entries[count + sent_tokens :]
        tokens = entries[count : count + sent_tokens]
        sends, receives = (_first(rounds, end, side) for side in ("inputs", "outputs"))
        if not tokens:
            return [] if sends is None and receives is None else [Part(sends, receives, True)]
        received = [(n, flow) for n, _, flows, _ in tokens for flow in flows if end in flow.outputs]
        # A sender of a shared flow receives the others in the same flow.
        both = [n for n, flow in received if end in flow.inputs]
        found: list[Part] = []
        for number in sorted({one for one in (sends, receives) if one is not None}):
            now = number == sends
            if now:
                found += [Part(None, n, False) for n, flow in received if end not in flow.inputs]
            found.append(
                Part(number if now else None, number if number == receives else None, True)
            )
            if now:
                sent = _numbers(tokens, end, "inputs")
                found += [Part(n, n if n in both else None, False) for n in sent]
        for side in ("inputs", "outputs"):
            if (number := _first(ends, end, side)) is not None:
                sent = side == "inputs"
                found.append(Part(number if sent else None, None if sent else number, False))
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return the phase as JSON values; docs/explanation/wafer.md lists the keys."""
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
    """Return the numbers of the entries in whose flows an endpoint sends, or receives."""
    return [one.number for one in entries if any(end in getattr(flow, side) for flow in one.flows)]


def _first(entries: Sequence[Entry], end: int, side: str) -> int | None:
    return next(iter(_numbers(entries, end, side)), None)


def switched_phases(plane: Plane, strategy: Strategy) -> tuple[Phase, ...]:
    """Return the phases of a strategy on switches that reduce and multicast.

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
    busy: dict[str, dict[tuple[int, int], int]] = defaultdict(dict)
    found: list[Phase] = []
    number = 0
    for name, flows in {**phases(strategy), **storage_phases(plane, strategy)}.items():
        circuit = circuit_of(name)
        try:
            switched = find_rounds(plane, flows, busy[circuit])
        except NoPathError as error:
            raise FieldError(
                "switches",
                f"must have links and micro-switches for {error.flows} flows at once, for "
                f"phase {name} of {strategy}, not for {error.space}",
            ) from None
        found.append(Phase(name, circuit, number, flows, switched))
        number += found[-1].numbers
    return tuple(found)
