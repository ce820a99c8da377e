"""The link terminator: a link on one side, plain AXI4-Streams on the other."""

from typing import Any

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib.wiring import In, Member, Out

from fred_hw.link.axis import AXIS_BACK, AXIS_WIRES, axis_members, axis_widths, stream_members
from fred_hw.member import member, members
from fred_hw.per_class import channels_of, per_class
from fred_hw.spec import SwitchSpec, check_spec
from fred_hw.unit import Unit, place

from .endpoint import Endpoint
from .flow import flow_layout
from .flow_sender import replay_name

__all__ = ["SEND_CYCLES", "LinkTerminator"]

SEND_CYCLES = 5
"""Cycles from the last flit of a packet to its first flit on the link, if its flow is set."""


def _channel_members(spec: SwitchSpec) -> dict[str, Member]:
    """Return the members of all virtual channels."""
    widths, flow = axis_widths(spec.data_width), flow_layout(spec)
    packets = {wire: widths[wire] for wire in ("tdata", "tvalid", "tready", "tlast")}
    found: dict[str, Member] = {}
    for name in channels_of(spec).names:
        found |= stream_members(f"s_axis_{name}", In, {**packets, "tdest": flow})
        found |= stream_members(f"m_axis_{name}", Out, packets)
        found[f"receive_flow_{name}"] = In(flow)
    return found


class LinkTerminator(Unit):
    """Send and receive packets on a link through AXI4-Streams, one for each virtual channel.

    CRC, credits, acks and retransmission are inside (docs/reference/terminator.md). In the names of
    members, <c> is mp, pp or dp.

    Parameters
    ----------
    spec : SwitchSpec
        Specification of the switch at the other end of the link.

    Timing
    ------
    Latency : 5 cycles from the last flit of a packet to its first flit on the link, and 2 more if
        the flow changes; 2 from the link to ``m_axis_<c>``.
    Throughput : one flit per cycle in each direction, without a gap between packets of a flow.
    Paths : ``s_axis_<c>_tvalid`` and ``tdest`` to ``s_axis_<c>_tready``.
    Reset : forgets all packets and begins the link anew.

    Raises
    ------
    TypeError
        ``spec`` is no specification of a switch.
    """

    link_axis = members(lambda u: axis_members(u.spec.data_width))
    """Flits from the link (``s_axis``) and to it (``m_axis``), see docs/reference/protocol.md.
    ``s_axis_tready`` is always high. ``s_axis_tlast`` is ignored, since the header has the same
    information."""
    channels = members(lambda u: _channel_members(u.spec))
    """Of each channel <c>: packets to send (``s_axis_<c>``), received packets (``m_axis_<c>``), and
    the flow to receive (``receive_flow_<c>``). ``tdest`` is the flow of a packet, with its first
    flit. When the flow changes, the first flit waits until all packets before are acknowledged. The
    flow to receive may change when everything wanted of the flow before has arrived."""
    address = member(In, lambda u: u.spec.protocol.fields["source"])
    """Address of this end in the fabric; constant."""
    session_id = member(In, lambda u: u.spec.protocol.fields["session_id"])
    """See ``LinkSession``."""
    forget = member(In, lambda u: u.spec.protocol.phases)
    """As of ``Endpoint``; 0 if phases are never rewritten."""
    idle = member(Out, per_class)
    """Whether all packets taken on each channel are acknowledged."""
    rewinds = member(Out, per_class)
    """High for a cycle when packets of a channel will be retransmitted."""
    up = member(Out, 1)
    """Whether the link is up."""
    refused = member(Out, 1)
    """High for a cycle for each handshake of an incompatible neighbour."""
    dropped = member(Out, 1)
    """High for a cycle for each flit that is dropped because it is broken."""
    unknown = member(Out, 1)
    """High for a cycle for each flit that is dropped because its flow is not received."""
    error = member(Out, 1)
    """High for a cycle for each flit that no correct neighbour sends."""

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = check_spec("LinkTerminator", spec)
        self.unit_name = replay_name("terminator", spec)
        super().__init__()

    def build(self, m: Module) -> None:
        link = place(m, "link", Endpoint(spec=self.spec))
        for side in "sm":
            for name in AXIS_WIRES:
                own, inner = (getattr(one, f"{side}_axis_{name}") for one in (self, link))
                m.d.comb += inner.eq(own) if (side == "s") != (name == AXIS_BACK) else own.eq(inner)
        for k, name in enumerate(channels_of(self).names):
            self._send(m, link, k, name)
            self._receive(m, link, k, name)
        m.d.comb += [
            link.address.eq(self.address),
            link.session_id.eq(self.session_id),
            link.forget.eq(self.forget),
            self.up.eq(link.up),
            self.refused.eq(link.refused),
            self.idle.eq(link.idle),
            self.rewinds.eq(link.rewinds),
            self.dropped.eq(link.dropped),
            self.unknown.eq(link.unknown),
            self.error.eq(Cat(link.kind_error, link.length_error, link.overflow).any()),
        ]

    def _wire(self, name: str) -> Any:
        return getattr(self, name)

    def _send(self, m: Module, link: Endpoint, k: int, name: str) -> None:
        """Connect a channel's packets to send; the first flit of a packet sets its flow."""
        send, flow = link.send[k], Signal(flow_layout(self.spec), name=f"flow_{name}")
        inside, ready = Signal(name=f"inside_{name}"), Signal(name=f"ready_{name}")
        wanted: Value = self._wire(f"s_axis_{name}_tdest").as_value()
        valid, last = (self._wire(f"s_axis_{name}_{wire}") for wire in ("tvalid", "tlast"))
        m.d.comb += [
            ready.eq(inside | (wanted == flow.as_value())),
            send.valid.eq(valid & ready),
            send.data.eq(self._wire(f"s_axis_{name}_tdata")),
            send.last.eq(last),
            # Sources may leave tdest undefined while they offer nothing.
            self._wire(f"s_axis_{name}_tready").eq(send.ready & send.valid),
            link.send_flow[k].as_value().eq(flow.as_value()),
        ]
        with m.If(send.valid & send.ready):
            m.d.sync += inside.eq(~last)
        with m.If(valid & ~ready & link.idle[k]):
            m.d.sync += flow.as_value().eq(wanted)

    def _receive(self, m: Module, link: Endpoint, k: int, name: str) -> None:
        """Connect a channel's received packets."""
        receive = link.receive[k]
        m.d.comb += [
            self._wire(f"m_axis_{name}_tvalid").eq(receive.valid),
            self._wire(f"m_axis_{name}_tdata").eq(receive.data),
            self._wire(f"m_axis_{name}_tlast").eq(receive.last),
            receive.ready.eq(self._wire(f"m_axis_{name}_tready")),
            link.receive_flow[k].eq(self._wire(f"receive_flow_{name}")),
        ]
