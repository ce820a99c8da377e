"""What a strategy is to a plane: contents of all switches, and descriptors of all endpoints."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fred_hw.ace.operations import Descriptor, FlowId, exchange
from fred_hw.ace.steps import EndpointProgram, Step, circuit_of
from fred_hw.checks import check_choice, check_int
from fred_hw.compiler.collective_phases import collective_phases
from fred_hw.compiler.flows import Flow
from fred_hw.compiler.placement import Strategy, phases
from fred_hw.control.access import Access
from fred_hw.control.phase_entry import entry_word
from fred_hw.control.switch_map import switch_map
from fred_hw.errors import FieldError
from fred_hw.protocol import DATA_CIRCUITS, GENERATIONS
from fred_hw.spec import SwitchSpec

from .flows import NoWayError, PhaseWays, find_ways
from .plane import Plane
from .rings import RING_PATTERNS, check_rings, joined, ring_descriptors
from .spec import WaferSpec
from .storage import storage_phases

__all__ = ["COLLECTIVES", "PROGRAM_SCHEMA", "Phase", "WaferProgram", "compile_strategy"]

PROGRAM_SCHEMA = "fred-wafer-program/1"

COLLECTIVES = ("in-network", "ring")
"""Who does the phases: switches (FRED-B, D), or endpoints over unicasts (FRED-A, C)."""


@dataclass(frozen=True)
class Phase:
    """A phase of a strategy on the switches of a plane.

    Parameters
    ----------
    name, circuit : str
        As ``fred_hw.compiler.placement.phases`` or ``.storage.storage_phases`` has it, of a ring
        with a ``pattern`` as ``collective_phases``; and the virtual circuit of its packets.
    number : int
        The same in all switches.
    flows : tuple of Flow
        Flows between NPUs, and controllers that have endpoints.
    ways : PhaseWays
        What each chiplet does; nothing where endpoints do the phase.
    pattern : str
        One of ``RING_PATTERNS`` if endpoints do that in one ring of all members of each flow, which
        are its inputs and its outputs; empty if flows say what is done.
    """

    name: str
    circuit: str
    number: int
    flows: tuple[Flow, ...]
    ways: PhaseWays
    pattern: str = ""


@dataclass(frozen=True)
class WaferProgram(EndpointProgram):
    """What software writes to the registers of a plane, so that it does the phases of a strategy.

    NPU n is worker n. In its memory, and in that of a controller, each phase has two buffers: phase
    k sends what is at 2 k x size and receives at (2 k + 1) x size. An all-gather of a ring is in
    place in the second.

    Parameters
    ----------
    plane : Plane
        The plane.
    strategy : Strategy
        What its NPUs do.
    phases : tuple of Phase
        Its phases.
    size : int
        Bytes that an NPU sends in a phase, in this plane.
    generation : int
        Of all entries.
    collectives : str
        One of ``COLLECTIVES``.
    """

    plane: Plane
    strategy: Strategy
    phases: tuple[Phase, ...]
    size: int
    generation: int = 0
    collectives: str = COLLECTIVES[0]

    @property
    def link(self) -> SwitchSpec:
        """What the endpoints are made of."""
        return self.plane.wafer.link

    @property
    def npus(self) -> int:
        """NPUs, each with an endpoint."""
        return self.plane.wafer.npus

    @property
    def endpoints(self) -> int:
        """Endpoints of NPUs, and of controllers that have one."""
        return self.plane.wafer.endpoints

    def unit_steps(self) -> list[list[Step]]:
        """Return what is written to each chiplet."""
        return [self.switch_steps(number) for number in range(len(self.plane.chiplets))]

    def alone(self, name: str) -> "WaferProgram":
        """Return a program of one phase, which is the first."""
        return replace(self, phases=(replace(self.phase(name), number=0),))

    def entry(self, phase: Phase, chiplet: int) -> int:
        """Return the entry of a phase in a chiplet that takes part in it."""
        ways, circuit = phase.ways, DATA_CIRCUITS.index(phase.circuit)
        return entry_word(
            self.plane.chiplets[chiplet].spec,
            ways.configurations[chiplet],
            ways.flows[chiplet],
            circuit,
            generation=self.generation,
        )

    def switch_steps(self, chiplet: int) -> list[Step]:
        """Return what is written to a chiplet's registers: routes, then phases."""
        registers = switch_map(self.plane.chiplets[chiplet].spec)
        status = registers.register("COMMAND_STATUS").address
        steps: list[Step] = []
        access = Access(
            registers, lambda address: 0, lambda address, value: steps.append(Step(address, value))
        )
        for address in range(self.plane.addresses):
            access.write_route(address, self.plane.way(chiplet, address))
        for phase in self.phases:
            if chiplet in phase.ways.flows:
                access.write_phase(phase.number, self.entry(phase, chiplet))
                steps.append(Step(status, 0, 3))  # neither busy nor refused
        return steps

    def descriptors(self, npu: int, phase: Phase) -> list[Descriptor]:
        """Return an endpoint's part of a phase, one behind the other; none if it has none."""
        flow = FlowId(phase.number, generation=self.generation)
        sends = any(npu in one.inputs for one in phase.flows)
        receives = any(npu in one.outputs for one in phase.flows)
        if not sends and not receives:
            return []
        source, destination = buffers = self.buffers(phase)
        if self.collectives == "ring":
            own = [one for one in phase.flows if npu in (*one.inputs, *one.outputs)]
            return joined(
                [
                    ring_descriptors(self.plane, phase.circuit, one, npu, buffers, phase.pattern)
                    for one in own
                ]
            )
        part = exchange(
            phase.circuit,
            (source, flow) if sends else None,
            (destination, flow) if receives else None,
        )
        return [part]

    def to_dict(self) -> dict[str, Any]:
        """Return all of it, JSON-friendly; docs/wafer.md has the keys."""
        return {
            "schema": PROGRAM_SCHEMA,
            "wafer": self.plane.wafer.name,
            "strategy": str(self.strategy),
            "planes": self.plane.wafer.planes,
            "size_bytes": self.size,
            "collectives": self.collectives,
            "phases": [
                {
                    "name": one.name,
                    "number": one.number,
                    "circuit": one.circuit,
                    "generation": self.generation,
                    **({"pattern": one.pattern} if one.pattern else {}),
                    "flows": [flow.to_dict() for flow in one.flows],
                }
                for one in self.phases
            ],
            "switches": {
                one.name: self._switch(number) for number, one in enumerate(self.plane.chiplets)
            },
            "endpoints": {
                self.plane.end_name(one): self._endpoint(one) for one in range(self.endpoints)
            },
        }

    def _switch(self, chiplet: int) -> dict[str, Any]:
        return {
            "spec": self.plane.chiplets[chiplet].spec.name,
            "routes": [self.plane.way(chiplet, one) for one in range(self.plane.addresses)],
            "phases": {
                one.name: {
                    "entry": f"{self.entry(one, chiplet):#x}",
                    "flows": [flow.to_dict() for flow in one.ways.flows[chiplet]],
                }
                for one in self.phases
                if chiplet in one.ways.flows
            },
            "steps": [one.to_dict() for one in self.switch_steps(chiplet)],
        }

    def _endpoint(self, npu: int) -> dict[str, Any]:
        return {
            "address": npu,
            "steps": [one.to_dict() for one in self.begin_steps(npu)],
            "phases": dict(self._parts(npu)),
        }

    def _parts(self, npu: int) -> Iterator[tuple[str, Any]]:
        """Yield the name of each phase that an NPU has a part in, and what that is."""
        for phase in self.phases:
            if not (parts := self.descriptors(npu, phase)):
                continue
            buffers = zip(("sends", "receives"), self.buffers(phase), strict=True)
            has = {
                "sends": any(npu in one.inputs for one in phase.flows),
                "receives": any(npu in one.outputs for one in phase.flows),
            }
            yield (
                phase.name,
                {
                    **{side: [at.address, at.size] if has[side] else None for side, at in buffers},
                    "steps": [one.to_dict() for d in parts for one in self.descriptor_steps(d)],
                    "descriptors": len(parts),
                    "completed": self.completed(phase.circuit),
                },
            )


