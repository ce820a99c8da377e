"""Check of received flits."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from fred_hw.member import member
from fred_hw.protocol import PROTOCOL_VERSION
from fred_hw.spec import SwitchSpec, check_spec, sized_name
from fred_hw.unit import Unit, place

from .crc import FlitCrc
from .flit import LinkFlit
from .header import header_layout

__all__ = ["FlitCheck"]


class FlitCheck(Unit):
    """Check the CRC and the protocol version of each flit.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes.

    Timing
    ------
    Latency : 1 cycle, from ``i`` to ``good`` or ``bad``.
    Throughput : one flit per cycle.
    Paths : none.
    Reset : forgets the flit.
    """

    i: LinkFlit = member(In, lambda u: LinkFlit.signature(u.spec))
    """The link."""
    good = member(Out, 1)
    """High for a cycle per flit of this version with a right CRC."""
    bad = member(Out, 1)
    """High for a cycle per other flit."""
    header: data.View = member(Out, header_layout())
    """Header of the flit."""
    data = member(Out, lambda u: u.spec.data_width)
    """Payload of the flit."""

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = check_spec("FlitCheck", spec)
        self.unit_name = sized_name("flit_check", spec)
        super().__init__()

    def build(self, m: Module) -> None:
        check = place(m, "check", FlitCrc(data_width=self.spec.data_width))
        seen = Signal()
        flit = LinkFlit.signature(self.spec).members
        header, payload, crc = (
            Signal(flit[name].shape, name=f"seen_{name}", reset_less=True)
            for name in ("header", "data", "crc")
        )
        equal = Signal()
        m.d.comb += [
            check.word.eq(Cat(self.i.header.as_value(), self.i.data)),
            equal.eq((crc == check.crc) & (header.version == PROTOCOL_VERSION)),
            self.good.eq(seen & equal),
            self.bad.eq(seen & ~equal),
            self.header.eq(header),
            self.data.eq(payload),
        ]
        m.d.sync += [
            seen.eq(self.i.valid),
            header.eq(self.i.header),
            payload.eq(self.i.data),
            crc.eq(self.i.crc),
        ]
