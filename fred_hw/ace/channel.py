"""Collectives of a virtual channel, one after the other: state machines and slots."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from fred_hw.endpoint.flow import flow_layout
from fred_hw.endpoint_spec import MOST_MEMBERS
from fred_hw.gates.fifo import Fifo
from fred_hw.gates.fsm import Fsm
from fred_hw.gates.select import one_hot_mux, sum_of
from fred_hw.member import member
from fred_hw.spec import SwitchSpec, check_spec
from fred_hw.unit import Unit, place

from .fsm import AceFsm
from .intake import WRITES
from .loader import AceLoader, request_layout
from .sequencer import AceSequencer
from .work import (
    ReceiveWord,
    SendWord,
    count_bits,
    place_bits,
    receive_layout,
    size_bits,
    sizes_name,
    slot_bits,
    work_layout,
)

__all__ = ["QUEUE_DEPTH", "AceChannel"]

QUEUE_DEPTH = 4
"""Number of descriptors that wait for a virtual channel."""


def _no_flow(u: Unit) -> dict[str, int]:
    """Return the flow before the first descriptor that sets it."""
    return {"phase": u.spec.protocol.phases + 1, "peer": 0, "generation": 0}


class AceChannel(Unit):
    """Execute the descriptors of a virtual channel in order.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes.

    Timing
    ------
    Latency : 5 cycles from a descriptor to ``receive.valid`` if it receives alone, 2 from the last
        of its flits stored to ``done``.
    Throughput : a flit out and in per cycle, in messages of 4 flits or more.
    Paths : none.
    Reset : forgets all descriptors, also that under way.
    """

    i: stream.Interface = member(In, lambda u: stream.Signature(work_layout(u.spec)))
    """Prepared descriptors."""
    requests: stream.Interface = member(Out, lambda u: stream.Signature(request_layout(u.spec)))
    """Reads of memory."""
    begun = member(In, 1)
    """High for a cycle when the first part of a chunk has arrived."""
    loaded = member(In, 1)
    """High for a cycle when another part has arrived."""
    send: SendWord = member(Out, lambda u: SendWord.signature(u.spec))
    """The next flit to send."""
    receive: ReceiveWord = member(Out, lambda u: ReceiveWord.signature(u.spec))
    """Description of the next flit to receive."""
    idle = member(In, 1)
    """All sent packets are acknowledged, and no flit is on its way to the link."""
    send_flow: data.View = member(Out, lambda u: flow_layout(u.spec), init=_no_flow)
    """Flow of the sent packets; no flow before the first descriptor that sets it."""
    receive_flow: data.View = member(Out, lambda u: flow_layout(u.spec), init=_no_flow)
    """Flow of the received packets; no flow before the first descriptor that sets it."""
    came = member(In, 1)
    """A flit has been accepted by the link."""
    enough = member(Out, 1, init=1)
    """The link may accept no more flits. That is when it has accepted all that the descriptor
    wants, and the next one if its flow is the same; or when ``buffer_flits`` flits that are in no
    message under way have been accepted."""
    busy = member(Out, 1)
    """A descriptor is executed or waits."""
    done = member(Out, 1)
    """High for a cycle at the end of each descriptor."""
    operand_requests: stream.Interface = member(
        Out,
        lambda u: stream.Signature(request_layout(u.spec)),
        when=lambda u: u.spec.endpoint.read_ports == 2,
    )
    """If ``endpoint.read_ports`` is 2: reads of all parts but the first of each chunk."""

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = check_spec("AceChannel", spec)
        self.unit_name = sizes_name("ace_channel", spec)
        super().__init__()

    def build(self, m: Module) -> None:
        layout = work_layout(self.spec)
        work = data.View(layout, Signal(layout.size, name="work", reset_less=True))
        two = self.spec.endpoint.read_ports == 2
        loader = place(m, "loader", AceLoader(spec=self.spec, parts="first" if two else "all"))
        machines = [
            place(m, f"fsm_{k}", AceFsm(spec=self.spec)) for k in range(self.spec.endpoint.fsms)
        ]
        begin = Signal(name="begins")
        stored = Signal()
        # a message is under way
        sends = Signal()
        receives = Signal()
        m.d.comb += [loader.work.eq(work), loader.begins.eq(begin & (work.parts != 0))]
        wiring.connect(m, loader.o, wiring.flipped(self.requests))
        loads = loader.active
        if two:
            loads |= self._load_operands(m, work, begin, loader)
        send_sequencer = self._send(m, work, begin, machines, sends)
        receive_sequencer, taken = self._receive(m, work, begin, machines, receives, stored)
        owned = self._dispatch(m, work, begin, machines, loader)
        still = Signal()
        m.d.sync += still.eq(
            ~loads
            & ~send_sequencer.active
            & ~receive_sequencer.active
            & ~owned
            & ~sends
            & ~receives
            & stored
        )
        self._begin(m, work, begin, still, taken)

    def _load_operands(self, m: Module, work: data.View, begin: Value, first: AceLoader) -> Value:
        """Load all parts except the first for chunks with a slot; return whether any is left."""
        rest = place(m, "operand_loader", AceLoader(spec=self.spec, parts="rest"))
        wiring.connect(m, rest.o, wiring.flipped(self.operand_requests))
        ahead = Signal(range(self.spec.endpoint.slots + 1), name="chunks_ahead")
        m.d.comb += [
            rest.work.eq(work),
            rest.begins.eq(begin & (work.parts > 1)),
            rest.space.eq(ahead != 0),
        ]
        with m.If(rest.active):
            m.d.sync += ahead.eq(ahead + first.taken - rest.taken)
        return rest.active

    def _begin(self, m: Module, work: data.View, begin: Signal, still: Value, taken: Value) -> None:
        """Start a descriptor when the previous one is complete and its flow can be set."""
        queue = place(m, "queue", Fifo(shape=work_layout(self.spec), depth=QUEUE_DEPTH))
        wiring.connect(m, wiring.flipped(self.i), queue.i)
        fsm = Fsm(m, "wait", "flow", "begin", "start", "settle", "run")
        given = queue.o.payload
        changes = Signal()
        m.d.sync += changes.eq(
            work.sets_send & (Value.cast(work.send) != Value.cast(self.send_flow))
        )
        m.d.comb += [
            begin.eq(fsm.ongoing("start")),
            self.busy.eq(~fsm.ongoing("wait") | queue.o.valid),
        ]
        with fsm.state("wait"), m.If(queue.o.valid):
            m.d.comb += queue.o.ready.eq(1)
            m.d.sync += Value.cast(work).eq(Value.cast(given))
            fsm.go("flow")
        with fsm.state("flow"):
            fsm.go("begin")
        self._want(m, work, queue.o, fsm, changes, taken)
        with fsm.state("begin"), m.If(~changes | self.idle):
            with m.If(work.sets_send):
                m.d.sync += self.send_flow.eq(work.send)
            with m.If(work.sets_receive):
                m.d.sync += self.receive_flow.eq(work.receive)
            fsm.go("start")
        with fsm.state("start"):
            fsm.go("settle")
        with fsm.state("settle"):
            fsm.go("run")
        with fsm.state("run"), m.If(still):
            m.d.comb += self.done.eq(1)
            fsm.go("wait")

    def _want(
        self,
        m: Module,
        work: data.View,
        following: stream.Interface,
        fsm: Fsm,
        changes: Value,
        taken: Value,
    ) -> None:
        """Accept the flits that a descriptor wants, unless they could block the link forever.

        Wanted are the flits of the descriptor, and of the next one if its flow is the same. A
        source may be ahead by descriptors between which this end has other flows; their flits are
        not accepted before those flows are over.

        A flit that no message under way takes may wait for a send of this end. If such flits
        filled the receive queue, packets behind them on the link, which that send may need, would
        wait too. The queue has space for ``buffer_flits`` of them and one packet more, which
        ``FlowReceiver`` keeps until the link has been held for long. ``taken`` is the size of a
        message, in the cycle in which it gets under way; the message is then stored as it comes.
        """
        given = following.payload
        counted = Signal()
        same = Signal()
        adds = Signal()
        more = Signal(len(work.expected))
        m.d.sync += same.eq(
            following.valid
            & (~given.sets_receive | (Value.cast(given.receive) == Value.cast(self.receive_flow)))
        )
        m.d.comb += more.eq(work.expected)
        with fsm.state("begin"), m.If(~changes | self.idle):
            m.d.comb += adds.eq(~counted)
            m.d.sync += counted.eq(0)
        with fsm.state("run"), m.If(same & ~counted):
            m.d.comb += [more.eq(given.expected), adds.eq(1)]
            m.d.sync += counted.eq(1)
        waits = self.spec.protocol.buffer_flits
        limits = (("wanted", Mux(adds, more, 0), 0), ("stored", taken, -waits))
        before = Signal(name="came_before")
        m.d.sync += before.eq(self.came)
        ends = [self._ends(m, name, added, least, before) for name, added, least in limits]
        m.d.sync += self.enough.eq(ends[0] | ends[1])

    def _ends(self, m: Module, name: str, more: Value, least: int, before: Value) -> Value:
        """Count granted flits minus received flits; return whether none is left.

        None is if ``least`` is reached. What is granted and what comes are counted a cycle later,
        as they are known late; until then what came is looked at.
        """
        count = Signal(signed(len(more) + 2), name=f"{name}_count")
        added = Signal(len(more), name=f"{name}_added")
        most = [Signal(name=f"{name}_at_most_{number}") for number in range(3)]
        m.d.comb += [one.eq(count <= least + number) for number, one in enumerate(most)]
        m.d.sync += [added.eq(more), count.eq(count + added - before)]
        return Mux(self.came, Mux(before, most[2], most[1]), Mux(before, most[1], most[0]))

    def _dispatch(
        self, m: Module, work: data.View, begin: Value, machines: list[AceFsm], loader: AceLoader
    ) -> Value:
        """Assign loaded chunks to state machines in rotation; return whether any chunk is left."""
        slots, fsms = self.spec.endpoint.slots, len(machines)
        waiting, used = (Signal(range(slots + 1), name=name) for name in ("waiting", "used"))
        slot = Signal(slot_bits(self.spec), name="next_slot")
        assigned = Signal(fsms, init=1)
        busy = Signal(fsms)
        earlier = Signal(fsms)
        gives = Signal()
        m.d.comb += [
            busy.eq(Cat(one.busy for one in machines)),
            gives.eq((waiting != 0) & ~(assigned & busy).any()),
            loader.space.eq(used != slots),
        ]
        for k, one in enumerate(machines):
            m.d.comb += [one.work.eq(work), one.begins.eq(gives & assigned[k]), one.i.eq(slot)]
        freed = earlier & ~busy
        m.d.sync += [
            earlier.eq(busy),
            waiting.eq(waiting + self.begun - gives),
            used.eq(used + loader.taken - sum_of(freed)),
        ]
        with m.If(begin):
            m.d.sync += assigned.eq(1)
            if self.spec.endpoint.read_ports == 2:  # as both loaders do
                m.d.sync += slot.eq(0)
        with m.Elif(gives):
            m.d.sync += [
                assigned.eq(Mux(assigned == work.last_fsm, 1, assigned << 1)),
                slot.eq(slot + 1),
            ]
            with m.If(slot == slots - 1):
                m.d.sync += slot.eq(0)
        return used != 0

    def _sequence(
        self, m: Module, name: str, work: data.View, begin: Value, ready: Value, known: Value
    ) -> tuple[AceSequencer, Signal]:
        """Return the sequencer, and the machine whose message is taken while no next one is known.

        So taking a message depends on registers alone, not on flits that leave or arrive.
        """
        sequencer = place(m, f"{name}_sequencer", AceSequencer(spec=self.spec))
        takes = Signal(len(sequencer.machine), name=f"{name}_takes")
        m.d.comb += [
            sequencer.work.eq(work),
            sequencer.last_fsm.eq(work.last_fsm),
            sequencer.begins.eq(begin & (sequencer.steps != 0)),
            takes.eq(sequencer.machine & ready & (~known).replicate(len(takes))),
            sequencer.advance.eq(takes.any()),
        ]
        return sequencer, takes

    def _send(
        self, m: Module, work: data.View, begin: Value, machines: list[AceFsm], under_way: Signal
    ) -> AceSequencer:
        """Send messages flit by flit, in packets."""
        layout = data.StructLayout(
            {
                "slot": slot_bits(self.spec),
                "place": place_bits(self.spec),
                "left": size_bits(self.spec),
                "fsm": len(machines),
            }
        )
        message, following, now = (
            data.View(layout, Signal(layout.size, name=f"send_{name}", reset_less=True))
            for name in ("message", "following", "now")
        )
        busy, known, final = (Signal(name=f"send_{name}") for name in ("busy", "known", "final"))
        held, ready = Signal(name="send_held"), Cat(one.send for one in machines)
        sequencer, takes = self._sequence(m, "send", work, begin, ready, held)
        packet = self.spec.protocol.packet_flits
        ends = Signal(name="send_ends")
        index = Signal(range(packet))
        m.d.comb += [
            sequencer.steps.eq(work.steps),
            message.slot.eq(one_hot_mux(sequencer.machine, [one.slot for one in machines])),
            message.place.eq(sequencer.place),
            message.left.eq(sequencer.size),
            message.fsm.eq(takes),
            ends.eq(self.send.take & final),
            self.send.valid.eq(busy),
            self.send.slot.eq(now.slot),
            self.send.place.eq(now.place),
            self.send.last.eq(final | (index == packet - 1)),
            under_way.eq(busy | known),
            # An empty message ends when it is taken: not with the last flit of one before, as a
            # machine counts one end in a cycle.
            held.eq(known | (busy & final & (sequencer.size == 0))),
        ]
        for k, one in enumerate(machines):
            empty = takes[k] & (sequencer.size == 0)
            m.d.comb += [one.send_taken.eq(takes[k]), one.send_done.eq((ends & now.fsm[k]) | empty)]
        with m.If(self.send.take):
            m.d.sync += [
                now.left.eq(now.left - 1),
                final.eq(now.left == 2),
                now.place.eq(now.place + 1),
                index.eq(Mux(self.send.last, 0, index + 1)),
            ]
        with m.If(ends | ~busy):
            m.d.sync += index.eq(0)
        self._follow(m, (message, following, now), takes, (busy, known, final, ends))
        return sequencer

    def _follow(
        self,
        m: Module,
        messages: tuple[data.View, data.View, data.View],
        takes: Value,
        state: tuple[Signal, Signal, Signal, Value],
    ) -> None:
        """Keep a taken message as ``now`` or as the next; an empty message is complete at once."""
        message, following, now = messages
        busy, known, final, ends = state
        with m.If(takes.any()):
            m.d.sync += [following.eq(message), known.eq(busy & (message.left != 0))]
        with m.If(ends | ~busy):
            m.d.sync += [now.eq(following), final.eq(following.left == 1), busy.eq(known)]
            with m.If(known):
                m.d.sync += known.eq(0)
        with m.If(~busy & ~known):
            m.d.sync += [
                now.eq(message),
                final.eq(message.left == 1),
                busy.eq(takes.any() & (message.left != 0)),
            ]

    def _receive(
        self,
        m: Module,
        work: data.View,
        begin: Value,
        machines: list[AceFsm],
        under_way: Signal,
        stored: Signal,
    ) -> tuple[AceSequencer, Signal]:
        """Determine where each flit goes; ``stored`` is high if none is on its way to memory.

        Return the size of a message, in the cycle in which it gets under way.
        """
        word, spec = self.receive.payload, self.spec
        layout = data.StructLayout({"word": receive_layout(spec), "left": count_bits(spec)})
        message, following, now = (
            data.View(layout, Signal(layout.size, name=f"receive_{name}", reset_less=True))
            for name in ("message", "following", "now")
        )
        busy, known, final = (Signal(name=f"receive_{name}") for name in ("busy", "known", "final"))
        there, reduces = Signal(name="part_is_there"), message.word.reduce
        ready = Cat(one.receive for one in machines) & there.replicate(len(machines))
        sequencer, takes = self._sequence(m, "receive", work, begin, ready, known)
        self._count_parts(m, sequencer.advance & reduces, reduces, there)
        ends = Signal(name="receive_ends")
        m.d.comb += [
            sequencer.steps.eq(work.receives),
            sequencer.ahead.eq(1),
            message.left.eq(sequencer.size),
            ends.eq(self.receive.take & final),
            self.receive.valid.eq(busy),
            word.eq(now.word),
            word.last.eq(final),
            under_way.eq(busy | known),
        ]
        self._expect(m, work, message.word, sequencer, machines, takes)
        for k, one in enumerate(machines):
            empty = takes[k] & (sequencer.size == 0)
            m.d.comb += [
                one.receive_taken.eq(takes[k]),
                one.receive_done.eq(self.receive.done[k] | empty),
            ]
        with m.If(self.receive.take):
            m.d.sync += [
                now.left.eq(now.left - 1),
                final.eq(now.left == 2),
                now.word.place.eq(now.word.place + 1),
                now.word.address.eq(now.word.address + 1),
            ]
        self._follow(m, (message, following, now), takes, (busy, known, final, ends))
        self._receive_buffer(m, work, begin, now, (busy, final))
        self._count_stored(m, word, stored)
        size = Signal(count_bits(self.spec), name="receive_size")
        with m.If(begin):
            m.d.comb += size.eq(work.direct)
        with m.Elif(takes.any()):
            m.d.comb += size.eq(sequencer.size)
        return sequencer, size

    def _receive_buffer(
        self, m: Module, work: data.View, begin: Value, now: data.View, state: tuple[Signal, Signal]
    ) -> None:
        """Start with the part of the buffer outside the chunks, as one message to memory."""
        busy, final = state
        with m.If(begin & (work.direct != 0)):
            m.d.sync += [
                Value.cast(now.word).eq(0),
                now.word.store.eq(1),
                now.word.address.eq(work.destination),
                now.left.eq(work.direct),
                final.eq(work.direct == 1),
                busy.eq(1),
            ]

    def _count_parts(self, m: Module, taken: Value, reduces: Value, there: Signal) -> None:
        """Count loaded operand parts; ``there`` tells whether the next message's part is loaded."""
        parts = Signal(range(self.spec.endpoint.slots * MOST_MEMBERS), name="parts_there")
        m.d.sync += [parts.eq(parts + self.loaded - taken), there.eq(~reduces | (parts != 0))]

    def _count_stored(self, m: Module, word: data.View, stored: Signal) -> None:
        """Count flits on their way to memory, from acceptance to storage."""
        in_flight = Signal(range(WRITES + 1))
        m.d.sync += in_flight.eq(in_flight + (self.receive.take & word.store) - self.receive.stored)
        m.d.comb += stored.eq(in_flight == 0)

    def _expect(
        self,
        m: Module,
        work: data.View,
        word: data.View,
        sequencer: AceSequencer,
        machines: list[AceFsm],
        takes: Value,
    ) -> None:
        """Set destination and operation of a message's first flit; all machines are at one step."""
        reduces = Signal()
        stores = Signal()
        m.d.sync += [
            reduces.eq(sequencer.step < work.reduces),
            stores.eq(sequencer.step >= work.stores),
        ]
        m.d.comb += [
            word.slot.eq(one_hot_mux(sequencer.machine, [one.slot for one in machines])),
            word.place.eq(sequencer.place),
            word.address.eq(work.destination + sequencer.offset),
            word.reduce.eq(reduces),
            word.store.eq(stores),
            word.keep.eq(~sequencer.last),
            word.fsm.eq(takes),
        ]
