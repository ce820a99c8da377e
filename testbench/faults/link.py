"""Broken parts of a link."""

from typing import Any

from amaranth.hdl import Module, Signal

from fred_hw.link.circuit_credits import CircuitCredits
from fred_hw.link.flit_check import FlitCheck
from fred_hw.link.framer import Framer
from fred_hw.link.sender import Sender
from fred_hw.link.session import LinkSession

from .fault import broken

__all__ = [
    "any_answer",
    "any_partner",
    "keeps_link_sequences",
    "no_crc",
    "no_credit",
    "stomp_keeps_crc",
    "wrong_bit",
]


@broken(
    FlitCheck,
    {
        "switch": "flow_goes_on_after_one_fault/direction=to_switch/kind=bit_of_data",
        "loaded switch": "want",
        "link": "wrong",
        "lossy mesh": "wrong",
    },
)
def no_crc(m: Module, sound: Any, ports: Any) -> None:
    """Every flit is accepted, whatever its CRC."""
    m.d.comb += [ports.good.eq(sound.good | sound.bad), ports.bad.eq(0)]


@broken(CircuitCredits, {"loaded switch": "but the limit is", "link": "credit"})
def no_credit(m: Module, sound: Any, ports: Any) -> None:
    """Packets are started without checking credits."""
    m.d.comb += ports.space.eq(1)


@broken(Sender, {"loaded switch": "want"})
def wrong_bit(m: Module, sound: Any, ports: Any) -> None:
    """A bit of the data changes in one flit of 256, before its CRC is computed."""
    count = Signal(8)
    m.d.sync += count.eq(count + ports.i.valid)
    m.d.comb += sound.i.data.eq(ports.i.data ^ (count == 0))


@broken(Framer, {"loaded switch": "tlast 1 at flit"})
def stomp_keeps_crc(m: Module, sound: Any, ports: Any) -> None:
    """The end of a broken packet gets a valid CRC."""
    m.d.comb += sound.i.payload.frame.bad.eq(0)


@broken(LinkSession, {"switch": "neighbour_with_other_sizes_is_refused_and_reported"})
def any_partner(m: Module, sound: Any, ports: Any) -> None:
    """A neighbour is accepted as compatible, whatever its handshake says."""
    m.d.comb += sound.link.came.payload.digest.eq(sound.spec.digest)


@broken(LinkSession, {"switch": "npu_that_reboots_in_traffic_comes_back_and_others_go_on"})
def keeps_link_sequences(m: Module, sound: Any, ports: Any) -> None:
    """A restarted link continues with the sequence numbers and limits of the old session."""
    m.d.comb += ports.link.begins.eq(0)


@broken(LinkSession, {"switch": "handshake_to_an_earlier_session_makes_no_link"})
def any_answer(m: Module, sound: Any, ports: Any) -> None:
    """A handshake counts as an answer to this session, whichever session it answers."""
    m.d.comb += sound.link.came.payload.peer_session_id.eq(sound.session_id)
