"""Header of a flit."""

from itertools import pairwise

from amaranth.hdl import Module, Value
from amaranth.lib import data

from fred_hw.protocol import HEADER_BITS, HEADER_FIELDS

__all__ = ["header_layout", "name_flow"]


def header_layout() -> data.Layout:
    """Return the layout of a flit header; see docs/reference/protocol.md."""
    places = HEADER_FIELDS.values()
    fields = {name: data.Field(bits, low) for name, (low, bits) in HEADER_FIELDS.items()}
    # Overlapping parts of fields get a name too: Verilog would otherwise know them only as part of
    # a whole port, and a CRC in that port, computed from it, would look like a loop.
    cuts = sorted({end for low, bits in places for end in (low, low + bits)})
    for low, end in pairwise(cuts):
        if (low, end - low) not in places:
            fields[f"bits_{low}"] = data.Field(end - low, low)
    return data.FlexibleLayout(HEADER_BITS, fields)


def name_flow(m: Module, header: data.View, known: data.View, online: Value) -> None:
    """Write the flow to a header; ``online`` marks a unicast."""
    m.d.comb += header.unicast.eq(online)
    with m.If(online):
        m.d.comb += [header.destination.eq(known.destination), header.source.eq(known.source)]
    with m.Else():
        m.d.comb += [header.phase.eq(known.phase), header.generation.eq(known.generation)]
