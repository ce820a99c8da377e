"""Buffers and acks of a link."""

from collections.abc import Iterator

from fred_hw.published import PORT_BYTES_PER_S
from perfmodel.constants import NUMBER_BYTES
from perfmodel.published import ACK_SHARE, BUFFER, LINK_LATENCY_S
from perfmodel.switch_timing.record import load_record
from studies.section import SECTIONS, ReproduceRow, Section, Setting, bound, number

__all__ = ["link"]

_RECORD = "l1-12"


def link(_setting: Setting) -> Iterator[ReproduceRow]:
    """Yield buffers and acks of the co-simulated switch."""
    record = load_record(_RECORD).record
    spec = record.spec
    flit_bytes = spec.lanes * NUMBER_BYTES
    needed = spec.protocol.buffer_flits * flit_bytes / 1024
    yield number(
        "link/buffer",
        "buffer of a virtual channel of a port that sustains full rate [KB]",
        BUFFER,
        needed,
        "co-simulated: a packet starts when there is space for all of it; credits take cycles too",
        exact=True,
        readings={"600 GB/s x 2 x 20 ns alone": PORT_BYTES_PER_S * 2 * LINK_LATENCY_S / 1e3},
    )
    assert record.switch is not None
    yield bound(
        "link/acks",
        "share of the link rate that acks take [%]",
        ACK_SHARE,
        100 * record.switch.ack_share,
        f"counted in co-simulation, record {_RECORD}",
    )


SECTIONS.add("link", Section(link, {"link": "The link"}), rank=1.5)
