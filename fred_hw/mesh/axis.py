"""Links on AXI4-Stream, and between units."""

from typing import Any

from amaranth.hdl import Cat, Module, Value
from amaranth.lib import stream
from amaranth.lib.wiring import In, Member, Out

from fred_hw.link.flit import LinkFlit
from fred_hw.switch.switch import USER_BITS

__all__ = ["axis_members", "axis_wire", "join_axis"]


def axis_members(number: int, data_width: int) -> dict[str, Member]:
    """Return the members of a link: ``s<number>_axis_t...`` and ``m<number>_axis_t...``."""
    members: dict[str, Member] = {}
    for letter, forth, back in (("s", In, Out), ("m", Out, In)):
        members |= {
            f"{letter}{number}_axis_tdata": forth(data_width),
            f"{letter}{number}_axis_tvalid": forth(1),
            f"{letter}{number}_axis_tready": back(1),
            f"{letter}{number}_axis_tlast": forth(1),
            f"{letter}{number}_axis_tuser": forth(USER_BITS),
        }
    return members


def axis_wire(unit: Any, letter: str, number: int, name: str) -> Value:
    """Return the wire ``s<number>_axis_t<name>`` of a unit."""
    return getattr(unit, f"{letter}{number}_axis_t{name}")


def join_axis(m: Module, unit: Any, number: int, i: LinkFlit, o: stream.Interface) -> None:
    """Connect the streams of a link to what comes from it and goes to it."""
    into = {name: axis_wire(unit, "s", number, name) for name in ("valid", "data", "user", "ready")}
    out = {
        name: axis_wire(unit, "m", number, name)
        for name in ("valid", "data", "user", "last", "ready")
    }
    flit = o.payload
    m.d.comb += [
        i.valid.eq(into["valid"]),
        i.data.eq(into["data"]),
        Cat(i.header.as_value(), i.crc).eq(into["user"]),
        into["ready"].eq(1),
        out["valid"].eq(o.valid),
        out["data"].eq(flit.data),
        out["user"].eq(Cat(flit.header.as_value(), flit.crc)),
        out["last"].eq(flit.last),
        o.ready.eq(out["ready"]),
    ]
