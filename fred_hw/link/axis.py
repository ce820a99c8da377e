"""Links as AXI4-Stream at the edge of a product, and between units."""

from typing import Any

from amaranth.hdl import Cat, Module, Value
from amaranth.lib import stream
from amaranth.lib.wiring import In, Member, Out

from fred_hw.protocol import CRC_BITS, HEADER_BITS

from .flit import LinkFlit

__all__ = [
    "AXIS_BACK",
    "AXIS_FORTH",
    "AXIS_WIRES",
    "USER_BITS",
    "axis_members",
    "axis_widths",
    "join_axis",
]

USER_BITS = HEADER_BITS + CRC_BITS
"""Width of ``tuser``: header and CRC."""


def axis_widths(data_width: int) -> dict[str, int]:
    """Return the width of each wire of a stream."""
    return {"tdata": data_width, "tvalid": 1, "tready": 1, "tlast": 1, "tuser": USER_BITS}


AXIS_WIRES = tuple(axis_widths(1))
AXIS_BACK = "tready"
"""The wire that runs opposite to the flits."""
AXIS_FORTH = tuple(wire for wire in AXIS_WIRES if wire != AXIS_BACK)


def axis_members(number: int | None, data_width: int) -> dict[str, Member]:
    """Return the members of a link: ``s<number>_axis_t...`` and ``m<number>_axis_t...``.

    The number is left out if there is only one link.
    """
    return {
        _name(letter, number, wire): (back if wire == AXIS_BACK else forth)(bits)
        for letter, forth, back in (("s", In, Out), ("m", Out, In))
        for wire, bits in axis_widths(data_width).items()
    }


def _name(letter: str, number: int | None, wire: str) -> str:
    return f"{letter}{'' if number is None else number}_axis_{wire}"


def join_axis(m: Module, unit: Any, number: int | None, i: LinkFlit, o: stream.Interface) -> None:
    """Connect the streams of a link to its receiving and sending units."""

    def wire(letter: str, name: str) -> Value:
        return getattr(unit, _name(letter, number, f"t{name}"))

    flit = o.payload
    m.d.comb += [
        i.valid.eq(wire("s", "valid")),
        i.data.eq(wire("s", "data")),
        wire("m", "valid").eq(o.valid),
        wire("m", "data").eq(flit.data),
        wire("m", "last").eq(flit.last),
        o.ready.eq(wire("m", "ready")),
        wire("s", "ready").eq(1),
        Cat(i.header.as_value(), i.crc).eq(wire("s", "user")),
        wire("m", "user").eq(Cat(flit.header.as_value(), flit.crc)),
    ]
