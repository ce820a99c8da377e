"""Preparation of an exchange that adds the received data to memory."""

from amaranth.hdl import Module, Mux, Value
from amaranth.lib import data

from fred_hw.gates.wire import wire
from fred_hw.spec import SwitchSpec

from .work import count_bits

__all__ = ["convert_exchange_reduce"]


def convert_exchange_reduce(m: Module, spec: SwitchSpec, work: data.View, applies: Value) -> Value:
    """Convert a prepared exchange to a two-member reduce-scatter; return whether it is refused.

    A reduce-scatter of two sends one block, and adds its other block of memory to what it receives.
    Here each of the two blocks may be anywhere, and the peers of both directions differ. The buffer
    begins with the lower block. A slot has a part of each block.

    The exchange is refused if it sends and receives blocks of different sizes, or blocks that
    overlap or are too far apart for a work item.

    Parameters
    ----------
    m : Module
        Module to which the conversion is added.
    spec : SwitchSpec
        Sizes.
    work : View of work_layout(spec)
        The exchange.
    applies : Value
        Convert the exchange in this cycle.
    """
    count = count_bits(spec)
    sends, comes = work.total != 0, work.direct != 0
    both = wire(m, "reduces_and_sends", sends & comes)
    words = len(work.source)
    apart = wire(m, "blocks_apart", work.source - work.destination)
    sent_first = wire(m, "sent_block_first", apart[words])
    distance = wire(
        m,
        "block_distance",
        Mux(sent_first, work.destination - work.source, work.source - work.destination)[:words],
    )
    size = wire(m, "block_size", Mux(sends, work.total, work.direct))
    total = wire(m, "blocks_total", distance[: count + 1] + size)
    with m.If(applies):
        m.d.sync += [
            work.block.eq(size),
            work.message.eq(spec.endpoint.chunk_flits // 2),
            work.last_place.eq(spec.endpoint.chunk_flits // 2),
            work.total.eq(Mux(both, total, size)),
            work.first_offset.eq(Mux(both, Mux(sent_first, 0, distance), Mux(sends, 0, size))),
            work.last_offset.eq(Mux(both & sent_first, distance, 0)),
            work.direct.eq(0),
        ]
        with m.If(comes):
            m.d.sync += [work.parts.eq(2), work.receives.eq(1), work.reduces.eq(1)]
            m.d.sync += work.stores.eq(0)
            with m.If(~both | ~sent_first):
                m.d.sync += work.source.eq(work.destination)
            with m.Else():
                m.d.sync += work.destination.eq(work.source)
    far = distance[count:].any() | total[count:].any()
    misfits = far | (distance < size) | (work.total != work.direct)
    return applies & both & misfits
