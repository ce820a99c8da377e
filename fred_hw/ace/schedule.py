"""The schedule table: descriptors issued in lockstep, as their data arrives."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from fred_hw.gates.fsm import Fsm
from fred_hw.gates.select import first_of, one_hot_mux, selected
from fred_hw.member import member
from fred_hw.per_class import per_class
from fred_hw.spec import SwitchSpec, check_spec
from fred_hw.unit import Unit, place

from .lockstep import AceLockstep
from .schedule_entry import CYCLE_BITS, DEPENDENCIES, TABLE_STEP_BITS, TREES
from .work import sizes_name, work_layout

__all__ = ["AceSchedule", "conditions_layout"]

_TREE_BITS = (TREES - 1).bit_length()


def conditions_layout() -> data.StructLayout:
    """Return the layout of an entry's conditions.

    Fields
    ------
    step : first step in which the entry may be issued
    send_tree, send_waits : tree whose data the entry sends, and dependency bits of it that must be
        set before
    receive_tree, receive_waits : tree whose data the entry receives, and dependency bits of it that
        must be set before
    receive_sets : dependency bits of ``receive_tree`` that the entry sets when it is completed
    """
    fields = {
        "step": TABLE_STEP_BITS,
        "send_tree": _TREE_BITS,
        "send_waits": DEPENDENCIES,
        "receive_tree": _TREE_BITS,
        "receive_waits": DEPENDENCIES,
        "receive_sets": DEPENDENCIES,
    }
    return data.StructLayout(fields)


class AceSchedule(Unit):
    """Keep prepared descriptors as a schedule, and issue them to virtual channels when it runs.

    The unit is between the preparation of descriptors and the queues of virtual channels. A
    descriptor that is no entry passes through. While the schedule runs, no descriptor may come.

    An entry is issued when all entries before it have been, its step is reached, its dependency
    bits are set and its virtual channel is idle. A tree has five dependency bits: one for the
    parent and one for each of four children. An entry that receives sets bits when it is completed.
    While entries are loaded, the bits say what entries will set, and an entry that waits for
    another bit is refused. So a schedule never waits for what none of its entries provides.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes; an endpoint whose ``schedule_entries`` are 0 has no such unit.

    Timing
    ------
    Latency : 3 cycles from ``start`` to the first ``valid``, and from ``done`` to ``valid`` of an
        entry that waits for it.
    Throughput : an entry per 3 cycles.
    Paths : ``given``, ``i`` and ``is_entry`` to ``valid``, ``o`` and ``refused``; ``space`` to
        ``taken``.
    Reset : forgets all entries, and stops the schedule.
    """

    begins = member(In, 1)
    """A descriptor is given to be prepared."""
    is_entry = member(In, 1)
    """The descriptor becomes an entry."""
    conditions: data.View = member(In, conditions_layout())
    """Conditions of the entry."""
    given = member(In, per_class)
    """Virtual channels for which a prepared descriptor is given."""
    i: data.View = member(In, lambda u: work_layout(u.spec))
    """The prepared descriptor."""
    taken = member(Out, per_class)
    """Virtual channels for which a descriptor may come."""
    valid = member(Out, per_class)
    """Virtual channels whose queue gets a descriptor."""
    o: data.View = member(Out, lambda u: work_layout(u.spec))
    """The descriptor."""
    space = member(In, per_class)
    """Queues with space."""
    busy = member(In, per_class)
    """Virtual channels with a descriptor under way or waiting."""
    done = member(In, per_class)
    """Virtual channels that end a descriptor."""
    step_cycles = member(In, CYCLE_BITS)
    """Estimated time of a step [cycles]; constant while the schedule runs."""
    start = member(In, 1)
    """Run the schedule; only while ``running`` is low and no descriptor is prepared."""
    clear = member(In, 1)
    """Forget all entries; only while ``running`` is low and no descriptor is prepared."""
    running = member(Out, 1)
    """The schedule runs."""
    entries = member(Out, lambda u: range(u.spec.endpoint.schedule_entries + 1))
    """Entries of the schedule."""
    step = member(Out, TABLE_STEP_BITS)
    """Number of the current step."""
    refused = member(Out, 1)
    """High for a cycle when an entry is refused: its step is below the step of the entry before, it
    waits for a bit that no entry before sets, or it has a flow that is no unicast."""

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = check_spec("AceSchedule", spec)
        self.unit_name = sizes_name("ace_schedule", spec)
        super().__init__()

    def build(self, m: Module) -> None:
        layout = conditions_layout()
        entry = data.StructLayout(
            {"conditions": layout, "circuit": per_class(self), "work": work_layout(self.spec)}
        )
        memory = Memory(shape=entry, depth=max(2, self.spec.endpoint.schedule_entries), init=[])
        m.submodules.table = memory
        write = memory.write_port()
        read = memory.read_port()
        place_of_entry = Signal.like(self.entries, name="place")
        loaded = data.View(layout, Signal(layout.size, name="loaded", reset_less=True))
        loads = Signal(name="loads")
        legal = Signal()
        with m.If(self.begins):
            m.d.sync += [loads.eq(self.is_entry), Value.cast(loaded).eq(self.conditions)]
        head = read.data
        m.d.comb += [
            write.addr.eq(self.entries),
            write.data.conditions.eq(loaded),
            write.data.circuit.eq(self.given),
            write.data.work.eq(self.i),
            write.en.eq(self.given.any() & loads & legal),
            read.addr.eq(place_of_entry),
            read.en.eq(1),
            self.refused.eq(self.given.any() & loads & ~legal),
            self.taken.eq(
                Mux(
                    loads,
                    (self.entries != self.spec.endpoint.schedule_entries).replicate(
                        per_class(self)
                    ),
                    self.space,
                )
            ),
            self.o.eq(Mux(self.running, head.work.as_value(), Value.cast(self.i))),
        ]
        issues, ended, under_way = (
            Signal(per_class(self), name=name) for name in ("issues", "ended", "under_way")
        )
        m.d.sync += under_way.eq((under_way | issues) & ~ended)
        with m.If(self.running):
            m.d.comb += self.valid.eq(issues)
        with m.Elif(~loads):
            m.d.comb += self.valid.eq(self.given)
        conditions = data.View(layout, Mux(self.running, head.conditions.as_value(), loaded))
        sets = self._ends(m, head, (issues, under_way, ended), loaded, write.en)
        met = self._dependencies(m, conditions, sets)
        m.d.comb += legal.eq(met & self._in_order(m, loaded, write.en) & self._unicasts())
        with m.If(self.clear):
            m.d.sync += self.entries.eq(0)
        with m.Elif(write.en):
            m.d.sync += self.entries.eq(self.entries + 1)
        self._run(m, head, place_of_entry, met, (issues, under_way))

    def _unicasts(self) -> Value:
        """Return whether all flows of a prepared descriptor are unicasts."""
        online = self.spec.protocol.online
        return (~self.i.sets_send | (self.i.send.phase == online)) & (
            ~self.i.sets_receive | (self.i.receive.phase == online)
        )

    def _in_order(self, m: Module, loaded: data.View, adds: Value) -> Value:
        """Return whether the step of an entry is not before that of the previous entry."""
        last = Signal(TABLE_STEP_BITS, name="last_step")
        with m.If(self.clear):
            m.d.sync += last.eq(0)
        with m.Elif(adds):
            m.d.sync += last.eq(loaded.step)
        return loaded.step >= last

    def _ends(
        self,
        m: Module,
        head: data.View,
        state: tuple[Signal, Signal, Signal],
        loaded: data.View,
        adds: Value,
    ) -> tuple[Value, Value]:
        """Return a tree, and its dependency bits that are set in this cycle.

        ``ended`` are the virtual channels whose entry is completed, one at a time.
        """
        issues, under_way, ended = state
        layout = data.StructLayout({"tree": _TREE_BITS, "sets": DEPENDENCIES})
        done = Signal(per_class(self), name="completed")
        own: list[Value] = []
        for k in range(per_class(self)):
            one = data.View(layout, Signal(layout.size, name=f"under_way_{k}", reset_less=True))
            with m.If(issues[k]):
                m.d.sync += [
                    one.tree.eq(head.conditions.receive_tree),
                    one.sets.eq(head.conditions.receive_sets),
                ]
            own.append(Value.cast(one))
        m.d.comb += ended.eq(first_of(m, "completed", done))
        m.d.sync += done.eq((done & ~ended) | (self.done & under_way))
        first = data.View(layout, Signal(layout.size, name="ends"))
        m.d.comb += Value.cast(first).eq(one_hot_mux(ended, own))
        sets = Signal(DEPENDENCIES, name="sets")
        with m.If(self.running):
            m.d.comb += sets.eq(first.sets)
        with m.Elif(adds):
            m.d.comb += sets.eq(loaded.receive_sets)
        return Mux(self.running, first.tree, loaded.receive_tree), sets

    def _dependencies(self, m: Module, conditions: data.View, sets: tuple[Value, Value]) -> Signal:
        """Keep the dependency bits of all trees.

        Return, a cycle later, whether all bits that an entry waits for are set.
        """
        bits = [Signal(DEPENDENCIES, name=f"tree_{tree}") for tree in range(TREES)]
        for tree, own in enumerate(bits):
            with m.If(self.start | self.clear):
                m.d.sync += own.eq(0)
            with m.Elif(sets[0] == tree):
                m.d.sync += own.eq(own | sets[1])
        met = Signal()
        m.d.sync += met.eq(
            ~(
                (conditions.send_waits & ~selected(conditions.send_tree, bits))
                | (conditions.receive_waits & ~selected(conditions.receive_tree, bits))
            ).any()
        )
        return met

    def _run(
        self,
        m: Module,
        head: data.View,
        entry: Signal,
        met: Signal,
        state: tuple[Signal, Signal],
    ) -> None:
        """Issue entries one after the other, and stop when all are complete."""
        lockstep = place(m, "lockstep", AceLockstep())
        fsm = Fsm(m, "idle", "fetch", "look", "hold")
        issues, under_way = state
        last = Signal(name="no_entry_left")
        m.d.comb += [
            lockstep.cycles.eq(self.step_cycles),
            lockstep.begins.eq(self.start),
            self.step.eq(lockstep.step),
            self.running.eq(~fsm.ongoing("idle")),
            last.eq(entry == self.entries),
        ]
        with fsm.state("idle"), m.If(self.start):
            m.d.sync += entry.eq(0)
            fsm.go("fetch")
        with fsm.state("fetch"):
            with m.If(~last):
                fsm.go("look")
            with m.Elif(~under_way.any()):
                fsm.go("idle")
        with fsm.state("look"):
            fsm.go("hold")
        with fsm.state("hold"):
            reached = head.conditions.step <= lockstep.step
            free = ~(head.circuit & (self.busy | under_way)).any()
            m.d.comb += lockstep.issued.eq(~reached)
            with m.If(reached & met & free):
                m.d.comb += issues.eq(head.circuit)
                m.d.sync += entry.eq(entry + 1)
                fsm.go("fetch")
