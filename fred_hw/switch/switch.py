"""The whole switch: a core with AXI4-Stream ports and AXI4-Lite registers."""

from amaranth.hdl import Cat, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from fred_hw.control.axi_lite import axi_lite_members, pass_axi_lite
from fred_hw.control.switch_map import switch_map
from fred_hw.control.unit import ControlUnit
from fred_hw.link.axis import axis_members, join_axis
from fred_hw.link.session import LinkSession
from fred_hw.member import member, members
from fred_hw.protocol import HEADER_FIELDS
from fred_hw.spec import SwitchSpec, check_spec
from fred_hw.unit import Unit, place

from .core import SwitchCore

__all__ = ["ADDED_CYCLES", "Switch"]

ADDED_CYCLES = 10
"""Latency of a lone flit in addition to the interconnect [cycles]."""


class Switch(Unit):
    """The whole switch with its links (docs/explanation/switch.md).

    Parameters
    ----------
    spec : SwitchSpec
        The switch.

    Timing
    ------
    Latency : 10 cycles and those of the interconnect, from the first flit of a lone packet on a
        port to the same flit offered.
    Throughput : one flit per port and cycle, without a gap between packets but for unicasts of one
        flit from a source to different destinations, which go in every other cycle.
    Paths : none.
    Reset : forgets all packets and phases, and begins all links anew.
    """

    link_axes = members(lambda u: axis_members(u.spec.data_width, range(u.spec.ports)))
    """Flits from port k (``s<k>_axis``) and to it (``m<k>_axis``), see docs/reference/protocol.md.
    ``s<k>_axis_tready`` is always high. ``s<k>_axis_tlast`` is ignored, since the header has the
    same information."""
    s_axil = members(lambda u: axi_lite_members(switch_map(u.spec).address_bits))
    """AXI4-Lite slave of the registers in docs/reference/registers.md."""
    irq = member(Out, 1)
    """High while an enabled error is set."""
    session_id = member(In, HEADER_FIELDS["session_id"].bits)
    """Session ID: another number after each reset, constant between resets."""

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = check_spec("Switch", spec)
        self.unit_name = f"{spec.name}_switch_{spec.protocol.suffix}"
        super().__init__()

    def build(self, m: Module) -> None:
        core = place(m, "core", SwitchCore(spec=self.spec))
        control = place(m, "control", ControlUnit(spec=self.spec))
        ports = range(self.spec.ports)
        sessions = [place(m, f"link_{k}", LinkSession(spec=self.spec)) for k in ports]
        for k, session in enumerate(sessions):
            join_axis(m, self, k, core.i[k], core.o[k])
            wiring.connect(m, session.link, core.links[k])
            m.d.comb += session.session_id.eq(self.session_id)
        pass_axi_lite(m, self, control)
        wiring.connect(m, control.table, core.table)
        wiring.connect(m, core.counts, control.counts)
        wiring.connect(m, core.errors, control.errors)
        m.d.comb += [
            control.links.eq(Cat(session.up for session in sessions)),
            self.irq.eq(control.irq),
            control.active.eq(core.active),
            control.active_phase.eq(core.phase),
            control.queued.eq(core.queued),
            control.unicasts.eq(core.unicasts),
            core.routes.eq(control.routes),
        ]
