"""The link terminator: a link on one side, plain AXI4-Streams on the other."""

from typing import Any

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib.wiring import In, Member, Out

from fred_hw.link.axis import AXIS_BACK, AXIS_WIRES, axis_members
from fred_hw.protocol import DATA_CIRCUITS, DATA_COUNT
from fred_hw.spec import SwitchSpec, check_spec
from fred_hw.unit import Unit, place

from .endpoint import Endpoint
from .flow import flow_layout
from .flow_sender import replay_name

__all__ = ["SEND_CYCLES", "LinkTerminator"]

SEND_CYCLES = 5
"""Cycles from the last flit of a packet to its first flit on the link, if its flow is set."""


class LinkTerminator(Unit):
    """Send and receive packets on a link through AXI4-Streams, one for each virtual channel.

    CRC, credits, acks and retransmission are inside (docs/reference/terminator.md). In the names of
    members, <c> is mp, pp or dp.

    Parameters
    ----------
    spec : SwitchSpec
        Specification of the switch at the other end of the link.

    Members
    -------
    s_axis_tdata, tvalid, tready, tlast, tuser : In(data_width), In(1), Out(1), In(1), In(88)
        Flits from the link, see docs/reference/protocol.md. ``tready`` is always high; ``tlast`` is
        ignored, as the header has it too.
    m_axis_tdata, tvalid, tready, tlast, tuser : Out(data_width), Out(1), In(1), Out(1), Out(88)
        Flits to the link.
    s_axis_<c>_tdata, tvalid, tready, tlast : In(data_width), In(1), Out(1), In(1)
        Packets to send.
    s_axis_<c>_tdest : In(flow_layout(spec))
        Flow of a packet, with its first flit. When the flow changes, the first flit waits until all
        packets before are acknowledged.
    m_axis_<c>_tdata, tvalid, tready, tlast : Out(data_width), Out(1), In(1), Out(1)
        Received packets.
    receive_flow_<c> : In(flow_layout(spec))
        Flow to receive. It may change when everything wanted of the flow before has arrived.
    address : In(address)
        Address of this end in the fabric; constant.
    session_id : In(session_id)
        See ``LinkSession``.
    forget : In(phases)
        As of ``Endpoint``; 0 if phases are never rewritten.
    up, refused : Out(1)
        Whether the link is up; high for a cycle for each handshake of an incompatible neighbour.
    idle : Out(3)
        Whether all packets taken on each channel are acknowledged.
    rewinds : Out(3)
        High for a cycle when packets of a channel will be retransmitted.
    dropped, unknown : Out(1)
        High for a cycle for each flit that is dropped because it is broken, or because its flow is
        not received.
    error : Out(1)
        High for a cycle for each flit that no correct neighbour sends.

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

    address: Signal
    session_id: Signal
    forget: Signal
    up: Signal
    refused: Signal
    idle: Signal
    rewinds: Signal
    dropped: Signal
    unknown: Signal
    error: Signal

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = check_spec("LinkTerminator", spec)
        self.unit_name = replay_name("terminator", spec)
        fields, flow = spec.protocol.fields, flow_layout(spec)
        members: dict[str, Member] = axis_members(None, spec.data_width)
        for name in DATA_CIRCUITS:
            members |= {
                f"s_axis_{name}_tdata": In(spec.data_width),
                f"s_axis_{name}_tvalid": In(1),
                f"s_axis_{name}_tready": Out(1),
                f"s_axis_{name}_tlast": In(1),
                f"s_axis_{name}_tdest": In(flow),
                f"m_axis_{name}_tdata": Out(spec.data_width),
                f"m_axis_{name}_tvalid": Out(1),
                f"m_axis_{name}_tready": In(1),
                f"m_axis_{name}_tlast": Out(1),
                f"receive_flow_{name}": In(flow),
            }
        members |= {
            "address": In(fields["source"]),
            "session_id": In(fields["session_id"]),
            "forget": In(spec.protocol.phases),
            "idle": Out(DATA_COUNT),
            "rewinds": Out(DATA_COUNT),
        }
        strobes = ("up", "refused", "dropped", "unknown", "error")
        super().__init__(members | {name: Out(1) for name in strobes})

    def build(self, m: Module) -> None:
        link = place(m, "link", Endpoint(spec=self.spec))
        for side in "sm":
            for name in AXIS_WIRES:
                own, inner = (getattr(one, f"{side}_axis_{name}") for one in (self, link))
                m.d.comb += inner.eq(own) if (side == "s") != (name == AXIS_BACK) else own.eq(inner)
        for k, name in enumerate(DATA_CIRCUITS):
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
