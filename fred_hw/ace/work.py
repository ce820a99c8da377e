"""Interfaces between units of the engine: prepared work, messages, words."""

from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from fred_hw.endpoint.flow import flow_layout
from fred_hw.member import Bundle, member
from fred_hw.spec import SwitchSpec

__all__ = [
    "ADDRESS_BITS",
    "STEP_BITS",
    "ReceiveWord",
    "SendWord",
    "count_bits",
    "flit_bytes",
    "place_bits",
    "receive_layout",
    "size_bits",
    "sizes_name",
    "slot_bits",
    "word_bits",
    "work_layout",
]

ADDRESS_BITS = 40
"""Bits of a memory address in bytes."""

STEP_BITS = 7
"""Bits of a step count: an all-reduce over 64 endpoints has 126 steps."""

_MOST_COUNT_BITS = 24


def flit_bytes(spec: SwitchSpec) -> int:
    """Return the bytes of a flit, a power of two.

    Raises
    ------
    ValueError
        They are none: memory is addressed by flits.
    """
    size = spec.data_width // 8
    if size & (size - 1):
        raise ValueError(f"lanes must give an endpoint flits of 1, 2, 4, ... bytes, not {size}")
    return size


def word_bits(spec: SwitchSpec) -> int:
    """Return the bits of a memory address in flits."""
    return ADDRESS_BITS - (flit_bytes(spec) - 1).bit_length()


def count_bits(spec: SwitchSpec) -> int:
    """Return the bits of a buffer's flit count."""
    return min(_MOST_COUNT_BITS, 32 - (flit_bytes(spec) - 1).bit_length())


def size_bits(spec: SwitchSpec) -> int:
    """Return the bits of a slot's flit count."""
    return spec.endpoint.chunk_flits.bit_length()


def place_bits(spec: SwitchSpec) -> int:
    """Return the bits of a position in a slot."""
    return (spec.endpoint.chunk_flits - 1).bit_length()


def slot_bits(spec: SwitchSpec) -> int:
    """Return the bits of a slot number in its partition."""
    return max(1, (spec.endpoint.slots - 1).bit_length())


def sizes_name(name: str, spec: SwitchSpec) -> str:
    """Return the name of a unit of the engine."""
    parts = (spec.suffix(crosses=False), spec.protocol.suffix, spec.endpoint.suffix)
    return "_".join((name, *parts))


def work_layout(spec: SwitchSpec) -> data.StructLayout:
    """Return the layout of a descriptor after ``AcePrepare``.

    A buffer has members' blocks one behind the other; chunk c has of each block ``message`` flits
    from c x ``message`` on, its parts. Flits of ``total`` and beyond are none.

    Fields
    ------
    source, destination : of memory, in flits
    send, receive : flow_layout(spec), and whether to set them
    sets_send, sets_receive : 1
    total, block, message : flits sent or reduced, of a member's block, and of a message
    first_place, first_offset : where the part sent first is in a slot, and in the buffer
    last_place, last_offset : the same of the last member's part
    parts : parts to load, from the first on downwards; 0 if nothing is sent
    steps, receives : messages of each chunk that go out, and that come
    reduces, stores : messages that are reduced, and before the first that goes to memory
    direct : flits received that are of no chunk
    expected : all flits received
    last_fsm : one bit, that of the last state machine to use
    """
    count, place, word = count_bits(spec), place_bits(spec), word_bits(spec)
    flow = flow_layout(spec)
    fields = {
        "source": word,
        "destination": word,
        "send": flow,
        "receive": flow,
        "sets_send": 1,
        "sets_receive": 1,
        "total": count,
        "block": count,
        "message": size_bits(spec),
        "first_place": place,
        "first_offset": count + 1,
        "last_place": place,
        "last_offset": count + 1,
        **dict.fromkeys(("parts", "steps", "receives", "reduces", "stores"), STEP_BITS),
        "direct": count,
        "expected": count + 1,
        "last_fsm": spec.endpoint.fsms,
    }
    return data.StructLayout(fields)


def receive_layout(spec: SwitchSpec) -> data.StructLayout:
    """Return the layout of a flit to receive: destination and operation."""
    fields = {
        "slot": slot_bits(spec),
        "place": place_bits(spec),
        "address": word_bits(spec),
        "reduce": 1,
        "keep": 1,
        "store": 1,
        "last": 1,
        "fsm": spec.endpoint.fsms,
    }
    return data.StructLayout(fields)


class SendWord(Bundle):
    """The next flit to send, as seen by its virtual channel."""

    valid = member(Out, 1)
    """The channel has a flit to send."""
    take = member(In, 1)
    """The flit is taken."""
    slot = member(Out, slot_bits)
    """Slot of the flit."""
    place = member(Out, place_bits)
    """Place of the flit in the slot."""
    last = member(Out, 1)
    """Whether the flit ends a packet."""


class ReceiveWord(Bundle):
    """The next flit to receive, as seen by its virtual channel."""

    valid = member(Out, 1)
    """The channel expects a flit."""
    take = member(In, 1)
    """The flit has arrived."""
    payload: data.View = member(Out, receive_layout)
    """Description of the expected flit."""
    stored = member(In, 1)
    """High for a cycle per flit that memory has taken."""
    done = member(In, lambda spec: spec.endpoint.fsms)
    """High for a cycle when the last flit of a message is in its slot, and in the queue to
    memory."""
