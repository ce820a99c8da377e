"""The switch core: ports, scheduler and configuration memory around an interconnect."""

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from fred_hw.control.phase_entry import entry_bits, entry_fields
from fred_hw.datapath.interconnect import Interconnect, latency_cycles
from fred_hw.gates.fsm import Fsm
from fred_hw.gates.select import any_of, one_hot_mux, round_robin, selected
from fred_hw.link.flit import framed_signature, link_flit_signature
from fred_hw.link.packet_stream import packet_signature
from fred_hw.protocol import DATA_CIRCUITS
from fred_hw.spec import SwitchSpec
from fred_hw.switch.ports.input_port import InputPort
from fred_hw.switch.ports.output_port import OutputPort
from fred_hw.unit import Unit, place

from .acknowledger import Acknowledger
from .entry_check import EntryCheck
from .flow_sequencer import FlowSequencer
from .scheduler import Scheduler
from .unicast_router import UnicastRouter

__all__ = ["SwitchCore", "errors"]


COUNT = len(DATA_CIRCUITS)


def errors(spec: SwitchSpec) -> tuple[str, ...]:
    """Return what can be wrong with the packets of a port."""
    return ("phase", "length", "kind", *(("overflow", "stuck") if spec.protocol.link else ()))


class SwitchCore(Unit):
    """Carry packets of flows from ports to ports, phase by phase.

    A phase is a set of flows that the interconnect carries at once. A flow starts a packet when
    all of its inputs have it at the head of the phase's circuit and all of its outputs have room
    for all of it; then a flit goes in whenever all inputs have one. With the link layer
    all inputs must have the packet of the number that is due, so a reduction only ever adds
    flits of equal place of packets of equal number. Which phase is served is the scheduler's
    choice. Packets of the default index are unicast, on paths that are found as they come.

    Parameters
    ----------
    spec : SwitchSpec
        The switch.

    Members
    -------
    i, o : In and Out(link flit or packet stream).array(P)
        Packets from and to the ports.
    write, number, entry, done, accepted : In(1), In, In, Out(1), Out(1)
        Write the entry of a phase, only while it has no packet in the switch; all stay until
        ``done``, which says whether it was accepted. Numbers of its packets start at 0 again.
    stored : Out
        The entry of phase ``number``, 1 cycle later.
    active, phase : Out(1), Out
        Whether a phase is served, and which.
    starts, preempts, reconfigures : Out(1)
        High for a cycle when a phase begins to be served, when it takes the place of a less urgent
        one whose packets were under way, and when no flit goes in because of the change.
    came, given, dropped, gone_back : Out(P)
        High for a cycle for each flit that is taken, that leaves, or that is dropped, and when a
        source is sent back.
    error_phase, error_length, error_kind, error_overflow, error_stuck : Out(P)
        High for a cycle for each packet or flit that is refused; see ``InputPort``.

    Timing
    ------
    Latency : 6 cycles with the link layer, else 4, and those of the interconnect, from the first
        flit of a lone packet on a port to the same flit offered.
    Throughput : one flit per port and cycle, without a gap between packets.
    Paths : ``i[k].circuit`` to ``i[k].ready`` without the link layer.
    Reset : forgets all packets and phases.
    """

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = spec
        protocol, ports = spec.protocol, spec.ports
        self.unit_name = f"{spec.name}_core_{protocol.suffix}"
        into = link_flit_signature(spec) if protocol.link else packet_signature(spec)
        out = framed_signature(spec) if protocol.link else packet_signature(spec)
        entry = entry_bits(spec)
        members: dict[str, Any] = {
            "i": In(into).array(ports),
            "o": Out(out).array(ports),
            "write": In(1),
            "number": In(max(1, (protocol.phases - 1).bit_length())),
            "entry": In(entry),
            "done": Out(1),
            "accepted": Out(1),
            "stored": Out(entry),
            "active": Out(1),
            "phase": Out(protocol.fields(ports)["phase"]),
        }
        members |= {name: Out(1) for name in ("starts", "preempts", "reconfigures")}
        members |= {name: Out(ports) for name in ("came", "given", "dropped")}
        members |= {f"error_{name}": Out(ports) for name in errors(spec)}
        members |= {"gone_back": Out(ports)} if protocol.link else {}
        super().__init__(members)

    def build(self, platform: object) -> Module:
        m = Module()
        spec, ports = self.spec, self.spec.ports
        latency = latency_cycles(spec)
        ins = [place(m, f"input_{k}", InputPort(spec=spec)) for k in range(ports)]
        outs = [
            place(m, f"output_{k}", OutputPort(spec=spec, latency=latency)) for k in range(ports)
        ]
        scheduler = place(m, "scheduler", Scheduler(spec=spec))
        router = place(m, "router", UnicastRouter(ports=ports, middle=spec.middle))
        table = m.submodules.table = Memory(
            shape=entry_bits(spec), depth=spec.protocol.phases, init=[]
        )
        ready, hold = Signal(), Signal()
        self._outside(m, ins, outs)
        self._hints(m, scheduler, ins, outs)
        self._serve(m, scheduler, router, table, ins, outs, hold)
        for port in ins:
            m.d.comb += port.enable.eq(ready)
        if spec.protocol.link:
            unit = self._acknowledge(m, table, ins, outs)
            m.d.comb += [ready.eq(unit.ready), hold.eq(unit.write.any())]
            self._configure(m, scheduler, table, unit)
        else:
            m.d.comb += ready.eq(1)
            self._configure(m, scheduler, table, None)
        return m

    def _outside(self, m: Module, ins: list[InputPort], outs: list[OutputPort]) -> None:
        """Connect the ports, and what they report."""
        for port, outside in zip(ins, self.i, strict=True):
            wiring.connect(m, wiring.flipped(outside), port.i)
        for port, outside in zip(outs, self.o, strict=True):
            wiring.connect(m, port.o, wiring.flipped(outside))
        m.d.comb += [
            self.came.eq(Cat(port.came for port in ins)),
            self.dropped.eq(Cat(port.dropped for port in ins)),
            self.given.eq(Cat(port.given for port in outs)),
            self.error_phase.eq(Cat(port.unknown for port in ins)),
            self.error_kind.eq(Cat(port.kind for port in ins)),
        ]
        if self.spec.protocol.link:
            m.d.comb += [
                self.error_overflow.eq(Cat(port.overflow for port in ins)),
                self.error_stuck.eq(Cat(port.stuck for port in ins)),
            ]

    def _hints(
        self, m: Module, scheduler: Scheduler, ins: list[InputPort], outs: list[OutputPort]
    ) -> None:
        """Tell the scheduler what waits where, and the ports which phases they serve."""
        protocol = self.spec.protocol
        for k, (port, out) in enumerate(zip(ins, outs, strict=True)):
            m.d.comb += [
                scheduler.waiting[k].eq(port.waiting),
                scheduler.room[k].eq(out.room),
            ]
            for circuit in range(COUNT):
                m.d.comb += [
                    scheduler.heads[k][circuit].eq(port.descriptor[circuit].phase),
                    port.serves[circuit].eq(
                        Cat(
                            scheduler.used[p]
                            & scheduler.takes[p][k]
                            & (scheduler.circuits[p] == circuit)
                            for p in range(protocol.phases)
                        )
                    ),
                ]
                rooms = [other.room[circuit] for other in outs]
                peer = port.descriptor[circuit].peer
                m.d.comb += scheduler.reaches[k][circuit].eq(selected(peer, rooms))

    def _serve(
        self,
        m: Module,
        scheduler: Scheduler,
        router: UnicastRouter,
        table: Memory,
        ins: list[InputPort],
        outs: list[OutputPort],
        hold: Value,
    ) -> None:
        """Carry packets of the flows of the active phase."""
        spec, protocol, ports = self.spec, self.spec.protocol, self.spec.ports
        read = table.read_port()
        m.d.comb += [read.addr.eq(scheduler.load_phase), read.en.eq(scheduler.load)]
        probe = table.read_port()
        m.d.comb += [probe.addr.eq(scheduler.probe), probe.en.eq(1)]
        probed = entry_fields(spec, probe.data)
        for k in range(ports):
            m.d.comb += [
                scheduler.probe_inputs[k].eq(probed["inputs"][k]),
                scheduler.probe_outputs[k].eq(probed["outputs"][k]),
            ]
        fields = entry_fields(spec, read.data)
        active, online, circuit = scheduler.active, scheduler.online, scheduler.circuit
        flow = ports.bit_length()
        takes = [Signal(flow, name=f"takes_{k}") for k in range(ports)]
        gives = [Signal(flow, name=f"gives_{k}") for k in range(ports)]
        for k in range(ports):
            reached = [
                Const(j + 1, flow)
                & (router.connected[j] & (router.destination_of[j] == k)).replicate(flow)
                for j in range(ports)
            ]
            joined = Signal(flow, name=f"source_of_{k}")
            m.d.comb += [
                joined.eq(any_of(reached)),
                takes[k].eq(
                    Mux(online, router.connected[k].replicate(flow) & (k + 1), fields["inputs"][k])
                ),
                gives[k].eq(Mux(online, joined, fields["outputs"][k])),
            ]
        abouts = [
            Signal(port.descriptor.shape().elem_shape, name=f"head_{k}")
            for k, port in enumerate(ins)
        ]
        here, room = Signal(ports), Signal(ports)
        for k, (port, about) in enumerate(zip(ins, abouts, strict=True)):
            same = selected(circuit, [port.descriptor[c] for c in range(COUNT)])
            # The scheduler knows of room a cycle late; until then nobody else may take it.
            before = Signal(COUNT, name=f"room_before_{k}")
            m.d.sync += before.eq(outs[k].room)
            m.d.comb += [
                about.as_value().eq(same),
                here[k].eq(
                    selected(circuit, list(port.waiting))
                    & (about.phase == scheduler.phase)
                    & (~online | (router.connected[k] & (router.destination_of[k] == about.peer)))
                ),
                room[k].eq(selected(circuit, list(outs[k].room & before))),
            ]
        valid, last = (Cat(getattr(port, name) for port in ins) for name in ("valid", "last"))
        broken = Cat(port.broken if protocol.link else Const(0, 1) for port in ins)
        may = Signal()
        m.d.comb += may.eq(active & ~scheduler.leaving & ~hold)
        flows = []
        for number in range(1, ports + 1):
            one = place(m, f"flow_{number}", FlowSequencer(spec=spec))
            m.d.comb += [
                one.number.eq(number),
                one.takes.eq(Cat(takes)),
                one.gives.eq(Cat(gives)),
                one.may.eq(may),
                one.here.eq(here),
                one.room.eq(room),
                one.valid.eq(valid),
                one.broken.eq(broken),
                one.last.eq(last),
                one.abouts.eq(Cat(about.as_value() for about in abouts)),
            ]
            flows.append(one)
        # By flow number; 0 stands for none.
        start, fire, ending, busy, goes_on = (
            Cat(Const(0, 1), *(getattr(one, name) for one in flows))
            for name in ("start", "fire", "ending", "busy", "goes_on")
        )
        m.d.comb += [
            scheduler.runs.eq(goes_on.any()),
            scheduler.stands.eq(~busy.any()),
            scheduler.ran.eq(start.any()),
            self.reconfigures.eq(scheduler.load & active & ~fire.any()),
            self.starts.eq(scheduler.load),
            self.preempts.eq(scheduler.preempts),
            self.active.eq(active),
            self.phase.eq(scheduler.phase),
            self.error_length.eq(
                Cat(port.length for port in ins) | any_of([one.longer for one in flows])
            ),
        ]
        interconnect = place(m, "interconnect", Interconnect(spec=spec))
        m.d.comb += interconnect.configuration.eq(
            Mux(online, router.configuration, fields["configuration"])
        )
        for k, port in enumerate(ins):
            goes = selected(takes[k], list(fire))
            m.d.comb += [
                port.circuit.eq(circuit),
                port.start.eq(selected(takes[k], list(start))),
                port.take.eq(goes),
                port.finish.eq(selected(takes[k], list(ending))),
                interconnect.i[k].valid.eq(goes),
                interconnect.i[k].data.eq(port.word),
            ]
        for k, port in enumerate(outs):
            m.d.comb += [
                port.start.eq(selected(gives[k], list(start))),
                port.fire.eq(selected(gives[k], list(fire))),
                port.last.eq(selected(gives[k], list(ending))),
                port.circuit.eq(circuit),
                port.descriptor.as_value().eq(
                    selected(gives[k], [Const(0, len(flows[0].about)), *(f.about for f in flows)])
                ),
            ]
            wiring.connect(m, interconnect.o[k], port.i)
            if protocol.link:
                bad = [Const(0, 1), *(one.bad for one in flows)]
                m.d.comb += port.bad.eq(selected(gives[k], bad))
            # Towards the destination the peer of a unicast is its source.
            with m.If(online):
                m.d.comb += port.descriptor.peer.eq(gives[k] - 1)
        self._route(m, scheduler, router, abouts, ins, room, busy, ending, here, may)

    def _route(
        self,
        m: Module,
        scheduler: Scheduler,
        router: UnicastRouter,
        abouts: list[Signal],
        ins: list[InputPort],
        room: Value,
        busy: Value,
        ending: Value,
        here: Value,
        may: Value,
    ) -> None:
        """Find paths for packets of the default index, one source at a time, in turns.

        A path stays until its source or its destination is wanted for another. A source that has
        had a packet's turn at a destination waits for all others that want it. When there is no
        path for a source, which takes two middle subswitches, all others end with their packets,
        and no other is found before it.
        """
        ports = self.spec.ports
        asks, wants, recent = Signal(ports), Signal(ports), Signal(ports)
        wanted, claimed = Signal(ports), Signal(ports)  # destinations
        had, over = Signal(ports), Signal(ports)
        peers = [Signal(ports, name=f"peer_{k}") for k in range(ports)]
        reached = [Signal(ports, name=f"reached_{k}") for k in range(ports)]
        idle = ~busy[1:] & ~here
        for k, (port, about) in enumerate(zip(ins, abouts, strict=True)):
            waits = selected(scheduler.circuit, list(port.waiting))
            m.d.comb += [
                peers[k].eq(Cat(about.peer == j for j in range(ports))),
                asks[k].eq(waits & (about.phase == self.spec.protocol.online) & ~here[k]),
                wants[k].eq(
                    asks[k] & (peers[k] & room).any() & ~(had[k] & (peers[k] & claimed).any())
                ),
            ]
            m.d.comb += reached[k].eq(Cat(router.destination_of[k] == j for j in range(ports)))
        # A round lasts until the packet of the last source has ended.
        used = router.connected & ~idle
        m.d.comb += [
            wanted.eq(any_of([own & asks[k].replicate(ports) for k, own in enumerate(peers)])),
            claimed.eq(
                any_of(
                    [
                        (own & (asks & ~had)[k].replicate(ports)) | (at & used[k].replicate(ports))
                        for k, (own, at) in enumerate(zip(peers, reached, strict=True))
                    ]
                )
            ),
        ]
        turns = [Signal(ports, name=f"had_{name}") for name in DATA_CIRCUITS]
        m.d.comb += had.eq(selected(scheduler.circuit, turns))
        for circuit, turn in enumerate(turns):
            with m.If(scheduler.online & (scheduler.circuit == circuit)):
                m.d.sync += turn.eq(over | (had & ~wants))
        waits_for_path, pool = Signal(ports), Signal(ports)
        first = wants & waits_for_path
        m.d.comb += pool.eq(Mux(first.any(), first, wants))
        chosen = round_robin(m, "path", pool, recent)
        looking, held, blocked = Signal(), Signal(), Signal()
        with m.If(blocked):
            m.d.sync += waits_for_path.eq(chosen)
        with m.Elif(scheduler.online):
            m.d.sync += waits_for_path.eq(waits_for_path & asks)
        m.d.comb += looking.eq(may & scheduler.online & wants.any())
        with m.If(looking):
            m.d.sync += recent.eq(chosen)
        holders, target = Signal(ports), Signal(ports)
        m.d.comb += target.eq(one_hot_mux(chosen, peers))
        for k, at in enumerate(reached):
            m.d.comb += [
                holders[k].eq(router.connected[k] & (chosen[k] | (at & target).any())),
                # A packet has ended, and another source wants its destination or its path.
                over[k].eq(
                    scheduler.online & ending[k + 1] & ((at & wanted).any() | waits_for_path.any())
                ),
                router.leave[k].eq(
                    over[k] | (looking & idle[k] & holders[k]) | (blocked & ~busy[k + 1])
                ),
            ]
        m.d.comb += [
            held.eq(holders.any()),
            router.request.eq(looking & ~held),
            router.source.eq(
                one_hot_mux(chosen, [Const(k, router.source.shape()) for k in range(ports)])
            ),
            router.destination.eq(one_hot_mux(chosen, [about.peer for about in abouts])),
            blocked.eq(router.request & ~router.granted),
        ]

    def _acknowledge(
        self, m: Module, table: Memory, ins: list[InputPort], outs: list[OutputPort]
    ) -> Acknowledger:
        """Connect control messages, credits and numbers of packets."""
        unit = place(m, "acknowledger", Acknowledger(spec=self.spec))
        read = table.read_port()
        fields = entry_fields(self.spec, read.data)
        m.d.comb += [read.addr.eq(unit.phase), read.en.eq(1)]
        for k, (port, out) in enumerate(zip(ins, outs, strict=True)):
            m.d.comb += [
                unit.late[k].eq(port.late),
                unit.early[k].eq(port.early),
                unit.event_key[k].eq(port.event_key),
                port.event_taken.eq(unit.event_taken[k]),
                unit.inputs[k].eq(fields["inputs"][k]),
                unit.outputs[k].eq(fields["outputs"][k]),
                port.key.eq(unit.key),
                unit.due[k].eq(port.due),
                port.write.eq(unit.write[k]),
                port.number.eq(unit.number),
            ]
            wiring.connect(m, port.message, unit.message[k])
            wiring.connect(m, unit.reply[k], out.message)
            wiring.connect(m, port.credit, out.credit)
        m.d.comb += self.gone_back.eq(unit.gone_back)
        return unit

    def _configure(
        self, m: Module, scheduler: Scheduler, table: Memory, unit: Acknowledger | None
    ) -> None:
        """Check entries and write them, and give back what is stored."""
        write, read = table.write_port(), table.read_port()
        fields = entry_fields(self.spec, self.entry)
        check = place(m, "check", EntryCheck(spec=self.spec))
        m.d.comb += [
            read.addr.eq(self.number),
            read.en.eq(1),
            self.stored.eq(read.data),
            write.addr.eq(self.number),
            write.data.eq(self.entry),
            check.entry.eq(self.entry),
            scheduler.write.eq(write.en),
            scheduler.number.eq(self.number),
            scheduler.entry_used.eq(fields["used"]),
            scheduler.entry_circuit.eq(fields["circuit"]),
            scheduler.entry_takes.eq(Cat(flow.any() for flow in fields["inputs"])),
            scheduler.entry_gives.eq(Cat(flow.any() for flow in fields["outputs"])),
        ]
        names = ("idle", "check", "number", "write")
        fsm = Fsm(m, *(name for name in names if unit is not None or name != "number"))
        with fsm.state("idle"), m.If(self.write):
            m.d.comb += check.start.eq(1)
            fsm.go("check")
        with fsm.state("check"):
            with m.If(check.done & ~check.right):
                m.d.comb += self.done.eq(1)
                fsm.go("idle")
            with m.Elif(check.done):
                fsm.go("write" if unit is None else "number")
        if unit is not None:
            number = fsm.ongoing("number")
            m.d.comb += [unit.clear_key.eq(self.number), unit.clear.eq(number)]
            with m.If(number & unit.clear_done):
                fsm.go("write")
        with fsm.state("write"):
            m.d.comb += [write.en.eq(1), self.done.eq(1), self.accepted.eq(1)]
            fsm.go("idle")
