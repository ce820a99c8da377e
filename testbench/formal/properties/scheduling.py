"""Properties of the scheduler: changes between packets, and a bounded wait."""

from typing import Any, NamedTuple

from amaranth.hdl import Cat, Module, Mux, Signal, Value

from fred_hw.gates.select import any_of, selected
from fred_hw.protocol import ProtocolSpec
from fred_hw.spec import SwitchSpec
from fred_hw.switch.scheduler import Scheduler
from testbench.faults.fault import broken
from testbench.formal.harness import Harness
from testbench.formal.property import prove

__all__: list[str] = []

_PROTOCOL = ProtocolSpec(
    phases=2,
    urgency_classes=2,
    packet_flits=2,
    buffer_packets=2,
    round_trip_cycles=1,
    ack_interval=1,
    window_packets=4,
)
SPEC = SwitchSpec(ports=2, lanes=1, format="int8", protocol=_PROTOCOL)


class _Packets(NamedTuple):
    """A packet starts, or is being sent."""

    starts: Signal
    busy: Signal


def _packets_assumed(c: Harness, u: Any) -> _Packets:
    """Assume packets of the served phase, one after the other, none of which starts on leaving."""
    m, service = c.m, u.service
    wants, on = c.free(1, "wants"), c.free(1, "continues")
    circuit = c.free(len(service.circuit), "circuit_of_unicast")
    busy, starts = Signal(name="busy"), Signal(name="starts")
    kept, uses = Signal(len(circuit), name="kept_circuit"), Signal(len(circuit), name="uses")
    c.assume((circuit == 1) | (circuit == 2))
    m.d.comb += [
        starts.eq(wants & service.active & ~service.leaving & ~busy),
        uses.eq(Mux(busy, kept, Mux(service.online, circuit, service.circuit))),
    ]
    sending = starts | busy
    m.d.sync += [busy.eq(sending & on), kept.eq(uses)]
    c.assume(service.runs == (sending & on))
    c.assume(service.stands == ~sending)
    c.assume(service.rests == ~(sending | wants))
    c.assume(service.ran == Mux(starts, uses, 0))
    c.assume(service.under == Mux(sending, uses, 0))
    return _Packets(starts, busy)


def _updates_assumed(c: Harness, u: Any) -> None:
    """Assume that a phase changes only while it stands, and is halted until then."""
    halt, update = u.halt, u.update
    asked, done = Signal(name="asked_before"), Signal(name="changed_before")
    number = Signal.like(halt.number, name="halted_before")
    c.m.d.sync += [asked.eq(halt.asked), done.eq(update.write), number.eq(halt.number)]
    c.assume(~update.write | (halt.asked & halt.stands & (update.number == halt.number)))
    c.assume(Mux(done, ~halt.asked, ~asked | (halt.asked & (halt.number == number))))
    c.assume(update.circuit < len(_PROTOCOL.buffers))


@broken(Scheduler, {})
def cuts_packets(m: Module, sound: Any, ports: Any) -> None:
    """A packet that continues does not hold back the next phase."""
    m.d.comb += sound.service.runs.eq(0)


@prove(
    lambda: Scheduler(spec=SPEC),
    shows="The served phase changes only between packets, so no packet is cut and no two phases "
    "are served at once. A halted phase that is reported as idle has no packet in flight and "
    "starts none.",
    omits="other numbers of phases and classes; the dispatcher, which a model of packets replaces",
    mutant=cuts_packets,
    fast=False,
)
def scheduler_changes_between_packets(c: Harness, u: Any) -> None:
    packets, service = _packets_assumed(c, u), u.service
    _updates_assumed(c, u)
    now = Cat(service.active, service.online, service.phase, service.circuit)
    before = Signal(len(now), name="served_before")
    c.m.d.sync += before.eq(now)
    c.check("keeps", ~packets.busy | (now == before))
    c.check("loads_between", ~(service.load & service.runs))
    c.check("preempts_with_load", ~u.preempts | service.load)
    sending = packets.busy | packets.starts
    halted = sending & ~service.online & (service.phase == u.halt.number)
    c.check("stands", ~(u.halt.asked & u.halt.stands & halted))
    c.check("one_class", (service.circuit & (service.circuit - 1)[: len(service.circuit)]) == 0)
    c.cover("preempts", u.preempts)
    c.cover("halts_a_served_phase", u.halt.asked & u.halt.stands & (before == now) & service.active)


