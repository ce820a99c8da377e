"""A plan: operations between endpoints, and the descriptors that each endpoint queues.

An operation moves flits in one flow, or is a ring. Each endpoint queues its pieces of operations
as jobs, a descriptor each. Pieces may be cut, moved and merged, so a job may send a piece of one
operation and receive a piece of another.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from fred_hw.ace.operations import Buffer, Descriptor, FlowId, Ring

__all__ = ["Job", "Operation", "Piece", "Plan"]


@dataclass(frozen=True)
class Operation:
    """A communication between several endpoints.

    Parameters
    ----------
    kind : str
        "unicast", "copy", "reduce" (in the network) or an operation of rings.
    circuit : str
        Its virtual channel.
    sources, destinations : tuple of int
        Endpoints; members of a ring, in its order, are both.
    flits : int
        Flits that each source sends.
    read, write : tuple of int
        Position of the buffer of each source and each destination [flits].
    phase : int
        Number of its phase, -1 for unicasts and rings.
    message : int
        Flits of a message of a ring.
    generation : int
        Generation of the phase's entry.
    """

    kind: str
    circuit: str
    sources: tuple[int, ...]
    destinations: tuple[int, ...]
    flits: int
    read: tuple[int, ...]
    write: tuple[int, ...]
    phase: int = -1
    message: int = 0
    generation: int = 0

    @property
    def is_ring(self) -> bool:
        """Whether the operation is a reduction or a gather by endpoints in a ring."""
        return self.message > 0

    @property
    def flow(self) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
        """Key that identifies the operation's flow."""
        return self.phase, self.sources, self.destinations


@dataclass(frozen=True)
class Piece:
    """Flits of an operation that a descriptor sends or receives, numbered from ``first``."""

    operation: int
    first: int
    flits: int


@dataclass(frozen=True)
class Job:
    """A descriptor of an endpoint: sent piece, received piece, and the preceding wait.

    A job of a ring has the same piece on both sides.
    """

    circuit: str
    sends: Piece | None = None
    receives: Piece | None = None
    wait: int = 0


@dataclass(frozen=True)
class Plan:
    """All work of a fabric.

    Parameters
    ----------
    fabric : str
        Name of the fabric.
    operations : tuple of Operation
        In an order in which they could be executed one after another.
    queues : tuple of tuple of Job
        Jobs of each endpoint, in the order in which they are queued.
    memory : int
        Flits of each memory.
    faults, stalls : int
        As in ``PlaneRun``.
    seed : int
        Seed of the campaign, and of contents of memories, faults and stalls.
    """

    fabric: str
    operations: tuple[Operation, ...]
    queues: tuple[tuple[Job, ...], ...]
    memory: int
    faults: int
    stalls: int
    seed: int

    def used(self) -> set[int]:
        """Return the operations that the queues still contain."""
        pieces = [
            one for queue in self.queues for job in queue for one in (job.sends, job.receives)
        ]
        return {one.operation for one in pieces if one}

    def without(self, operation: int) -> "Plan":
        """Return the plan without one operation; pieces of others are unchanged."""

        def left(piece: Piece | None) -> Piece | None:
            return None if piece and piece.operation == operation else piece

        def kept(queue: Sequence[Job]) -> tuple[Job, ...]:
            jobs = [
                replace(one, sends=left(one.sends), receives=left(one.receives)) for one in queue
            ]
            return tuple(one for one in jobs if one.sends or one.receives)

        return replace(self, queues=tuple(kept(queue) for queue in self.queues))

    def behind(self, flits: int) -> "Plan":
        """Return the plan with all its buffers behind the first flits of memories."""
        operations = [
            replace(
                one,
                read=tuple(flits + first for first in one.read),
                write=tuple(flits + first for first in one.write),
            )
            for one in self.operations
        ]
        return replace(self, operations=tuple(operations), memory=flits + self.memory)

    def descriptor(self, npu: int, job: Job, flit: int, fsms: int) -> Descriptor:
        """Return the descriptor that an endpoint writes for a job, given the bytes of a flit."""
        piece = job.sends or job.receives
        if piece and self.operations[piece.operation].is_ring:
            return self.ring(npu, self.operations[piece.operation], flit, fsms)
        found = Descriptor(operation="exchange", circuit=job.circuit)
        if job.sends:
            one = self.operations[job.sends.operation]
            first = one.read[one.sources.index(npu)] + job.sends.first
            flow = self._flow(one, one.destinations[0])
            found = replace(found, source=Buffer(flit * first, flit * job.sends.flits), send=flow)
        if job.receives:
            one = self.operations[job.receives.operation]
            first = one.write[one.destinations.index(npu)] + job.receives.first
            size, flow = flit * job.receives.flits, self._flow(one, one.sources[0])
            found = replace(found, destination=Buffer(flit * first, size), receive=flow)
        return found

    def _flow(self, one: Operation, other: int) -> FlowId:
        if one.phase < 0:
            return FlowId(other, unicast=True)
        return FlowId(one.phase, generation=one.generation)

    def ring(self, npu: int, one: Operation, flit: int, fsms: int) -> Descriptor:
        """Return the descriptor that a ring member writes."""
        members, rank = one.sources, one.sources.index(npu)
        return Descriptor(
            operation=one.kind,
            circuit=one.circuit,
            source=Buffer(flit * one.read[rank], flit * one.flits),
            destination=Buffer(flit * one.write[rank], flit * one.flits),
            send=FlowId(members[(rank + 1) % len(members)], unicast=True),
            receive=FlowId(members[rank - 1], unicast=True),
            ring=Ring(members=len(members), rank=rank, message_bytes=flit * one.message, fsms=fsms),
        )

    def text(self) -> str:
        """Return the plan as text, with which a failure can be reproduced by hand."""
        used = self.used()
        lines = [f"{self.fabric}, seed {self.seed}: faults {self.faults}, stalls {self.stalls}"]
        lines += [f"  {n}: {one}" for n, one in enumerate(self.operations) if n in used]
        for npu, queue in enumerate(self.queues):
            lines += [f"  NPU {npu}:"] * bool(queue)
            for job in queue:
                wait = f", after {job.wait} cycles" if job.wait else ""
                parts = [
                    f"{verb} {one.operation}[{one.first}:{one.first + one.flits}]"
                    for verb, one in (("send", job.sends), ("receive", job.receives))
                    if one
                ]
                lines.append(f"    {job.circuit}: {', '.join(parts)}{wait}")
        return "\n".join(lines)
