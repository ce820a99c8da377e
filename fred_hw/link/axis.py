"""Links as AXI4-Stream at the edge of a product, and between units."""

from collections.abc import Iterable, Mapping
from typing import Any

from amaranth.hdl import Cat, Module, Value
from amaranth.lib import stream
from amaranth.lib.wiring import Flow, In, Member, Out

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
    "stream_members",
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


def stream_members(name: str, flow: Flow, shapes: Mapping[str, Any]) -> dict[str, Member]:
    """Return the members ``<name>_<wire>`` of a stream in a direction, ``tready`` opposite.

    Parameters
    ----------
    name : str
        Beginning of the names.
    flow : Flow
        Direction of the flits.
    shapes : mapping of str to ShapeLike
        Shape of each wire.
    """
    return {
        f"{name}_{wire}": (flow.flip() if wire == AXIS_BACK else flow)(shape)
        for wire, shape in shapes.items()
    }


def axis_members(data_width: int, numbers: Iterable[object] = ("",)) -> dict[str, Member]:
    """Return the members of links: ``s<number>_axis_t...`` and ``m<number>_axis_t...``.

    Parameters
    ----------
    data_width : int
        Bits of a flit.
    numbers : iterable, optional
        Number of each link; the only link has none.
    """
    links = [
        stream_members(f"{letter}{number}_axis", flow, axis_widths(data_width))
        for number in numbers
        for letter, flow in (("s", In), ("m", Out))
    ]
    return {name: wire for link in links for name, wire in link.items()}


def join_axis(m: Module, unit: Any, number: int | None, i: LinkFlit, o: stream.Interface) -> None:
    """Connect the streams of a link to its receiving and sending units."""

    def wire(letter: str, name: str) -> Value:
        return getattr(unit, f"{letter}{'' if number is None else number}_axis_t{name}")

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
