"""Compiled program of a strategy on a plane: switch contents and endpoint descriptors."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from fred_hw.ace.endpoint_map import endpoint_map
from fred_hw.ace.operations import Buffer, Descriptor, FlowId, exchange
from fred_hw.ace.steps import EndpointProgram, Step, buffers_of, circuit_of
from fred_hw.checks import check_choice, check_int
from fred_hw.compiler.collective_phases import collective_phases
from fred_hw.compiler.flows import Flow
from fred_hw.compiler.placement import Strategy, phases
from fred_hw.control.access import Access
from fred_hw.control.phase_entry import entry_word
from fred_hw.control.registers import WORD_BITS, WORD_BYTES, Register, RegisterMap
from fred_hw.control.switch_map import switch_map
from fred_hw.errors import FieldError
from fred_hw.protocol import FULL_GENERATIONS, GENERATIONS
from fred_hw.spec import SwitchSpec
from fred_hw.virtual_channels import class_number

from .flows import PhasePaths
from .phase import Phase, switched_phases
from .plane import Plane
from .rings import RING_PATTERNS, check_rings, joined, ring_descriptors
from .routes import Routes, shared_out
from .spec import WaferSpec

__all__ = ["COLLECTIVES", "PROGRAM_SCHEMA", "WaferProgram", "compile_strategy", "ring_phases"]

PROGRAM_SCHEMA = "fred-wafer-program/1"

COLLECTIVES = ("in-network", "ring")
"""Executors of phases: switches (FRED-B, D), or endpoints by unicasts (FRED-A, C)."""


def _words(register: Register, bits: Sequence[int]) -> list[int]:
    """Return the words of a register in which some bits are set."""
    value = sum(1 << bit for bit in bits)
    return [value >> WORD_BITS * word & (1 << WORD_BITS) - 1 for word in range(register.words)]


def _command_is_over(registers: RegisterMap) -> Step:
    """Return the wait until the last command is neither under way nor refused."""
    return Step(registers.register("COMMAND_STATUS").address, 0, 3)


@dataclass(frozen=True)
class WaferProgram(EndpointProgram):
    """Software writes to the registers of a plane for the phases of a strategy.

    NPU n is worker n. Its memory, and that of a controller, has two buffers for each phase: phase k
    sends from 2 k x size and receives at (2 k + 1) x size, where k is the first of its numbers.
    Round tokens are at the addresses of their own numbers. An all-gather in a ring works in place
    in the second buffer.

    Parameters
    ----------
    plane : Plane
        The plane.
    strategy : Strategy
        Strategy of the training iteration.
    phases : tuple of Phase
        Its phases.
    size : int
        Bytes that an NPU sends in a phase, in this plane.
    generation : int
        Generation of all phases, 0 to 65,535.
    collectives : str
        One of ``COLLECTIVES``.
    routes : mapping
        Routes of unicasts that differ from the default.
    """

    plane: Plane
    strategy: Strategy
    phases: tuple[Phase, ...]
    size: int
    generation: int = 0
    collectives: str = COLLECTIVES[0]
    routes: Routes = field(default_factory=dict[tuple[int, int], int])

    @property
    def link(self) -> SwitchSpec:
        """Specification of the endpoints."""
        return self.plane.wafer.link

    @property
    def npus(self) -> int:
        """Number of NPUs, each of which has an endpoint."""
        return self.plane.wafer.npus

    @property
    def endpoints(self) -> int:
        """Number of endpoints of NPUs, and of controllers that have one."""
        return self.plane.wafer.endpoints

    def unit_steps(self) -> list[list[Step]]:
        """Return the register writes of each chiplet."""
        return [self.switch_steps(number) for number in range(len(self.plane.units))]

    def alone(self, name: str) -> "WaferProgram":
        """Return a program of one phase, which becomes the first."""
        return replace(self, phases=(replace(self.phase(name), number=0),))

    def over_first(self, phase: Phase) -> list[str]:
        """Return the phases that all members of a phase must complete before any starts it.

        A switch that reduces data from several others waits for all of them. Meanwhile packets
        behind it in a queue between switches wait too: copies on the same virtual channel, which
        one of the switches may still have to receive (docs/reference/protocol.md).
        """
        homes = self.plane.homes
        sums = [one for one in phase.flows if len({homes[source][0] for source in one.inputs}) > 1]
        if self.collectives == "ring" or not sums:
            return []
        members = {end for one in sums for end in (*one.inputs, *one.outputs)}
        return [
            other.name
            for other in self.phases
            if other.circuit == phase.circuit and other.name != phase.name
            if any(
                len(one.inputs) == 1 and members & {*one.inputs, *one.outputs}
                for one in other.flows
            )
        ]

    @property
    def numbers(self) -> int:
        """Number of phase numbers, from 0."""
        return max((one.number + one.numbers for one in self.phases), default=0)

    def entry(self, circuit: str, paths: PhasePaths, chiplet: int) -> int:
        """Return the entry of a chiplet that is part of a flow on a virtual channel."""
        return entry_word(
            self.plane.units[chiplet].spec,
            paths.configurations[chiplet],
            paths.flows[chiplet],
            class_number(circuit),
            generation=self.generation,
        )

    def begin_steps(self, npu: int) -> list[Step]:
        """Return the initial writes to an endpoint, which forgets its numbers of all phases.

        All of this is written before any phase begins, also to endpoints that were in no phase of
        programs before: they cannot know how often a phase has been written since.
        """
        forget = endpoint_map(self.link).register("FORGET")
        return [
            *super().begin_steps(npu),
            *(
                Step(forget.address + WORD_BYTES * place, word)
                for place, word in enumerate(_words(forget, self._phase_numbers()))
                if word
            ),
        ]

    def route(self, chiplet: int, address: int) -> int:
        """Return the output port of a chiplet for unicasts to an address."""
        found = self.routes.get((chiplet, address))
        return self.plane.port_for(chiplet, address) if found is None else found

    def unicasts(self) -> list[list[tuple[int, int]]]:
        """Return sources and destinations of unicasts that are in flight together.

        These are the descriptors of a phase that have the same place in the queues of endpoints.
        """
        found: dict[tuple[str, int], list[tuple[int, int]]] = {}
        for phase in self.phases:
            for npu in range(self.endpoints):
                for place, one in enumerate(self.descriptors(npu, phase)):
                    if one.send is not None and one.send.unicast:
                        pairs = found.setdefault((phase.name, place), [])
                        pairs.append((npu, one.send.number))
        return [*found.values()]

    def erase_steps(self, chiplet: int) -> list[Step]:
        """Return what is written to a chiplet's registers before a generation of packets returns.

        Each chiplet may have entries of the phases, also one that has no part in them now. Sources
        are idle before; see docs/how-to/driver.md, Rewriting a phase.
        """
        registers, steps, access = self._writer(chiplet)
        if self.generation % GENERATIONS == 0:
            for number in self._phase_numbers():
                access.erase_phase(number)
                steps.append(_command_is_over(registers))
        return steps

    def drain_steps(self, chiplet: int) -> list[Step]:
        """Return what waits until no packet of an erased phase is queued in a chiplet.

        It begins ``SwitchSpec.drop_cycles`` after ``erase_steps``, in one chiplet
        after another.
        """
        queued = switch_map(self.plane.units[chiplet].spec).register("QUEUED")
        if self.generation % GENERATIONS:
            return []
        return [
            Step(queued.address + WORD_BYTES * place, 0, word)
            for place, word in enumerate(_words(queued, self._phase_numbers()))
            if word
        ]

    def switch_steps(self, chiplet: int) -> list[Step]:
        """Return what is written to a chiplet's registers: routes, then phases."""
        registers, steps, access = self._writer(chiplet)
        for address in range(self.plane.addresses):
            access.write_route(address, self.route(chiplet, address))
        for phase in self.phases:
            for one in phase.entries:
                if chiplet in one.paths.flows:
                    entry = self.entry(phase.circuit, one.paths, chiplet)
                    access.write_phase(one.number, entry)
                    steps.append(_command_is_over(registers))
        return steps

    def _writer(self, chiplet: int) -> tuple[RegisterMap, list[Step], Access]:
        """Return registers of a chiplet, no steps, and access that appends its writes to them."""
        registers = switch_map(self.plane.units[chiplet].spec)
        steps: list[Step] = []
        access = Access(
            registers, lambda address: 0, lambda address, value: steps.append(Step(address, value))
        )
        return registers, steps, access

    def _phase_numbers(self) -> list[int]:
        """Return the numbers of all entries of phases."""
        return [one.number for phase in self.phases for one in phase.entries]

    def descriptors(self, npu: int, phase: Phase) -> list[Descriptor]:
        """Return the successive descriptors of an endpoint's part of a phase; may be empty."""
        if self.collectives == "ring":
            buffers = self.buffers(phase)
            own = [one for one in phase.flows if npu in (*one.inputs, *one.outputs)]
            return joined(
                [
                    ring_descriptors(self.plane, phase.circuit, one, npu, buffers, phase.pattern)
                    for one in own
                ]
            )
        return [
            exchange(
                phase.circuit,
                self._side(phase, part.sends, part.whole, 0),
                self._side(phase, part.receives, part.whole, 1),
            )
            for part in phase.parts(npu)
        ]

    def _side(
        self, phase: Phase, number: int | None, whole: bool, side: int
    ) -> tuple[Buffer, FlowId] | None:
        """Return the buffer sent (side 0) or received (1) under a phase number, if any."""
        if number is None:
            return None
        buffer = buffers_of(phase.number if whole else number, self.size)[side]
        if not whole:  # one flit, as a round token
            buffer = Buffer(buffer.address, self.link.data_width // 8)
        return buffer, FlowId(number, generation=self.generation)

    def to_dict(self) -> dict[str, Any]:
        """Return the program as JSON values; docs/explanation/wafer.md lists the keys."""
        return {
            "schema": PROGRAM_SCHEMA,
            "wafer": self.plane.wafer.name,
            "strategy": str(self.strategy),
            "planes": self.plane.wafer.planes,
            "size_bytes": self.size,
            "collectives": self.collectives,
            "phases": [
                {
                    **one.to_dict(),
                    "generation": self.generation,
                    "over_first": self.over_first(one),
                }
                for one in self.phases
            ],
            "switches": {
                one.name: self._switch(number) for number, one in enumerate(self.plane.units)
            },
            "endpoints": {
                self.plane.end_name(one): self._endpoint(one) for one in range(self.endpoints)
            },
        }

    def _switch(self, chiplet: int) -> dict[str, Any]:
        return {
            "spec": self.plane.units[chiplet].spec.name,
            "routes": [self.route(chiplet, one) for one in range(self.plane.addresses)],
            "phases": {
                one.name: {
                    "entry": f"{self.entry(phase.circuit, one.paths, chiplet):#x}",
                    "flows": [flow.to_dict() for flow in one.paths.flows[chiplet]],
                }
                for phase in self.phases
                for one in phase.entries
                if chiplet in one.paths.flows
            },
            "erase_steps": [one.to_dict() for one in self.erase_steps(chiplet)],
            "drain_steps": [one.to_dict() for one in self.drain_steps(chiplet)],
            "steps": [one.to_dict() for one in self.switch_steps(chiplet)],
        }

    def _endpoint(self, npu: int) -> dict[str, Any]:
        return {
            "address": npu,
            "steps": [one.to_dict() for one in self.begin_steps(npu)],
            "phases": dict(self._parts(npu)),
        }

    def _parts(self, npu: int) -> Iterator[tuple[str, Any]]:
        """Yield the name and contents of each phase that an NPU takes part in."""
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
    plane: Plane | None = None,
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
        Generation of all phases, 0 to 65,535.
    collectives : str
        One of ``COLLECTIVES``.
    plane : Plane, optional
        A plane of the wafer with faults; by default one without.

    Raises
    ------
    FieldError
        The strategy has more workers than there are NPUs, or more phases, including those of
        rounds, than a switch has entries; or flows of a phase fit neither at once nor in rounds.
    ValueError
        Rings cannot execute a phase, or the stores of controllers with endpoints; or the size is
        not a whole number of flits.
    """
    check_int("generation", generation, minimum=0, maximum=FULL_GENERATIONS - 1)
    check_choice("collectives", collectives, COLLECTIVES)
    flit = wafer.link.data_width // 8
    if check_int("size", size, minimum=1) % flit:
        raise ValueError(f"size must be a multiple of {flit} bytes, a flit, not {size}")
    if strategy.workers > wafer.npus:
        raise FieldError(
            "npus", f"must be {strategy.workers} or more for strategy {strategy}, not {wafer.npus}"
        )
    plane = Plane(wafer) if plane is None else plane
    if collectives == "in-network":
        found = switched_phases(plane, strategy)
        _check_space(plane, found, strategy)
    else:
        _check_links(wafer)
        found = tuple(
            Phase(name, circuit_of(name), number, flows, pattern=pattern)
            for number, (name, (pattern, flows)) in enumerate(ring_phases(strategy).items())
        )
        for one in found:
            check_rings(plane, f"{one.name} of {strategy}", one.flows, one.pattern)
    made = WaferProgram(plane, strategy, found, size, generation, collectives)
    return replace(made, routes=shared_out(plane, made.unicasts()))


def _check_links(wafer: WaferSpec) -> None:
    """Fail if controllers have endpoints and endpoints execute the phases."""
    if wafer.endpoints > wafer.npus:
        raise ValueError(
            "collectives must be in-network with endpoints at controllers, as switches reduce what "
            "is stored, not ring"
        )


def ring_phases(strategy: Strategy) -> dict[str, tuple[str, tuple[Flow, ...]]]:
    """Return pattern and flows of each phase; a single ring stays one pattern."""
    whole, found = collective_phases(strategy), dict[str, tuple[str, tuple[Flow, ...]]]()
    for step, flows in phases(strategy).items():
        name = step.rpartition("_")[0]
        pattern, groups = whole.get(name, ("", ()))
        if pattern in RING_PATTERNS:
            found[name] = (pattern, tuple(Flow(one, one) for one in groups))
        else:
            found[step] = ("", flows)
    return found


def _check_space(plane: Plane, found: Sequence[Phase], strategy: Strategy) -> None:
    """Fail if more phase numbers are needed than switches and endpoints have."""
    space = {"protocol.phases": plane.wafer.protocol.phases}
    for number, one in enumerate(plane.wafer.switches):
        if one.protocol:
            space[f"switches.{number}.protocol.phases"] = one.protocol.phases
    field, least = min(space.items(), key=lambda one: one[1])
    wanted = sum(one.numbers for one in found)
    if wanted > least:
        fit = sum(one.number + one.numbers <= least for one in found)
        rounds = ", some in rounds" if wanted > len(found) else ""
        raise FieldError(
            field,
            f"must be {wanted} or more for strategy {strategy}, not {least} ({fit} of "
            f"{len(found)} phases fit{rounds})",
        )
