"""Properties of queues."""

from typing import Any

from amaranth.hdl import Module, Signal

from fred_hw.gates.fifo import Fifo
from testbench.faults.fault import broken
from testbench.formal.harness import Harness
from testbench.formal.property import prove

__all__ = ["followed"]


def followed(
    c: Harness, came: Any, gone: Any, word: Any, most: int
) -> tuple[Signal, Signal, Signal]:
    """Follow one word of a queue, chosen freely, by counting the words ahead of it.

    Return the number of words inside, whether the followed word leaves next, and its value.
    """
    m = c.m
    inside, ahead = Signal(range(most + 2), name="inside"), Signal(range(most + 2), name="ahead")
    waits, value = Signal(name="followed"), Signal(len(word), name="followed_word")
    chosen = c.free(1, "chosen")
    m.d.sync += inside.eq(inside + came - gone)
    with m.If(~waits & chosen & came):
        m.d.sync += [waits.eq(1), value.eq(word), ahead.eq(inside - gone)]
    with m.If(waits & gone):
        m.d.sync += ahead.eq(ahead - 1)
        with m.If(ahead == 0):
            m.d.sync += waits.eq(0)
    leaves = Signal(name="followed_leaves")
    m.d.comb += leaves.eq(waits & (ahead == 0))
    c.show(inside, "words_inside")
    return inside, leaves, value


@broken(Fifo, {})
def takes_always(m: Module, sound: Any, ports: Any) -> None:
    """A word is taken whenever there is space, offered or not."""
    m.d.comb += sound.i.valid.eq(1)


@prove(
    lambda: Fifo(shape=2, depth=4),
    shows="Every word leaves once, unchanged and in order; no overflow, no underflow, and `used` "
    "counts the words.",
    omits="other depths and widths",
    mutant=takes_always,
)
def fifo_keeps_order(c: Harness, u: Any) -> None:
    came, gone = Signal(), Signal()
    c.m.d.comb += [came.eq(u.i.valid & u.i.ready), gone.eq(u.o.valid & u.o.ready)]
    inside, leaves, word = followed(c, came, gone, u.i.payload, 4)
    c.check("count", u.used == inside)
    c.check("overflow", inside <= 4)
    c.check("underflow", ~u.o.valid | (inside != 0))
    with c.m.If(leaves & u.o.valid):
        c.check("order", u.o.payload == word)
    c.check("progress", u.o.valid == (inside != 0))
    c.check("accepts", u.i.ready == (inside != 4))
    c.cover("full", inside == 4)
    c.cover("followed_word_leaves", leaves & gone)
