"""Timing diagrams: the hardware runs in Amaranth's simulator, and what it did becomes WaveJSON."""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from fred_hw.compiler.configuration import Configuration
from fred_hw.compiler.flows import Flow
from fred_hw.compiler.routing import route
from fred_hw.control.access import AsyncAccess
from fred_hw.control.phase_entry import entry_word
from fred_hw.datapath.interconnect import Interconnect
from fred_hw.protocol import ProtocolSpec
from fred_hw.spec import SwitchSpec

from .device import SHAKE, Recorder, SimulatedSwitch, Value
from .retransmission import retransmission
from .wavejson import Trace

__all__ = ["WAVES"]


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


WAVES: dict[str, Callable[[], dict[str, Any]]] = {
    "interconnect-timing": interconnect,
    "axi-lite-timing": axi_lite,
    "axi-stream-timing": axi_stream,
    "retransmission-timing": retransmission,
}
"""Name of each diagram in docs/figures, and what makes it."""
