"""Descriptors of collectives: the register writes that start an endpoint's part.

A collective is one descriptor or a few of them, one behind the other on a circuit. In a network
that adds (FRED-B and D, arXiv 2406.19580) a phase's flows do the work and an endpoint only sends
and receives; in a ring (FRED-A and C, mesh) it adds itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from fred_hw.checks import check_choice, check_int
from fred_hw.endpoint_spec import MOST_MEMBERS
from fred_hw.protocol import ADDRESSES, FULL_GENERATIONS
from fred_hw.virtual_channels import class_number

__all__ = [
    "EXCHANGE_REDUCE",
    "OPERATIONS",
    "Buffer",
    "Descriptor",
    "FlowId",
    "Ring",
    "all_to_all",
    "block_of",
    "exchange",
    "gather_in_network",
    "multicast",
    "reduce_in_network",
]

OPERATIONS = ("none", "set_flows", "exchange", "all_reduce", "reduce_scatter", "all_gather")
"""Operations of COMMAND by number; the last three are rings."""

RINGS = OPERATIONS[3:]

EXCHANGE_REDUCE = "exchange_reduce"
"""Exchange that adds the received data to DESTINATION; requires a schedule table. Its number
follows the last of ``OPERATIONS``."""

_ALL = (*OPERATIONS, EXCHANGE_REDUCE)


@dataclass(frozen=True)
class FlowId:
    """Identity of a flow: phase and generation, or the peer address of unicasts.

    Parameters
    ----------
    number : int
        Phase, 0 or more, or address, 0 to 127.
    unicast : bool
        Whether ``number`` is an address.
    generation : int
        Generation of the phase, 0 to 65,535: how often software has written the phase before.
    """

    number: int
    unicast: bool = False
    generation: int = 0

    def __post_init__(self) -> None:
        check_int("number of a flow", self.number, minimum=0, maximum=ADDRESSES - 1)
        check_int("generation of a flow", self.generation, minimum=0, maximum=FULL_GENERATIONS - 1)

    @property
    def word(self) -> int:
        """The flow as encoded in SEND_FLOW and RECEIVE_FLOW."""
        return self.number | self.unicast << 8 | self.generation << 12


@dataclass(frozen=True)
class Buffer:
    """A part of memory.

    Parameters
    ----------
    address, size : int
        Address and size [bytes], multiples of a flit.
    """

    address: int
    size: int

    def __post_init__(self) -> None:
        check_int("address of a buffer", self.address, minimum=0, maximum=(1 << 40) - 1)
        check_int("size of a buffer", self.size, minimum=0, maximum=(1 << 32) - 1)


@dataclass(frozen=True, kw_only=True)
class Ring:
    """A ring of endpoints, as seen by one member.

    Parameters
    ----------
    members, rank : int
        Number of members, 2 to 64, and the position of this member.
    message_bytes : int
        Bytes of a message; a slot has space for one message of each member.
    fsms : int
        State machines to use, alike in the whole ring.
    """

    members: int
    rank: int
    message_bytes: int
    fsms: int = 1

    def __post_init__(self) -> None:
        check_int("members of a ring", self.members, minimum=2, maximum=MOST_MEMBERS)
        check_int("rank in a ring", self.rank, minimum=0, maximum=self.members - 1)
        check_int("message_bytes of a ring", self.message_bytes, minimum=1)
        check_int("fsms of a ring", self.fsms, minimum=1)


@dataclass(frozen=True, kw_only=True)
class Descriptor:
    """The register values that queue one piece of work at an endpoint.

    Parameters
    ----------
    operation, circuit : str
        Operation, one of ``OPERATIONS`` except "none", or ``EXCHANGE_REDUCE``; and virtual channel,
        an urgency class.
    source, destination : Buffer, optional
        Data to send or reduce, and place of the results. All-gathers are in place: the block of
        this endpoint is read from ``source`` and not written, so both buffers are usually the same.
    send, receive : FlowId, optional
        Flows to set. A flow that is None is not changed, and nothing is sent or received in it.
    ring : Ring, optional
        The ring of a ring operation. Its blocks are as large as ``source`` divided by the members,
        rounded up.
    """

    operation: str
    circuit: str
    source: Buffer = Buffer(0, 0)
    destination: Buffer = Buffer(0, 0)
    send: FlowId | None = None
    receive: FlowId | None = None
    ring: Ring | None = None

    def __post_init__(self) -> None:
        check_choice("operation of a descriptor", self.operation, _ALL[1:])
        class_number(self.circuit)
        if (self.ring is not None) != (self.operation in RINGS):
            raise ValueError(
                f"ring of a descriptor must be given with {', '.join(RINGS)}, and only with them, "
                f"not {self.ring} with {self.operation}"
            )

    def writes(self, flit_bytes: int) -> list[tuple[str, int, int]]:
        """Return the writes in order: register, word index and value; COMMAND is last.

        Parameters
        ----------
        flit_bytes : int
            Bytes of a flit.
        """
        words: list[tuple[str, int, int]] = []
        for name, buffer in (("SOURCE", self.source), ("DESTINATION", self.destination)):
            words += [(name, 0, buffer.address & 0xFFFFFFFF), (name, 1, buffer.address >> 32)]
        words.append(("BYTES", 0, self.source.size))
        if self.ring is None:
            words.append(("RECEIVE_BYTES", 0, self.destination.size))
        else:
            ring, flits = self.ring, -(-self.source.size // flit_bytes)
            block = -(-flits // ring.members) * flit_bytes
            words += [
                ("BLOCK_BYTES", 0, block),
                ("MESSAGE_BYTES", 0, ring.message_bytes),
                ("RING", 0, ring.members | ring.rank << 8 | ring.fsms << 16),
            ]
        for name, flow in (("SEND_FLOW", self.send), ("RECEIVE_FLOW", self.receive)):
            words.append((name, 0, NO_FLOW if flow is None else flow.word))
        command = _ALL.index(self.operation) | class_number(self.circuit) << 8
        return [*words, ("COMMAND", 0, command)]


NO_FLOW = 1 << 9
"""Value of SEND_FLOW and RECEIVE_FLOW that leaves a flow unchanged."""


def exchange(
    circuit: str,
    sent: tuple[Buffer, FlowId] | None = None,
    received: tuple[Buffer, FlowId] | None = None,
) -> Descriptor:
    """Return a descriptor that sends one buffer and receives another, in two flows.

    With a phase that reduces, of which this end is source and destination, that is its part of an
    all-reduce in the network; with one that copies, of a multicast; between two addresses, of
    unicasts.
    """
    result = Descriptor(operation="exchange", circuit=circuit)
    if sent:
        result = replace(result, source=sent[0], send=sent[1])
    if received:
        result = replace(result, destination=received[0], receive=received[1])
    return result


def block_of(buffer: Buffer, members: int, index: int, flit_bytes: int) -> Buffer:
    """Return the block of a member; the last blocks are shorter or empty for uneven sizes."""
    flits = -(-buffer.size // flit_bytes)
    size = -(-flits // members) * flit_bytes
    first = min(index * size, buffer.size)
    return Buffer(buffer.address + first, min(size, buffer.size - first))


def reduce_in_network(
    circuit: str,
    flows: Sequence[FlowId],
    rank: int,
    buffer: Buffer,
    result: Buffer,
    flit_bytes: int,
) -> list[Descriptor]:
    """Return an in-network reduce-scatter: phase i reduces block i to member i.

    Parameters
    ----------
    flows : sequence of FlowId
        One phase for each member, which reduces what all members send to that member.
    rank : int
        Position of this member.
    buffer, result : Buffer
        All blocks, and the place of the result of this member.
    """
    parts = []
    for index, flow in enumerate(flows):
        block = block_of(buffer, len(flows), index, flit_bytes)
        own = (Buffer(result.address, block.size), flow) if index == rank else None
        parts.append(exchange(circuit, (block, flow), own))
    return parts


def gather_in_network(
    circuit: str, flows: Sequence[FlowId], rank: int, buffer: Buffer, flit_bytes: int
) -> list[Descriptor]:
    """Return an in-place in-network all-gather: phase i copies block i from member i to all.

    Parameters are as of ``reduce_in_network``; a member is no destination of its own phase.
    """
    parts = []
    for index, flow in enumerate(flows):
        block = block_of(buffer, len(flows), index, flit_bytes)
        mine = index == rank
        parts.append(
            exchange(circuit, (block, flow) if mine else None, None if mine else (block, flow))
        )
    return parts


def multicast(circuit: str, flow: FlowId, rank: int, root: int, buffer: Buffer) -> list[Descriptor]:
    """Return this member's part of an in-network multicast from ``root``."""
    return [
        exchange(circuit, (buffer, flow))
        if rank == root
        else exchange(circuit, None, (buffer, flow))
    ]


