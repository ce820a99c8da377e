"""Load of a router's outputs, as reported to its neighbours."""

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import Out

__all__ = [
    "CROWDING_BITS",
    "CROWDING_PLACES",
    "Crowding",
    "crowding_layout",
    "crowding_signature",
    "read_crowding",
    "write_crowding",
]

CROWDING_BITS = 4
"""Of how crowded a way is: packets that wait for it at the heads of queues, up to 7, and above them
whether there is no space for one of them, so that it is blocked."""

CROWDING_PLACES = {
    "north": ("index", 0),
    "east": ("last", 0),
    "south": ("link_sequence", 0),
    "west": ("link_sequence", CROWDING_BITS),
}
"""By direction, field of the header and first bit there of how crowded it is, without gaps.

Acks, nacks and credits have no use for these fields. Asks for credits have one for the link
sequence number.
"""


class Crowding(wiring.PureInterface):
    """What came from a router."""

    valid: Signal
    payload: data.View


def crowding_layout() -> data.StructLayout:
    """Return the layout of the load of each output of a router, by direction."""
    return data.StructLayout(dict.fromkeys(CROWDING_PLACES, CROWDING_BITS))


def crowding_signature() -> wiring.Signature:
    """Return the signature of the load that a neighbour reports.

    Members
    -------
    valid : Out(1)
        High for one cycle when it was told.
    payload : Out(crowding_layout())
        How crowded they are.
    """
    return wiring.Signature({"valid": Out(1), "payload": Out(crowding_layout())})


def write_crowding(m: Module, header: data.View, crowding: data.View) -> None:
    """Write the load of outputs into a header."""
    # Whole fields: tools take parts of them for loops through the CRC.
    fields: dict[str, list[Value]] = {}
    for name, (field, _) in CROWDING_PLACES.items():
        fields.setdefault(field, []).append(crowding[name])
    m.d.comb += [header[field].eq(Cat(values)) for field, values in fields.items()]


def read_crowding(m: Module, header: data.View, crowding: data.View) -> None:
    """Read the load of outputs from a header."""
    for name, (field, low) in CROWDING_PLACES.items():
        m.d.comb += crowding[name].eq(header[field][low : low + CROWDING_BITS])
