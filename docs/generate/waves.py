"""Timing diagrams: the hardware runs in Amaranth's simulator, and what it did becomes WaveJSON."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Module

from fred_hw.compiler.configuration import Configuration
from fred_hw.compiler.flows import Flow
from fred_hw.compiler.routing import route
from fred_hw.control.access import AsyncAccess
from fred_hw.control.phase_entry import entry_word
from fred_hw.datapath.interconnect import Interconnect
from fred_hw.endpoint.endpoint import Endpoint
from fred_hw.protocol import HEADER_BITS, KINDS, ProtocolSpec
from fred_hw.spec import SwitchSpec
from testbench.models.endpoint import Flit, FlitCodec

from .device import SHAKE, Recorder, Rows, SimulatedSwitch, Value

__all__ = ["WAVES"]


Place = tuple[str, str, int]
"""Group, name and cycle: where an arrow starts or ends."""


@dataclass
class Trace:
    """What the rows showed, cycle by cycle, by group and name."""

    rows: Rows

    def first(self, group: str, name: str, *values: Value) -> int:
        """Return the first cycle in which a row showed one of the values, or any label."""
        row = self.rows[group][name]
        return next(k for k, v in enumerate(row) if (v in values if values else v is not None))

    def wave(
        self, title: str, arrows: Sequence[tuple[Place, Place]] = (), scale: int = 1
    ) -> dict[str, Any]:
        """Return WaveJSON; ``scale`` widens the cycles."""
        letters = iter("ABCDEFGHIJKLMNOPQRSTUVWXYZ")  # capitals are not drawn
        named = {place: next(letters) for arrow in arrows for place in arrow}
        edges = [f"{named[start]}~>{named[end]}" for start, end in arrows]
        nodes: dict[tuple[str, str], dict[int, str]] = {}
        for (group, name, cycle), letter in named.items():
            nodes.setdefault((group, name), {})[cycle] = letter
        signal: list[Any] = [{"name": "clk", "wave": "p" + "." * (self.cycles - 1)}]
        for group, rows in self.rows.items():
            drawn = [lane(name, values, nodes.get((group, name))) for name, values in rows.items()]
            signal += [[group, *drawn]]
        found = {"signal": signal, "head": {"text": title, "tock": 0}, "config": {"hscale": scale}}
        return {**found, "edge": edges} if edges else found

    @property
    def cycles(self) -> int:
        return len(next(iter(next(iter(self.rows.values())).values())))


def lane(name: str, values: Sequence[Value], nodes: dict[int, str] | None) -> dict[str, Any]:
    """Return a row of WaveJSON: bits as levels, labels as boxes, nothing as a line."""
    wave, data, before = "", [], object()
    for value in values:
        if value == "" or (value == before and not isinstance(value, str)):
            wave += "."
        elif value is None:
            wave += "z"
        elif isinstance(value, int):
            wave += str(value)
        else:
            colour, _, label = value.rpartition("|")
            wave += colour or "="
            data.append(label)
        before = value
    found: dict[str, Any] = {"name": name, "wave": wave}
    if data:
        found["data"] = data
    if nodes:
        found["node"] = "".join(nodes.get(k, ".") for k in range(len(values)))
    return found


def routed(flows: Sequence[Flow], spec: SwitchSpec) -> Configuration:
    """Return the configuration of flows that do not conflict."""
    configuration = route(flows, spec.ports, spec.middle).configuration
    assert configuration is not None
    return configuration


def interconnect() -> dict[str, Any]:
    """Show flits that go in, and come out a latency later, while the configuration changes."""
    spec = SwitchSpec(ports=4, format="int8", lanes=1, adder_registers=1)
    dut: Any = Interconnect(spec=spec)
    sets = {
        "A": (Flow([0, 1, 2, 3], [0, 1, 2, 3]),),
        "B": (Flow([0, 1], [1]), Flow([2], [0, 2, 3])),
    }
    words = {name: routed(flows, spec).pack() for name, flows in sets.items()}
    program = [("A", [1, 2, 3, 4]), ("B", [10, 20, 40, None]), ("A", [5, 6, 7, 8])]
    program.append(("B", [1, 1, 9, None]))
    r = Recorder(dut)

    async def bench() -> None:
        idle = {"i": 1, "o": 1 + dut.latency}
        colours = {side: deque[str | None]([None] * cycles) for side, cycles in idle.items()}

        def flit(side: str, port: Any) -> Callable[[], Value]:
            return r.word(port.valid, lambda: f"{colours[side][0]}{r.get(port.data)}")

        flits = {
            side: {f"{side}[{k}]": flit(side, port) for k, port in enumerate(getattr(dut, side))}
            for side in ("i", "o")
        }
        now: list[str | None] = [None]
        r.watch = {"in": {"configuration": lambda: now[0], **flits["i"]}, "out": flits["o"]}
        r.recording = True
        await r.tick()
        for name, numbers in [*program, *[(None, [None] * 4)] * (dut.latency + 1)]:
            now[0] = name and COLOURS[name] + name
            for side in colours.values():
                side.append(name and COLOURS[name])
                side.popleft()
            r.set(dut.configuration, words[name] if name else 0)
            for port, number in zip(dut.i, numbers, strict=True):
                r.set(port.valid, number is not None)
                r.set(port.data, number or 0)
            await r.tick()

    trace = Trace(r.run(bench))
    start, end = trace.first("in", "i[0]"), trace.first("out", "o[0]")
    title = f"Configuration A adds all four, B adds 0 and 1 and copies 2: {end - start} cycles"
    return trace.wave(title, [(("in", "i[0]", start), ("out", "o[0]", end))])


COLOURS = {"A": "3|", "B": "5|"}


BARE = SwitchSpec(ports=2, format="int8", lanes=1, protocol=ProtocolSpec(link=False, phases=2))


async def all_reduce(device: SimulatedSwitch) -> None:
    """Write an all-reduce of both ports as phase 1."""
    flows = [Flow([0, 1], [0, 1])]
    access = AsyncAccess(device.registers, device.read, device.write)
    await access.write_phase(1, entry_word(BARE, routed(flows, BARE), flows, circuit=0))


def axi_lite() -> dict[str, Any]:
    """Show the entry of a phase being written, committed and found to be accepted."""
    device = SimulatedSwitch(BARE)
    r = device.recorder

    def channel(letters: str, **labels: Callable[[], str]) -> dict[str, Callable[[], Value]]:
        valid = device.axil(f"{letters}valid")
        handshake = {f"{letters}{one}": r.bit(device.axil(letters + one)) for one in SHAKE}
        return {**handshake, **{key: r.word(valid, one) for key, one in labels.items()}}

    def hexadecimal(signal: str) -> Callable[[], str]:
        return lambda: f"{r.get(device.axil(signal)):#x}"

    async def bench() -> None:
        r.watch = {
            "write": {
                **channel("aw", awaddr=hexadecimal("awaddr")),
                **channel("w", wdata=hexadecimal("wdata")),
                **channel("b", bresp=lambda: "SLVERR" if r.get(device.axil("bresp")) else "OKAY"),
            },
            "read": {
                **channel("ar", araddr=hexadecimal("araddr")),
                **channel("r", rdata=hexadecimal("rdata")),
            },
        }
        r.recording = True
        await r.tick()
        await all_reduce(device)

    title = "ENTRY, PHASE and COMMAND are written, COMMAND_STATUS read until it is not busy"
    return Trace(r.run(bench)).wave(title, scale=2)


def axi_stream() -> dict[str, Any]:
    """Show a reduction without the link layer: it waits for both inputs, then for both outputs."""
    device = SimulatedSwitch(BARE)
    r, axis = device.recorder, device.axis

    def stream(port: str) -> dict[str, Callable[[], Value]]:
        valid, held = axis(port, "valid"), False

        def data() -> str:
            nonlocal held
            before, held = held, not r.get(axis(port, "ready"))
            return "" if before else str(r.get(axis(port, "data")))

        return {
            **{f"t{name}": r.bit(axis(port, name)) for name in SHAKE},
            "tdata": r.word(valid, data),
            "tlast": r.bit(axis(port, "last")),
        }

    async def bench() -> None:
        await all_reduce(device)
        r.watch = {f"{port}_axis": stream(port) for port in ("s0", "s1", "m0", "m1")}
        r.recording = True
        packets = {"s0": deque([1, 2, 3]), "s1": deque([10, 20, 30])}
        for cycle in range(18):
            for start, (port, words) in zip((1, 3), packets.items(), strict=True):
                here = cycle >= start and bool(words)
                r.set(axis(port, "valid"), here)
                r.set(axis(port, "data"), words[0] if here else 0)
                r.set(axis(port, "last"), here and len(words) == 1)
                r.set(axis(port, "user"), 1)
            for port in ("m0", "m1"):
                r.set(axis(port, "ready"), not (port == "m0" and 12 <= cycle < 15))
            taken = [p for p in packets if r.get(axis(p, "valid") & axis(p, "ready"))]
            await r.tick()
            for port in taken:
                packets[port].popleft()

    trace = Trace(r.run(bench))
    start = trace.first("s1_axis", "tvalid", 1)
    end = trace.first("m0_axis", "tvalid", 1)
    title = (
        f"Packets of one flow at ports 0 and 1 are added, both get the sum: {end - start} cycles"
    )
    return trace.wave(title, [(("s1_axis", "tvalid", start), ("m0_axis", "tvalid", end))])


def retransmission() -> dict[str, Any]:
    """Show a flit that is lost between two endpoints, and how it is sent again."""
    protocol = ProtocolSpec(
        phases=2,
        packet_flits=2,
        round_trip_cycles=8,
        buffer_packets=8,
        ack_interval=4,
        window_packets=16,
        idle_cycles=8,
        patience_cycles=32,
    )
    spec = SwitchSpec(ports=2, format="int8", lanes=1, protocol=protocol)
    codec = FlitCodec(spec)
    top = Module()
    ends: dict[str, Any] = {name: Endpoint(spec=spec) for name in ("source", "destination")}
    for name, end in ends.items():
        top.submodules[name] = end
    source, destination = ends.values()
    r = Recorder(top)

    def leaving(end: Any) -> Flit:
        user = r.get(end.m_axis_tuser)
        header, crc = user & ((1 << HEADER_BITS) - 1), user >> HEADER_BITS
        return Flit(header, r.get(end.m_axis_tdata), crc)

    def called(flit: Flit) -> str:
        fields = codec.unpack(flit)
        kind = KINDS[fields["kind"]]
        if kind == "data":
            return f"{fields['sequence']}.{fields['index']}"
        return kind[0].upper() + (str(fields["sequence"]) if kind in ("ack", "nack") else "")

    def coming(end: Any) -> str:
        user = r.get(end.s_axis_tuser)
        return called(Flit(user & ((1 << HEADER_BITS) - 1), 0, 0))

    def links() -> Iterator[tuple[Any, Any, deque[Flit | None]]]:
        for one, other in ((source, destination), (destination, source)):
            yield one, other, deque([None] * FLIGHT)

    async def bench() -> None:
        given = source.send[0], destination.receive[0]
        send, receive = given
        r.watch = {
            "source": {
                "m_axis": r.word(source.m_axis_tvalid, lambda: called(leaving(source))),
                "s_axis": r.word(source.s_axis_tvalid, lambda: coming(source)),
                "gone_back[0]": lambda: r.get(source.gone_back) & 1,
                "idle[0]": lambda: r.get(source.idle) & 1,
            },
            "destination": {
                "s_axis": r.word(destination.s_axis_tvalid, lambda: coming(destination)),
                "receive[0]": r.word(receive.valid, lambda: str(r.get(receive.data))),
                "m_axis": r.word(destination.m_axis_tvalid, lambda: called(leaving(destination))),
            },
        }
        for end in ends.values():
            for side in ("send", "receive"):
                # Circuit 0 carries the flow of phase 0; the others have phases without a part.
                for circuit, phase in enumerate((0, 1, 2)):
                    r.set(getattr(end, f"{side}_phase")[circuit], phase)
            r.set(end.m_axis_tready, 1)
        r.set(receive.ready, 1)
        words, crossing, number = deque(range(1, 7)), list(links()), 0
        for cycle in range(47):
            r.recording = cycle >= 5
            r.set(send.valid, bool(words))
            r.set(send.data, words[0] if words else 0)
            r.set(send.last, bool(words) and words[0] % 2 == 0)
            for end, other, flight in crossing:
                flit = flight.popleft()
                r.set(other.s_axis_tvalid, flit is not None)
                if flit is not None:
                    r.set(other.s_axis_tdata, flit.data)
                    r.set(other.s_axis_tuser, flit.user)
                leaves = leaving(end) if r.get(end.m_axis_tvalid) else None
                if end is source and leaves is not None:
                    number += 1
                    leaves = None if number == LOST else leaves
                flight.append(leaves)
            taken = bool(words) and r.get(send.ready)
            await r.tick()
            if taken:
                words.popleft()

    trace = Trace(r.run(bench))
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


FLIGHT, LOST, LABEL = 3, 3, "1.0"

WAVES: dict[str, Callable[[], dict[str, Any]]] = {
    "interconnect-timing": interconnect,
    "axi-lite-timing": axi_lite,
    "axi-stream-timing": axi_stream,
    "retransmission-timing": retransmission,
}
"""Name of each diagram in docs/figures, and what makes it."""