def all_to_all(
    circuit: str,
    addresses: Sequence[int],
    rank: int,
    buffer: Buffer,
    result: Buffer,
    flit_bytes: int,
) -> list[Descriptor]:
    """Return an all-to-all by unicasts: block i goes to member i, in disjoint rounds.

    In round s a member sends to the one s behind it and receives from the one s before. The block
    that is its own stays where it is.

    Parameters
    ----------
    addresses : sequence of int
        Addresses of the members in the fabric.
    rank : int
        Which one this is.
    buffer, result : Buffer
        Blocks to send, and to receive; sizes must be multiples of members' flits.

    Raises
    ------
    ValueError
        They are not.
    """
    members = len(addresses)
    if buffer.size % (members * flit_bytes) or result.size != buffer.size:
        raise ValueError(
            f"size of an all-to-all must be a multiple of {members * flit_bytes}, and alike in "
            f"both buffers, not {buffer.size} and {result.size}"
        )
    parts = []
    for distance in range(1, members):
        to, of = (rank + distance) % members, (rank - distance) % members
        parts.append(
            exchange(
                circuit,
                (block_of(buffer, members, to, flit_bytes), FlowId(addresses[to], unicast=True)),
                (block_of(result, members, of, flit_bytes), FlowId(addresses[of], unicast=True)),
            )
        )
    return parts
