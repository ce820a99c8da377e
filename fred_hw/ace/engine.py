"""The collective engine: everything of an endpoint except the link."""

from amaranth.hdl import Cat, Module
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from fred_hw.control.axi_lite import axi_lite_members, pass_axi_lite
from fred_hw.endpoint.flow import flow_layout
from fred_hw.gates.select import sum_of
from fred_hw.link.packet_stream import PayloadStream
from fred_hw.member import member, members
from fred_hw.per_class import array_per_class, channels_of, per_class
from fred_hw.spec import SwitchSpec, check_spec
from fred_hw.unit import Unit, place

from .channel import AceChannel
from .control import AceControl
from .endpoint_map import COUNTERS, endpoint_map
from .intake import AceIntake
from .memory_port import READ_PORTS, MemoryPort
from .outlet import AceOutlet
from .reader import AceReader
from .scratchpad import AceScratchpad
from .work import sizes_name

__all__ = ["AceEngine"]


class AceEngine(Unit):
    """Execute collectives on memory, over the packet streams of a link endpoint.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes; flits must have a power of two of bytes.

    Timing
    ------
    Latency : 14 cycles from a descriptor's COMMAND taken to the first read of memory.
    Throughput : a flit out and one in per cycle, and one read on each port, chunk after chunk,
        where parts have 5 flits or more.
    Paths : ``receive.valid`` to ``receive.ready``.
    Reset : forgets all descriptors and flits; what memory still reads must be forgotten too.
    """

    s_axil = members(lambda u: axi_lite_members(endpoint_map(u.spec).address_bits))
    """AXI4-Lite slave of the registers in docs/reference/endpoint.md."""
    irq = member(Out, 1)
    """High while an error is set or a descriptor is done for which the interrupt is enabled."""
    memory: MemoryPort = member(Out, lambda u: MemoryPort.signature(u.spec))
    """Reads and writes of the NPU's memory."""
    send: list[PayloadStream] = member(
        Out, lambda u: PayloadStream.signature(u.spec), array=per_class
    )
    """Packets to send, of each channel."""
    receive: list[PayloadStream] = member(
        In, lambda u: PayloadStream.signature(u.spec), array=per_class
    )
    """Received packets, of each channel."""
    send_flow: data.View = member(Out, array_per_class(lambda u: flow_layout(u.spec)))
    """Flows of the packets in ``send``."""
    receive_flow: data.View = member(Out, array_per_class(lambda u: flow_layout(u.spec)))
    """Flows of the packets in ``receive``."""
    send_clear = member(Out, per_class)
    """See ``Endpoint``."""
    receive_clear = member(Out, per_class)
    """See ``Endpoint``."""
    forget = member(Out, lambda u: u.spec.protocol.phases)
    """See ``Endpoint``."""
    receive_enough = member(Out, per_class)
    """See ``Endpoint``."""
    receive_came = member(In, per_class)
    """See ``Endpoint``."""
    idle = member(In, per_class)
    """See ``Endpoint``."""
    up = member(In, 1)
    """See ``Endpoint``."""
    address = member(Out, lambda u: u.spec.protocol.fields["source"])
    """Address of this endpoint in the fabric."""
    partner = member(In, 1)
    """The neighbour is incompatible; counted and reported."""
    link = member(In, 1)
    """The link has an error; counted and reported."""
    rewinds = member(In, 1)
    """Packets will be retransmitted; counted."""
    dropped = member(In, 1)
    """A flit is dropped; counted."""

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = check_spec("AceEngine", spec)
        self.unit_name = sizes_name("ace_engine", spec)
        super().__init__()

    def build(self, m: Module) -> None:
        control = place(m, "control", AceControl(spec=self.spec))
        prefixes = READ_PORTS[: self.spec.endpoint.read_ports]
        readers = {one: place(m, f"{one}reader", AceReader(spec=self.spec)) for one in prefixes}
        scratchpad = place(m, "scratchpad", AceScratchpad(spec=self.spec))
        intake = place(m, "intake", AceIntake(spec=self.spec))
        outlet = place(m, "outlet", AceOutlet(spec=self.spec))
        pass_axi_lite(m, self, control)
        for prefix, reader in readers.items():
            self._read(m, prefix, reader, scratchpad)
        wiring.connect(m, intake.write, wiring.flipped(self.memory.write))
        wiring.connect(m, intake.operand, scratchpad.operand)
        wiring.connect(m, outlet.slots, scratchpad.send)
        m.d.comb += [
            scratchpad.stores.eq(intake.stores),
            scratchpad.store.eq(intake.store),
            self.irq.eq(control.irq),
            self.address.eq(control.address),
            self.send_clear.eq(control.send_clear),
            self.receive_clear.eq(control.receive_clear),
            self.forget.eq(control.forget),
            # The link does not know of flits for which it has no place yet.
            control.idle.eq(self.idle & ~Cat(one.valid for one in outlet.send)),
            control.up.eq(self.up),
            control.partner.eq(self.partner),
            control.link.eq(self.link),
        ]
        for k, name in enumerate(channels_of(self).names):
            channel = place(m, f"channel_{name}", AceChannel(spec=self.spec))
            for prefix, reader in readers.items():
                wiring.connect(m, getattr(channel, f"{prefix}requests"), reader.i[k])
            wiring.connect(m, channel.send, outlet.words[k])
            wiring.connect(m, channel.receive, intake.words[k])
            wiring.connect(m, outlet.send[k], wiring.flipped(self.send[k]))
            wiring.connect(m, wiring.flipped(self.receive[k]), intake.receive[k])
            m.d.comb += [
                channel.i.valid.eq(control.valid[k]),
                channel.i.payload.eq(control.work),
                control.ready[k].eq(channel.i.ready),
                channel.begun.eq(readers[prefixes[0]].begun[k]),
                channel.loaded.eq(readers[prefixes[-1]].loaded[k]),
                channel.idle.eq(control.idle[k]),
                self.send_flow[k].eq(channel.send_flow),
                self.receive_flow[k].eq(channel.receive_flow),
                channel.came.eq(self.receive_came[k]),
                self.receive_enough[k].eq(channel.enough),
                control.busy[k].eq(channel.busy),
                control.done[k].eq(channel.done),
            ]
        self._count(m, control, intake, scratchpad)

    def _read(self, m: Module, prefix: str, reader: AceReader, scratchpad: AceScratchpad) -> None:
        """Connect a reader between its memory port and the slots."""
        wiring.connect(m, reader.read, wiring.flipped(getattr(self.memory, f"{prefix}read")))
        wiring.connect(m, wiring.flipped(getattr(self.memory, f"{prefix}data")), reader.data)
        m.d.comb += [
            getattr(scratchpad, f"{prefix}loads").eq(reader.valid),
            getattr(scratchpad, f"{prefix}load").eq(reader.o),
            reader.ready.eq(getattr(scratchpad, f"{prefix}loads_ready")),
        ]

    def _count(
        self, m: Module, control: AceControl, intake: AceIntake, scratchpad: AceScratchpad
    ) -> None:
        """Connect the events that are counted."""
        memory = self.memory
        reads = [
            getattr(memory, f"{prefix}read")
            for prefix in READ_PORTS[: self.spec.endpoint.read_ports]
        ]
        events = {
            "cycles": 1,
            "memory_reads": sum_of(one.valid & one.ready for one in reads),
            "memory_writes": memory.write.valid & memory.write.ready,
            "read_stalls": sum_of(one.valid & ~one.ready for one in reads),
            "write_stalls": memory.write.valid & ~memory.write.ready,
            "flits_sent": scratchpad.send.valid & scratchpad.send.ready,
            "flits_received": Cat(one.valid & one.ready for one in self.receive).any(),
            "flits_reduced": intake.reduced,
            "rewinds": self.rewinds,
            "dropped": self.dropped,
        }
        m.d.comb += [
            control.counts.word_select(k, len(reads)).eq(events[name])
            for k, name in enumerate(COUNTERS)
        ]