WAIT_CYCLES = 12
"""Most cycles until a ready phase is served; without a fairness bound it could be any number."""


@broken(Scheduler, {})
def last_phase_starves(m: Module, sound: Any, ports: Any) -> None:
    """A packet of the last phase is not seen while another port has one of the first phase."""
    first = [own.waiting.any() & (own.phases[0] == 0) for own in ports.ports]
    for k, (mine, theirs) in enumerate(zip(ports.ports, sound.ports, strict=True)):
        hidden = first[1 - k] & (mine.phases[0] == 1)
        m.d.comb += theirs.waiting[0].eq(mine.waiting[0] & ~hidden)


def _is_ready(c: Harness, u: Any, number: Value) -> tuple[Value, Value]:
    """Return whether a phase has all packets and all space, and its class."""
    update = u.update
    used, circuit = Signal(name="used"), Signal.like(update.circuit, name="circuit_of_phase")
    takes, gives = Signal(SPEC.ports, name="takes"), Signal(SPEC.ports, name="gives")
    with c.m.If(update.write & (update.number == number)):
        c.m.d.sync += [used.eq(update.used), circuit.eq(update.circuit)]
        c.m.d.sync += [takes.eq(update.takes), gives.eq(update.gives)]
    waiting, space = (
        Cat(selected(circuit, list(getattr(own, name))) for own in u.ports)
        for name in ("waiting", "space")
    )
    mine = Cat(selected(circuit, list(own.phases)) == number for own in u.ports)
    ready = used & takes.any() & ((waiting & mine) | ~takes).all() & (space | ~gives).all()
    return ready, circuit


@prove(
    lambda: Scheduler(spec=SPEC),
    shows=f"A phase that stays ready is served after {WAIT_CYCLES} cycles at most, if no more "
    "urgent packet waits and each packet ends after two cycles. Other packets of its class and of "
    "less urgent classes, including unicasts, may arrive at any time.",
    omits="other numbers of phases and classes; claims of the guard against starvation; phases "
    "with some of their flows ready; changes of phases meanwhile",
    mutant=last_phase_starves,
    fast=False,
)
def scheduler_wait_is_bounded(c: Harness, u: Any) -> None:
    m, service = c.m, u.service
    packets = _packets_assumed(c, u)
    _updates_assumed(c, u)
    # A packet has two flits at most.
    c.assume(~(packets.busy & service.runs))
    c.assume(~(u.claims.any() | u.holds.any()))
    for circuit in range(len(_PROTOCOL.buffers)):
        c.assume(~service.ran[circuit] | any_of(own.waiting[circuit] for own in u.ports))
    # The dispatcher starts the most urgent unicast that is ready.
    urgent_unicast = any_of(
        own.waiting[0] & own.reaches[0] & (own.phases[0] == _PROTOCOL.online) for own in u.ports
    )
    c.assume(~(packets.starts & service.online) | (service.ran[0] == urgent_unicast))
    number = c.constant(1, "number")
    ready, circuit = _is_ready(c, u, number)
    urgent = Cat(own.waiting[0] for own in u.ports).any() & (circuit != 0)
    served = service.active & ~service.online & (service.phase == number)
    waits = Signal(name="waits")
    waited = Signal(range(WAIT_CYCLES + 2), name="waited")
    m.d.comb += waits.eq(ready & ~urgent & ~served & ~u.halt.asked)
    with m.If(~waits):
        m.d.sync += waited.eq(0)
    with m.Elif(waited != WAIT_CYCLES + 1):
        m.d.sync += waited.eq(waited + 1)
    c.show(waited, "waited_cycles")
    c.check("bound", ~waits | (waited <= WAIT_CYCLES))
    c.cover("waits", waits & (waited == WAIT_CYCLES - 1))
