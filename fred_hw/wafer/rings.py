"""Phases executed by endpoints alone: rings, and multicasts as unicasts.

This is the operation of FRED-A and FRED-C, whose switches only route (FRED, arXiv 2406.19580,
section 8).
"""

from collections.abc import Sequence
from dataclasses import replace

from fred_hw.ace.operations import Buffer, Descriptor, FlowId, Ring, exchange
from fred_hw.compiler.flows import Flow
from fred_hw.compiler.ring_messages import message_flits
from fred_hw.endpoint_spec import MOST_MEMBERS

from .plane import Plane

__all__ = ["RING_PATTERNS", "check_rings", "joined", "levels_of", "ring_descriptors", "ring_of"]

RING_PATTERNS = ("reduce_scatter", "all_gather")
"""Collectives that form one ring of all members, whatever switches they are on."""


def levels_of(plane: Plane, members: Sequence[int]) -> list[list[int]]:
    """Return the members of an all-reduce grouped by switch, or all in one group.

    Equally many members, two or more, on each of several switches go around in two levels of rings;
    others in one, in which those of a switch stand together.
    """
    clusters: dict[int, list[int]] = {}
    for npu in members:
        clusters.setdefault(plane.units[plane.homes[npu][0]].switch, []).append(npu)
    sizes = {len(found) for found in clusters.values()}
    if len(clusters) > 1 and len(sizes) == 1 and sizes != {1}:
        return list(clusters.values())
    return [[npu for found in clusters.values() for npu in found]]


def ring_of(plane: Plane, members: Sequence[int]) -> list[int]:
    """Return the members of a ring in order, those of a switch adjacent."""
    return [npu for level in levels_of(plane, members) for npu in level]


def check_rings(plane: Plane, name: str, flows: Sequence[Flow], pattern: str = "") -> None:
    """Fail if endpoints cannot execute a phase alone; ``pattern`` as in ``program.Phase``.

    Raises
    ------
    ValueError
        A flow reduces and not all of its sources get the sum, or a ring has too many members.
    """
    most = min(MOST_MEMBERS, plane.wafer.endpoint.chunk_flits)
    for flow in flows:
        sources, targets = sorted(flow.inputs), sorted(flow.outputs)
        if len(sources) == 1:
            continue
        if sources != targets:
            raise ValueError(
                f"phase {name} must copy, or reduce to all that it reduces, with rings, not "
                f"reduce {sources} to {targets}"
            )
        levels = [ring_of(plane, sources)] if pattern else levels_of(plane, sources)
        members = max(map(len, levels))
        if members > most:
            raise ValueError(
                f"phase {name} must have at most {most} NPUs in a ring, which have a flit each in "
                f"a slot, not {members}"
            )


def ring_descriptors(
    plane: Plane,
    circuit: str,
    flow: Flow,
    npu: int,
    buffers: tuple[Buffer, Buffer],
    pattern: str = "",
) -> list[Descriptor]:
    """Return an endpoint's successive descriptors for a flow between NPUs.

    An all-reduce on several switches is a reduce-scatter in each, an all-reduce of each block among
    the members with the same position, and an all-gather. A copy is sent to one member after the
    other. With a pattern a member has the block of its position in the ring, at that position in
    the second buffer.

    Parameters
    ----------
    plane : Plane
        The plane.
    circuit : str
        Virtual channel of its packets.
    flow : Flow
        Flow between NPUs that ``check_rings`` accepts.
    npu : int
        Number of the endpoint.
    buffers : tuple of Buffer
        Source, and destination of results.
    pattern : str
        Pattern of the phase, as in ``program.Phase``.
    """
    source, destination = buffers
    if pattern:
        here, ring = destination if pattern == "all_gather" else source, ring_of(plane, flow.inputs)
        return [_ring(plane, pattern, circuit, ring, npu, here, destination)]
    if len(flow.inputs) == 1:
        (root,) = flow.inputs
        if npu == root:
            others = [one for one in sorted(flow.outputs) if one != root]
            return [exchange(circuit, (source, FlowId(to, unicast=True))) for to in others]
        return [exchange(circuit, None, (destination, FlowId(root, unicast=True)))]
    levels = levels_of(plane, sorted(flow.inputs))
    if len(levels) == 1:
        return [_ring(plane, "all_reduce", circuit, levels[0], npu, source, destination)]
    own = next(level for level in levels if npu in level)
    place = own.index(npu)
    across = [level[place] for level in levels]
    flit = plane.wafer.link.data_width // 8
    size = -(-(source.size // flit) // len(own)) * flit
    first = min(place * size, source.size)
    block = Buffer(destination.address + first, min(size, source.size - first))
    found = [_ring(plane, "reduce_scatter", circuit, own, npu, source, destination)]
    if block.size:
        found.append(_ring(plane, "all_reduce", circuit, across, npu, block, block))
    found.append(_ring(plane, "all_gather", circuit, own, npu, destination, destination))
    return found


def joined(parts: Sequence[Sequence[Descriptor]]) -> list[Descriptor]:
    """Return an endpoint's descriptors for several flows, sending and receiving together.

    It sends a copy in at most one of them and receives one in another, so its first transmission is
    combined with its reception.
    """
    sent = [one for part in parts for one in part if one.operation != "exchange" or one.send]
    received = [one for part in parts for one in part if one not in sent]
    if sent and received and sent[0].operation == "exchange":
        (other,) = received
        return [
            replace(sent[0], destination=other.destination, receive=other.receive),
            *sent[1:],
        ]
    return [*sent, *received]


def _ring(
    plane: Plane,
    operation: str,
    circuit: str,
    members: Sequence[int],
    npu: int,
    source: Buffer,
    destination: Buffer,
) -> Descriptor:
    """Return an NPU's part of a ring."""
    engine, flit = plane.wafer.endpoint, plane.wafer.link.data_width // 8
    count, rank = len(members), members.index(npu)
    block = -(-(source.size // flit) // count)
    message = message_flits(block, count, engine)
    return Descriptor(
        operation=operation,
        circuit=circuit,
        source=source,
        destination=destination,
        send=FlowId(members[(rank + 1) % count], unicast=True),
        receive=FlowId(members[(rank - 1) % count], unicast=True),
        ring=Ring(members=count, rank=rank, message_bytes=message * flit, fsms=engine.fsms),
    )
