"""The timing diagram of a retransmission: two endpoints, and links that lose a flit."""

from collections import deque
from collections.abc import Callable
from typing import Any

from amaranth.hdl import Module

from fred_hw.endpoint.endpoint import Endpoint
from fred_hw.protocol import KINDS, ProtocolSpec
from fred_hw.spec import SwitchSpec
from testbench.models.endpoint import Flit, FlitCodec
from testbench.simulated_switch import GREETING, Recorder, Value, Watch

from .wavejson import Trace

__all__ = ["called", "retransmission"]

FLIGHT, LOST, LABEL = 3, 3, "1.0"
"""Cycles on a link, place and name of the flit that is lost."""
WORDS, CYCLES, QUIET = 6, 47, 5
"""Words sent, cycles simulated, and those before the drawing begins."""

SPEC = SwitchSpec(
    ports=2,
    format="int8",
    lanes=1,
    protocol=ProtocolSpec(
        phases=2,
        packet_flits=2,
        round_trip_cycles=8,
        buffer_packets=8,
        ack_interval=4,
        window_packets=16,
        nack_timeout_cycles=8,
        packet_timeout_cycles=32,
    ),
)
CODEC = FlitCodec(SPEC)


def called(flit: Flit, codec: FlitCodec = CODEC) -> str:
    """Return the label of a flit."""
    fields = codec.unpack(flit)
    kind = KINDS[fields["kind"]]
    if kind == "data":
        return f"{fields['sequence']}.{fields['index']}"
    return kind[0].upper() + (str(fields["sequence"]) if kind in ("ack", "nack") else "")


class Pair:
    """Two endpoints in the simulator: packets of two words go from one to the other."""

    def __init__(self) -> None:
        self.source: Any = Endpoint(spec=SPEC)
        self.destination: Any = Endpoint(spec=SPEC)
        top = Module()
        top.submodules.source, top.submodules.destination = self.source, self.destination
        self.recorder = Recorder(top)
        self.sent = 0
        # Of each direction: from, to, and the flits between.
        ends, idle = (self.source, self.destination), [None] * FLIGHT
        self.links: list[tuple[Any, Any, deque[Flit | None]]] = [
            (one, other, deque(idle)) for one, other in (ends, ends[::-1])
        ]

    def watch(self) -> Watch:
        """Return the rows that are drawn."""
        r, source, destination = self.recorder, self.source, self.destination
        receive = destination.receive[0]
        return {
            "source": {
                "m_axis": self.leaving(source),
                "s_axis": self.coming(source),
                "rewinds[0]": lambda: r.get(source.rewinds) & 1,
                "idle[0]": lambda: r.get(source.idle) & 1,
            },
            "destination": {
                "s_axis": self.coming(destination),
                "receive[0]": r.word(receive.valid, lambda: str(r.get(receive.data))),
                "m_axis": self.leaving(destination),
            },
        }

    def leaving(self, end: Any) -> Callable[[], Value]:
        return self.recorder.word(end.m_axis_tvalid, lambda: called(self.offered(end)))

    def coming(self, end: Any) -> Callable[[], Value]:
        def label() -> str:
            return called(self.recorder.flit(end.s_axis_tuser, end.s_axis_tdata))

        return self.recorder.word(end.s_axis_tvalid, label)

    def offered(self, end: Any) -> Flit:
        return self.recorder.flit(end.m_axis_tuser, end.m_axis_tdata)

    def set_up(self) -> None:
        """Let circuit 0 carry the flow of phase 0, the others phases without a part."""
        r = self.recorder
        for end in (self.source, self.destination):
            for side in ("send", "receive"):
                for circuit, phase in enumerate((0, 1, 2)):
                    r.set(getattr(end, f"{side}_flow")[circuit].phase, phase)
            r.set(end.m_axis_tready, 1)
        r.set(self.destination.receive[0].ready, 1)

    def cross(self) -> None:
        """Move the flits on both links on by a cycle."""
        r = self.recorder
        for end, other, flight in self.links:
            flit = flight.popleft()
            r.set(other.s_axis_tvalid, flit is not None)
            if flit is not None:
                r.set(other.s_axis_tdata, flit.data)
                r.set(other.s_axis_tuser, flit.user)
            leaves = self.offered(end) if r.get(end.m_axis_tvalid) else None
            if end is self.source and leaves is not None:
                self.sent += 1
                leaves = None if self.sent == LOST else leaves
            flight.append(leaves)

    async def bench(self) -> None:
        r, send, words = self.recorder, self.source.send[0], deque(range(1, WORDS + 1))
        r.watch = self.watch()
        self.set_up()
        for _ in range(GREETING):
            self.cross()
            await r.tick()
        self.sent = 0
        for cycle in range(CYCLES):
            r.recording = cycle >= QUIET
            r.set(send.valid, bool(words))
            r.set(send.data, words[0] if words else 0)
            r.set(send.last, bool(words) and words[0] % 2 == 0)
            self.cross()
            taken = bool(words) and r.get(send.ready)
            await r.tick()
            if taken:
                words.popleft()


def retransmission() -> dict[str, Any]:
    """Show a flit that is lost between two endpoints, and how it is sent again."""
    pair = Pair()
    trace = Trace(pair.recorder.run(pair.bench))
    lost, again = (k for k, v in enumerate(trace.rows["source"]["m_axis"]) if v == LABEL)
    trace.rows["source"]["m_axis"][lost] = f"9|{LABEL}"
    asked, heard = trace.first("destination", "m_axis", "N1"), trace.first("source", "s_axis", "N1")
    came = trace.first("destination", "s_axis", LABEL)
    arrows = [
        (("destination", "m_axis", asked), ("source", "s_axis", heard)),
        (("source", "m_axis", again), ("destination", "s_axis", came)),
    ]
    title = (
        f"Flit {LABEL} (packet.flit) is lost: nack N1, packets from 1 on again, ack A3; C: credits"
    )
    return trace.wave(title, arrows)
