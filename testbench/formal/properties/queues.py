"""Properties of the queues of an input port."""

from typing import Any

from amaranth.hdl import Cat, Module, Signal

from fred_hw.switch.ports.circuit_queue import CircuitQueue
from testbench.faults.fault import broken
from testbench.formal.harness import Harness
from testbench.formal.properties.fifo import followed
from testbench.formal.properties.links import BUFFER, SPEC
from testbench.formal.property import Bound, prove

__all__: list[str] = []


def _numbers_assumed(c: Harness, u: Any) -> None:
    """Assume the memory of expected numbers in an input port, with one phase.

    A packet that starts makes the next number the expected one. Numbers and phases change only
    while ``changed`` or ``overtaken``, and then no packet of this queue starts.
    """
    number = Cat(u.due, u.generation)
    kept, read = Signal(len(number)), Signal(len(number))
    serves = Signal.like(u.serves)
    renewed, changes = c.free(len(number), "renewed"), u.changed | u.overtaken
    first = u.descriptor
    with c.m.If(changes):
        c.m.d.sync += kept.eq(renewed)
    with c.m.Elif(u.start & (first.phase != SPEC.protocol.online)):
        c.m.d.sync += kept.eq(Cat((first.sequence + 1)[: len(u.due)], first.generation))
    c.m.d.sync += [read.eq(kept), serves.eq(u.serves)]
    c.assume(number == read)
    c.assume((u.serves == serves) | u.changed)
    c.assume(~(changes & u.start))


def _packets_assumed(c: Harness, u: Any) -> None:
    """Assume that a flit starts a packet or continues the one that arrived last."""
    packet, opened = Signal(len(u.mark.as_value()) - 2), Signal()
    own = Cat(u.mark.descriptor, u.mark.exit)
    with c.m.If(u.arrives):
        c.m.d.sync += [packet.eq(own), opened.eq(u.ready & ~u.mark.last)]
    c.assume(~u.arrives | u.mark.first | (opened & (packet == own)))


@broken(CircuitQueue, {})
def payload_misplaced(m: Module, sound: Any, ports: Any) -> None:
    """The payload of a flit that arrives while another one leaves is stored at a wrong address."""
    with m.If(ports.take):
        m.d.comb += ports.tail.eq(sound.tail ^ 1)


@prove(
    lambda: CircuitQueue(spec=SPEC),
    shows="Packets are offered in the order of their arrival, with their descriptor, output port "
    "and payload address. The queue never holds more flits than fit.",
    omits="larger buffers; which packets are dropped",
    mutant=payload_misplaced,
    bound=Bound(
        10, "two packets of two flits fill the buffer; each is checked in 3 cycles and sent"
    ),
    fast=False,
)
def circuit_queue_keeps_order(c: Harness, u: Any) -> None:
    _numbers_assumed(c, u)
    _packets_assumed(c, u)
    c.assume(~u.start | (u.waiting & u.take))
    c.assume(~(u.take & u.waiting) | u.start)
    c.assume(~u.answered | u.asks)
    # The number that is read in the cycle of a start would be that before it.
    c.assume(~u.prefetched | (u.arrives & u.mark.first & ~u.start))
    word = Cat(u.mark.descriptor, u.mark.exit, u.tail)
    inside, leaves, value = followed(c, u.enters, u.leaves, word, BUFFER + 1)
    with c.m.If(leaves & u.waiting):
        c.check("packet", Cat(u.descriptor, u.exit, u.place) == value)
    c.check("fits", (u.used <= BUFFER) & (inside <= BUFFER))
    c.check("ready", u.ready == (u.used != BUFFER))
    c.check("underflow", ~u.leaves | (inside != 0))
    c.check("offered", ~u.waiting | (inside != 0))
    c.cover("started", leaves & u.start & (inside > 1))
    c.cover("full", u.used == BUFFER)
