"""Check that each message and collective of a set of traces has all of its participants.

The nodes are counted, not run. A set that passes may still wait for ever, when ranks wait for each
other in a circle.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from fred_hw.errors import InputError

from .feeder import named

__all__ = ["Partners"]


@dataclass(slots=True)
class _Ends:
    """Matching sends and receives: number and last node of each."""

    sent: int = 0
    received: int = 0
    send: int = 0
    receive: int = 0


@dataclass(slots=True)
class _Part:
    """Identical collectives of a rank: their number and their last node."""

    count: int = 0
    node: int = 0


_Message = tuple[int, int, int, int]
"""Sender, receiver, tag and bytes."""

_Collective = tuple[str, str, int | None]
"""Group (empty for all ranks), kind, and bytes unless ranks may differ in bytes."""


class Partners:
    """Counters of the messages and collectives of all ranks."""

    def __init__(self) -> None:
        self._messages: dict[_Message, _Ends] = {}
        self._collectives: dict[_Collective, dict[int, _Part]] = {}

    @property
    def sent(self) -> int:
        """Number of messages sent."""
        return sum(one.sent for one in self._messages.values())

    def add_message(self, rank: int, node: int, ends: tuple[int, int], tag: int, size: int) -> None:
        """Count a send or a receive.

        Parameters
        ----------
        rank, node : int
            Rank and number of the node.
        ends : tuple of int
            Sender and receiver, one of which is the rank.
        tag, size : int
            Tag and size of the message.
        """
        found = self._messages.setdefault((*ends, tag, size), _Ends())
        if rank == ends[0]:
            found.sent, found.send = found.sent + 1, node
        else:
            found.received, found.receive = found.received + 1, node

    def add_collective(self, rank: int, node: int, group: str, kind: str, size: int | None) -> None:
        """Count a rank's participation in a collective.

        Parameters
        ----------
        rank, node : int
            Rank and number of the node.
        group : str
            Name of the communicator group; empty for all ranks.
        kind : str
            Kind of the collective.
        size : int or None
            Bytes; None if ranks may have different sizes.
        """
        part = self._collectives.setdefault((group, kind, size), {}).setdefault(rank, _Part())
        part.count, part.node = part.count + 1, node

    def check(self, files: Sequence[object], groups: Mapping[str, Sequence[int]]) -> None:
        """Fail if a message has no partner or a collective lacks one of its ranks.

        Parameters
        ----------
        files : sequence
            Trace of each rank, for errors.
        groups : mapping
            Ranks of each communicator group; collectives of other groups are not checked.

        Raises
        ------
        InputError
            A message or collective is incomplete; names the file of the rank at fault.
        """
        self._check_messages(files)
        for (group, kind, size), parts in self._collectives.items():
            members = groups.get(group) if group else range(len(files))
            if members is not None:
                what = kind if size is None else f"{kind} of {size} bytes"
                what += f" in group {group}" if group else " of all ranks"
                _check_parts(what, parts, members, files)

    def _check_messages(self, files: Sequence[object]) -> None:
        last = len(files) - 1
        lost = [
            (key, one) for key, one in sorted(self._messages.items()) if one.sent != one.received
        ]
        for (sender, receiver, tag, _), one in sorted(self._messages.items()):
            if max(sender, receiver) > last:
                rank, node = (sender, one.send) if one.sent else (receiver, one.receive)
                message = f"must be a message between ranks from 0 to {last}"
                given = f"{sender} to {receiver} with tag {tag}"
                raise InputError(str(files[rank]), f"node {node}", f"{message}, not {given}")
        for key, one in lost:
            for other, its in _others(key, one, lost):
                sent, received = (key, other) if one.sent > one.received else (other, key)
                nodes = (one.send, its.receive) if sent == key else (its.send, one.receive)
                message = (
                    f"must receive {_said(sent)}, which node {nodes[0]} of rank {sent[0]} sends to "
                    f"rank {sent[1]}, not {_said(received)}"
                )
                raise InputError(str(files[sent[1]]), f"node {nodes[1]}", message)
        for key, one in lost:
            sender, receiver = key[:2]
            counts = f"of {_said(key)} there are {one.sent} sends and {one.received} receives"
            if one.sent > one.received:
                message = f"must have its receive in rank {receiver}; {counts}"
                raise InputError(str(files[sender]), f"node {one.send}", message)
            message = f"must have its send in rank {sender}; {counts}"
            raise InputError(str(files[receiver]), f"node {one.receive}", message)


def _others(
    key: _Message, one: _Ends, lost: Sequence[tuple[_Message, _Ends]]
) -> Iterator[tuple[_Message, _Ends]]:
    """Yield candidates for the missing end of a message, those with the same tag first."""
    found = [
        (other, its)
        for other, its in lost
        if other[:2] == key[:2] and (its.sent > its.received) != (one.sent > one.received)
    ]
    yield from sorted(found, key=lambda pair: pair[0][2] != key[2])


def _said(key: _Message) -> str:
    return f"{key[3]} bytes with tag {key[2]}"


def _check_parts(
    what: str, parts: Mapping[int, _Part], members: Sequence[int], files: Sequence[object]
) -> None:
    """Fail if some ranks take part in a collective less often than others."""
    most = max(part.count for part in parts.values())
    absent = [one for one in members if parts.get(one, _Part()).count < most]
    if not absent:
        return
    rank = next(one for one, part in parts.items() if part.count == most)
    count = parts.get(absent[0], _Part()).count
    message = f"must take part in {most} {what}, as rank {rank} with node {parts[rank].node} does"
    more = f"; so must rank {named(absent[1:])}" if absent[1:] else ""
    raise InputError(str(files[absent[0]]), "", f"{message}, not in {count}{more}")
