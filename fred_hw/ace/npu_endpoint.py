"""The collective endpoint: the link endpoint and the collective engine."""

from amaranth.hdl import Cat, Const, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from fred_hw.control.axi_lite import axi_lite_members, pass_axi_lite
from fred_hw.endpoint.endpoint import Endpoint
from fred_hw.link.axis import AXIS_BACK, AXIS_WIRES, axis_members, stream_members
from fred_hw.member import member, members
from fred_hw.per_class import per_class
from fred_hw.protocol import HEADER_FIELDS
from fred_hw.spec import SwitchSpec, check_spec
from fred_hw.unit import Unit, place

from .endpoint_map import endpoint_map
from .engine import AceEngine
from .memory_port import READ_PORTS, MemoryPort
from .work import ADDRESS_BITS, word_bits

__all__ = ["BEGIN_CYCLES", "END_CYCLES", "NpuEndpoint"]

BEGIN_CYCLES = 14
"""Cycles from COMMAND accepted to the first memory read; for a ring, members + 3 more."""

END_CYCLES = 4
"""Cycles from the last flit accepted by memory to ``irq``; COMPLETED and DONE change a cycle
earlier."""


_OFFER = {"tvalid": 1, "tready": 1}


class NpuEndpoint(Unit):
    """Execute an NPU's part of collectives (docs/reference/endpoint.md).

    Parameters
    ----------
    spec : SwitchSpec
        Specification of the switch or router at the other end of the link; flits must have a power
        of two of bytes.

    Timing
    ------
    Latency : 14 cycles from a descriptor's COMMAND taken to the first read of memory, 4 from the
        last flit that memory takes to ``irq``.
    Throughput : a flit out and one in per cycle, and one read on each port, chunk after chunk,
        where parts have 5 flits or more.
    Paths : none.
    Reset : forgets all, and begins the link anew; what memory still reads must be forgotten too.
    """

    link_axis = members(lambda u: axis_members(u.spec.data_width))
    """Flits from the link (``s_axis``) and to it (``m_axis``), see docs/reference/protocol.md.
    ``s_axis_tready`` is always high. ``s_axis_tlast`` is ignored, since the header has the same
    information."""
    m_axis_read = members(
        lambda u: stream_members("m_axis_read", Out, {**_OFFER, "tdata": ADDRESS_BITS})
    )
    """Addresses of flits to read from memory [bytes]."""
    s_axis_data = members(
        lambda u: stream_members("s_axis_data", In, {**_OFFER, "tdata": u.spec.data_width})
    )
    """Flits from memory, in the order of the addresses."""
    m_axis_operand_read = members(
        lambda u: stream_members("m_axis_operand_read", Out, {**_OFFER, "tdata": ADDRESS_BITS}),
        when=lambda u: u.spec.endpoint.read_ports == 2,
    )
    """If ``endpoint.read_ports`` is 2: addresses of flits in memory that are added to received
    flits. Each port continues while the other one waits."""
    s_axis_operand_data = members(
        lambda u: stream_members("s_axis_operand_data", In, {**_OFFER, "tdata": u.spec.data_width}),
        when=lambda u: u.spec.endpoint.read_ports == 2,
    )
    """If ``endpoint.read_ports`` is 2: the flits to add, in the order of the addresses."""
    m_axis_write = members(
        lambda u: stream_members(
            "m_axis_write", Out, {**_OFFER, "tdata": u.spec.data_width, "tuser": ADDRESS_BITS}
        )
    )
    """Writes to memory: the flits, and in ``tuser`` their addresses [bytes]. A write that memory
    has taken counts as complete."""
    s_axil = members(lambda u: axi_lite_members(endpoint_map(u.spec).address_bits))
    """AXI4-Lite slave of the registers, whose page ``fred gen`` writes."""
    irq = member(Out, 1)
    """High while an enabled bit of ERROR or DONE is set."""
    session_id = member(In, HEADER_FIELDS["session_id"].bits)
    """Session ID: another number after each reset, constant between resets."""

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = check_spec("NpuEndpoint", spec)
        sizes = f"{spec.protocol.suffix}_{spec.endpoint.suffix}"
        self.unit_name = f"npu_p{spec.ports}_{spec.suffix(crosses=False)}_endpoint_{sizes}"
        super().__init__()

    def build(self, m: Module) -> None:
        link = place(m, "link", Endpoint(spec=self.spec))
        engine = place(m, "engine", AceEngine(spec=self.spec))
        pass_axi_lite(m, self, engine)
        self._memory(m, engine.memory)
        for side in "sm":
            for name in AXIS_WIRES:
                own, inner = (getattr(one, f"{side}_axis_{name}") for one in (self, link))
                m.d.comb += inner.eq(own) if (side == "s") != (name == AXIS_BACK) else own.eq(inner)
        for k in range(per_class(self)):
            wiring.connect(m, engine.send[k], link.send[k])
            wiring.connect(m, link.receive[k], engine.receive[k])
        m.d.comb += [
            link.session_id.eq(self.session_id),
            link.address.eq(engine.address),
            link.send_flow.eq(engine.send_flow),
            link.receive_flow.eq(engine.receive_flow),
            link.send_clear.eq(engine.send_clear),
            link.receive_clear.eq(engine.receive_clear),
            link.forget.eq(engine.forget),
            link.receive_enough.eq(engine.receive_enough),
            engine.receive_came.eq(link.receive_came),
            engine.idle.eq(link.idle),
            engine.up.eq(link.up),
            engine.partner.eq(link.refused),
            engine.link.eq(Cat(link.kind_error, link.length_error, link.overflow).any()),
            engine.rewinds.eq(link.rewinds.any()),
            engine.dropped.eq(link.dropped),
            self.irq.eq(engine.irq),
        ]

    def _memory(self, m: Module, memory: MemoryPort) -> None:
        """Map the memory port to AXI4-Stream names, with addresses in bytes."""
        zeros = Const(0, ADDRESS_BITS - word_bits(self.spec))
        for prefix in READ_PORTS[: self.spec.endpoint.read_ports]:
            read, words = (getattr(memory, f"{prefix}{name}") for name in ("read", "data"))
            asks, comes = f"m_axis_{prefix}read", f"s_axis_{prefix}data"
            m.d.comb += [
                getattr(self, f"{asks}_tvalid").eq(read.valid),
                read.ready.eq(getattr(self, f"{asks}_tready")),
                getattr(self, f"{asks}_tdata").eq(Cat(zeros, read.payload)),
                words.valid.eq(getattr(self, f"{comes}_tvalid")),
                getattr(self, f"{comes}_tready").eq(words.ready),
                words.payload.eq(getattr(self, f"{comes}_tdata")),
            ]
        m.d.comb += [
            self.m_axis_write_tvalid.eq(memory.write.valid),
            memory.write.ready.eq(self.m_axis_write_tready),
            self.m_axis_write_tdata.eq(memory.write.payload.data),
            self.m_axis_write_tuser.eq(Cat(zeros, memory.write.payload.address)),
        ]
