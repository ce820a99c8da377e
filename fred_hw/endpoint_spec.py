"""Specification of the collective endpoint, in addition to that of the switch."""

from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    SerializerFunctionWrapHandler,
    ValidationInfo,
    WithJsonSchema,
    model_serializer,
)

from .files import FileModel, int_range, refused

__all__ = ["MOST_MEMBERS", "EndpointSpec"]

MOST_MEMBERS = 64
"""Largest number of endpoints in a ring."""

_REPLAYS = [0, *(1 << bits for bits in range(1, 7))]


def _replays(value: int) -> int:
    if value not in _REPLAYS:
        raise refused(f"must be 0 or a power of two from 2 to 64, not {value}")
    return value


def _enough(value: int, info: ValidationInfo) -> int:
    """Fail if there are fewer slots than state machines."""
    fsms = info.data.get("fsms", 1)
    if value < fsms:
        raise refused(f"must be {fsms} or more, as each of fsms owns one, not {value}")
    return value


class EndpointSpec(FileModel, validate_default=True):
    """Sizes of the collective engine of an endpoint (ACE, arXiv 2007.00156); frozen.

    Parameters
    ----------
    fsms : int
        State machines of each virtual channel, 1 to 16: each owns a chunk.
    slots : int
        Slots of each virtual channel's partition of the scratchpad, 1 to 64 and at least as many as
        state machines: further slots are loaded in advance.
    chunk_flits : int
        Flits in a slot, 2 to 4096. In a ring of n endpoints a slot holds n messages. 128 flits of
        512 B are 64 KB.
    memory_reads : int
        Memory reads in flight, 2 to 256. A flit per cycle takes the latency of memory in cycles,
        and 2 more.
    read_ports : int
        Ports to read memory, 1 or 2, a flit per cycle each. The second port reads the operands that
        are added to received flits, so that a ring's messages need not wait for them;
        ``memory_reads`` applies to each port.
    replay_packets : int
        Packets of each virtual channel that are kept until they are acknowledged, 2, 4, 8, 16, 32
        or 64, at most ``window_packets`` of the protocol; 0 for as many as the window.
        docs/reference/endpoint.md shows how to choose.
    schedule_entries : int
        Entries of the schedule table, 0 to 256: descriptors that are issued in lockstep. 0 leaves
        out the table.

    Raises
    ------
    pydantic.ValidationError
        A key is unknown or a value is out of range.
    """

    fsms: Annotated[int, int_range(1, 16)] = 4
    slots: Annotated[int, int_range(1, 64), AfterValidator(_enough)] = 8
    chunk_flits: Annotated[int, int_range(2, 4096)] = 128
    memory_reads: Annotated[int, int_range(2, 256)] = 64
    read_ports: Annotated[int, int_range(1, 2)] = 1
    replay_packets: Annotated[
        int,
        int_range(0, 64),
        AfterValidator(_replays),
        WithJsonSchema({"type": "integer", "enum": _REPLAYS}),
    ] = 0
    schedule_entries: Annotated[int, int_range(0, 256)] = 0

    @model_serializer(mode="wrap")
    def _without_default(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Omit defaults of keys that older files do not have."""
        said = handler(self)
        for name, default in (("read_ports", 1), ("schedule_entries", 0)):
            if getattr(self, name) == default:
                said.pop(name, None)
        return said

    @property
    def suffix(self) -> str:
        """Part of a generated name: the sizes that differ from their defaults."""
        letters = {
            "fsms": "m",
            "slots": "s",
            "chunk_flits": "c",
            "memory_reads": "r",
            "read_ports": "p",
            "replay_packets": "k",
            "schedule_entries": "e",
        }
        default = EndpointSpec()
        parts = [
            f"{letter}{getattr(self, name)}"
            for name, letter in letters.items()
            if getattr(self, name) != getattr(default, name)
        ]
        return "_".join(["ace", *parts])
