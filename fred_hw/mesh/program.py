"""Compiled program of a strategy on a mesh: descriptors of all endpoints."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from fred_hw.ace.operations import Descriptor
from fred_hw.ace.steps import EndpointProgram, Step, buffers_of, circuit_of
from fred_hw.checks import check_choice, check_int
from fred_hw.compiler.collective_phases import collective_phases
from fred_hw.compiler.flows import Flow
from fred_hw.compiler.placement import Strategy
from fred_hw.errors import FieldError
from fred_hw.fabric_plan import End
from fred_hw.spec import SwitchSpec

from .algorithm import Lane, Place
from .collectives import AUTO, algorithm_names, algorithm_of, collective, multicast, queued
from .spec import MeshSpec, check_mesh

__all__ = [
    "MESH_PROGRAM_SCHEMA",
    "SECOND_CIRCUIT",
    "MeshPhase",
    "MeshProgram",
    "compile_for_mesh",
]

MESH_PROGRAM_SCHEMA = "fred-mesh-program/1"

SECOND_CIRCUIT = {"mp": "pp", "pp": "dp", "dp": "pp"}
"""Virtual channel of the second half of a phase, keyed by that of the first."""

_MOST_FLITS = (1 << 24) - 1
"""Largest number of flits of a descriptor."""


@dataclass(frozen=True)
class MeshPhase:
    """A phase of a strategy on a mesh.

    Parameters
    ----------
    name, circuit : str
        Name as in ``fred_hw.compiler.placement.phases``, with one phase for many steps; and the
        virtual channel of its packets, or of their first half.
    number : int
        Index among the phases.
    pattern : str
        One of ``PATTERNS``, or "multicast".
    groups : tuple of tuple of int
        NPUs of each group; the source first for a multicast.
    algorithms : tuple of str
        Algorithm of each group: one of ``ALGORITHMS``, or "unicasts".
    lanes : tuple of Lane
        Operations of the NPUs, on one virtual channel each.
    """

    name: str
    circuit: str
    number: int
    pattern: str
    groups: tuple[tuple[int, ...], ...]
    algorithms: tuple[str, ...]
    lanes: tuple[Lane, ...]

    @property
    def circuits(self) -> tuple[str, ...]:
        """Virtual channels that its packets use."""
        jobs = (one for lane in self.lanes for stage in lane for one in stage.values())
        return tuple(dict.fromkeys(one.circuit for one in jobs))


@dataclass(frozen=True)
class MeshProgram(EndpointProgram):
    """Software writes to the endpoints of a mesh for the phases of a strategy.

    NPU n is worker n. Its memory has two buffers for each phase: phase k sends from 2 k x size and
    receives at (2 k + 1) x size. An all-gather works in place in the second.

    Parameters
    ----------
    mesh : MeshSpec
        The mesh.
    strategy : Strategy
        Strategy of the training iteration.
    algorithm : str
        One of ``ALGORITHMS``, or "auto".
    phases : tuple of MeshPhase
        Its phases.
    size : int
        Bytes of each buffer.
    """

    mesh: MeshSpec
    strategy: Strategy
    algorithm: str
    phases: tuple[MeshPhase, ...]
    size: int

    @property
    def link(self) -> SwitchSpec:
        """Specification of the endpoints."""
        return self.mesh.link

    @property
    def npus(self) -> int:
        """Number of NPUs, each of which has an endpoint."""
        return self.mesh.routers

    def alone(self, name: str) -> "MeshProgram":
        """Return a program of one phase, with its number and memory location."""
        return replace(self, phases=(self.phase(name),))

    def descriptors(self, npu: int, phase: MeshPhase) -> list[Descriptor]:
        """Return the descriptors of an endpoint's part of a phase; empty if it takes no part."""
        return queued(phase.lanes, npu)

    def unit_steps(self) -> Sequence[Sequence[Step]]:
        """Return no steps, since routers have no registers."""
        return ()

    def link_flits(self, name: str) -> Counter[End]:
        """Return the data flits on each link in a phase."""
        between: Counter[tuple[int, int]] = Counter()
        for npu in range(self.npus):
            for one in self.descriptors(npu, self.phase(name)):
                if one.send is not None:
                    between[npu, one.send.number] += sent_flits(one, self.link.data_width // 8)
        return self.mesh.plan.loads(between)

    def to_dict(self) -> dict[str, Any]:
        """Return the program as JSON values; docs/explanation/mesh.md lists the keys."""
        return {
            "schema": MESH_PROGRAM_SCHEMA,
            "mesh": self.mesh.name,
            "strategy": str(self.strategy),
            "algorithm": self.algorithm,
            "size_bytes": self.size,
            "phases": [
                {
                    "name": one.name,
                    "number": one.number,
                    "circuits": list(one.circuits),
                    "pattern": one.pattern,
                    "groups": [
                        {"npus": list(group), "algorithm": algorithm}
                        for group, algorithm in zip(one.groups, one.algorithms, strict=True)
                    ],
                    "busiest_link_flits": max(self.link_flits(one.name).values(), default=0),
                }
                for one in self.phases
            ],
            "endpoints": {f"npu{npu}": self._endpoint(npu) for npu in range(self.npus)},
        }

    def _endpoint(self, npu: int) -> dict[str, Any]:
        parts = {one.name: self._part(npu, one) for one in self.phases}
        return {
            "address": npu,
            "steps": [one.to_dict() for one in self.begin_steps(npu)],
            "phases": {name: part for name, part in parts.items() if part["steps"]},
        }

    def _part(self, npu: int, phase: MeshPhase) -> dict[str, Any]:
        """Return an NPU's part of a phase as JSON values."""
        jobs = self.descriptors(npu, phase)
        source, destination = ([one.address, one.size] for one in self.buffers(phase))
        counts = Counter(one.circuit for one in jobs)
        return {
            "sends": source if any(one.send for one in jobs) else None,
            "receives": destination if any(one.receive for one in jobs) else None,
            "steps": [step.to_dict() for one in jobs for step in self.descriptor_steps(one)],
            "completed": [
                {"read": self.completed(name), "more": count} for name, count in counts.items()
            ],
        }


def sent_flits(descriptor: Descriptor, flit_bytes: int) -> int:
    """Return the data flits that an endpoint sends for a descriptor.

    A ring sends all blocks but its own to reduce them, and all but that of the next to gather them.
    """
    flits = descriptor.source.size // flit_bytes
    if descriptor.ring is None:
        return flits
    members, rank = descriptor.ring.members, descriptor.ring.rank
    block = -(-flits // members)
    sizes = [min(block, max(0, flits - block * k)) for k in range(members)]
    reduces = descriptor.operation != "all_gather"
    gathers = descriptor.operation != "reduce_scatter"
    return reduces * (flits - sizes[rank]) + gathers * (flits - sizes[(rank + 1) % members])


def compile_for_mesh(
    mesh: MeshSpec, strategy: Strategy, size: int, *, algorithm: str = AUTO
) -> MeshProgram:
    """Return the program of a mesh for the phases of a strategy.

    Parameters
    ----------
    mesh : MeshSpec
        The mesh, whose flits have a power of two of bytes.
    strategy : Strategy
        At most as many workers as there are NPUs; worker n is NPU n.
    size : int
        Bytes of each buffer, whole flits.
    algorithm : str
        Algorithm of all-reduces, reduce-scatters and all-gathers, one of ``ALGORITHMS``, or "auto".

    Raises
    ------
    FieldError
        Endpoints cannot be made of such flits, or the strategy has more workers than there are
        NPUs.
    ValueError
        A group does not fit the algorithm or a ring, or the size is not of whole flits, not of a
        block for each member of an all-to-all, or too large for a descriptor.
    """
    check_mesh("compile_for_mesh", mesh)
    check_choice("algorithm", algorithm, algorithm_names())
    flit = mesh.link.data_width // 8
    if flit & (flit - 1):
        raise FieldError("lanes", f"must make flits of 1, 2, 4, ... bytes, not of {flit}")
    most = flit * _MOST_FLITS
    if check_int("size", size, minimum=1) % flit or size > most:
        message = f"size must be a multiple of {flit} bytes, a flit, at most {most}, not {size}"
        raise ValueError(message)
    if strategy.workers > mesh.routers:
        raise FieldError(
            "width",
            f"must make {strategy.workers} NPUs or more with height {mesh.height} for strategy "
            f"{strategy}, not {mesh.routers}",
        )
    found = []
    for number, (name, (pattern, what)) in enumerate(collective_phases(strategy).items()):
        circuit = circuit_of(name)
        source, destination = buffers_of(number, size)
        place = Place(
            mesh=mesh,
            source=source,
            destination=destination,
            circuits=(circuit, SECOND_CIRCUIT[circuit]),
        )
        try:
            found.append(_phase(place, name, number, pattern, what, algorithm))
        except ValueError as error:
            raise ValueError(f"phase {name} of {strategy}: {error}") from None
    return MeshProgram(mesh, strategy, algorithm, tuple(found), size)


def _phase(
    place: Place,
    name: str,
    number: int,
    pattern: str,
    what: tuple[tuple[int, ...], ...] | tuple[Flow, ...],
    algorithm: str,
) -> MeshPhase:
    """Return a phase whose groups all run at the same time."""
    circuit = place.circuits[0]
    flows = [one for one in what if isinstance(one, Flow)]
    groups = [one for one in what if not isinstance(one, Flow)]
    unicasts = pattern in ("multicast", "all_to_all")
    if flows:
        lanes = multicast(place, flows)
        groups = [(*one.inputs, *one.outputs) for one in flows]
    else:
        lanes = _joined([collective(place, one, pattern, algorithm) for one in groups])
    kinds = ["unicasts" if unicasts else algorithm_of(place.mesh, one, algorithm) for one in groups]
    return MeshPhase(name, circuit, number, pattern, tuple(groups), tuple(kinds), tuple(lanes))


def _joined(collectives: Sequence[Sequence[Lane]]) -> list[Lane]:
    """Return the merged lanes of all groups, which must be disjoint."""
    lanes: list[list[dict[int, Descriptor]]] = []
    for own in collectives:
        for k, lane in enumerate(own):
            if k == len(lanes):
                lanes.append([])
            for step, stage in enumerate(lane):
                if step == len(lanes[k]):
                    lanes[k].append({})
                lanes[k][step] |= stage
    return list(lanes)