def compile_strategy(
    wafer: WaferSpec,
    strategy: Strategy,
    size: int,
    *,
    generation: int = 0,
    collectives: str = COLLECTIVES[0],
) -> WaferProgram:
    """Return the program of a plane for the phases of a strategy.

    Parameters
    ----------
    wafer : WaferSpec
        The wafer.
    strategy : Strategy
        At most as many workers as there are NPUs; worker n is NPU n.
    size : int
        Bytes that an NPU sends in a phase in this plane, whole flits.
    generation : int
        Of all entries.
    collectives : str
        One of ``COLLECTIVES``.

    Raises
    ------
    FieldError
        The strategy has more workers than there are NPUs, or more phases than a switch has entries
        for; or not all flows of a phase can be active at once.
    ValueError
        Rings cannot do a phase, or what controllers with endpoints store; or the size is not of
        whole flits.
    """
    check_int("generation", generation, minimum=0, maximum=GENERATIONS - 1)
    check_choice("collectives", collectives, COLLECTIVES)
    flit = wafer.link.data_width // 8
    if check_int("size", size, minimum=1) % flit:
        raise ValueError(f"size must be a multiple of {flit} bytes, a flit, not {size}")
    if strategy.workers > wafer.npus:
        raise FieldError(
            "npus", f"must be {strategy.workers} or more for strategy {strategy}, not {wafer.npus}"
        )
    plane, in_network = Plane(wafer), collectives == "in-network"
    steps = {**phases(strategy), **storage_phases(plane, strategy)}
    wanted = {name: ("", flows) for name, flows in steps.items()}
    if in_network:
        _check_room(plane, wanted, strategy)
    else:
        _check_links(wafer)
        wanted = _in_rings(strategy)
    busy: dict[str, dict[tuple[int, int], int]] = {name: {} for name in DATA_CIRCUITS}
    found = []
    for number, (name, (pattern, flows)) in enumerate(wanted.items()):
        circuit, ways = circuit_of(name), PhaseWays({}, {}, {})
        if in_network:
            ways = _ways(plane, flows, busy[circuit], f"{name} of {strategy}")
        else:
            check_rings(plane, f"{name} of {strategy}", flows, pattern)
        found.append(Phase(name, circuit, number, flows, ways, pattern))
    return WaferProgram(plane, strategy, tuple(found), size, generation, collectives)


