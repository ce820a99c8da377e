"""Load of a router's outputs, as reported to its neighbours."""

from amaranth.hdl import Cat, Module, Value
from amaranth.lib import data
from amaranth.lib.wiring import Out

from fred_hw.member import Bundle, member

__all__ = [
    "CROWDING_BITS",
    "CROWDING_PLACES",
    "Crowding",
    "crowding_layout",
    "read_crowding",
    "write_crowding",
]

CROWDING_BITS = 4
"""Bits of an output's load: packets waiting for it at the heads of queues, up to 7, and above these
a bit for no buffer space for such a packet, which blocks the output."""

CROWDING_PLACES = {
    "north": ("index", 0),
    "east": ("last", 0),
    "south": ("link_sequence", 0),
    "west": ("link_sequence", CROWDING_BITS),
}
"""By direction, the header field and first bit of the output's load, without gaps.

Acks, nacks and credits do not use these fields. Credit requests need one for a sequence number.
"""


def crowding_layout() -> data.StructLayout:
    """Return the layout of the load of each output of a router, by direction."""
    return data.StructLayout(dict.fromkeys(CROWDING_PLACES, CROWDING_BITS))


def write_crowding(m: Module, header: data.View, crowding: data.View) -> None:
    """Write the load of outputs to a header."""
    # Assign whole fields: tools take assignments of parts for loops through the CRC.
    fields: dict[str, list[Value]] = {}
    for name, (field, _) in CROWDING_PLACES.items():
        fields.setdefault(field, []).append(crowding[name])
    m.d.comb += [header[field].eq(Cat(values)) for field, values in fields.items()]


def read_crowding(m: Module, header: data.View, crowding: data.View) -> None:
    """Read the load of outputs from a header."""
    for name, (field, low) in CROWDING_PLACES.items():
        m.d.comb += crowding[name].eq(header[field][low : low + CROWDING_BITS])


class Crowding(Bundle):
    """Load report received from a router."""

    valid = member(Out, 1)
    """High for one cycle with each report."""
    payload: data.View = member(Out, crowding_layout())
    """The reported load."""