def _ways(
    plane: Plane, flows: Sequence[Flow], busy: dict[tuple[int, int], int], name: str
) -> PhaseWays:
    """Return the ways of a phase, or say that switches have no room for it."""
    try:
        return find_ways(plane, flows, busy)
    except NoWayError as error:
        raise FieldError(
            "switches",
            f"must have links and micro-switches for {error.flows} flows at once, for "
            f"phase {name}, not for {error.room}",
        ) from None


def _check_links(wafer: WaferSpec) -> None:
    """Refuse controllers with endpoints where endpoints do the phases."""
    if wafer.endpoints > wafer.npus:
        raise ValueError(
            "collectives must be in-network with endpoints at controllers, as switches add up what "
            "is stored, not ring"
        )


def _in_rings(strategy: Strategy) -> dict[str, tuple[str, tuple[Flow, ...]]]:
    """Return pattern and flows of each phase; what is one ring is so instead of its steps."""
    whole, found = collective_phases(strategy), dict[str, tuple[str, tuple[Flow, ...]]]()
    for step, flows in phases(strategy).items():
        name = step.rpartition("_")[0]
        pattern, groups = whole.get(name, ("", ()))
        if pattern in RING_PATTERNS:
            found[name] = (pattern, tuple(Flow(one, one) for one in groups))
        else:
            found[step] = ("", flows)
    return found


def _check_room(plane: Plane, wanted: Collection[str], strategy: Strategy) -> None:
    """Refuse more phases than each switch and endpoint has entries for."""
    room = {"protocol.phases": plane.wafer.protocol.phases}
    for number, one in enumerate(plane.wafer.switches):
        if one.protocol:
            room[f"switches.{number}.protocol.phases"] = one.protocol.phases
    field, least = min(room.items(), key=lambda one: one[1])
    if len(wanted) > least:
        raise FieldError(
            field,
            f"must be {len(wanted)} or more for strategy {strategy}, not {least} ({least} of "
            f"{len(wanted)} phases fit)",
        )
