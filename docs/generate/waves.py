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
from testbench.models.endpoint import Flit, FlitCodec
from testbench.simulated_switch import SHAKE, Recorder, SimulatedSwitch, Value

from .retransmission import called, retransmission
from .wavejson import Trace

__all__ = ["WAVES"]


def routed(flows: Sequence[Flow], spec: SwitchSpec) -> Configuration:
    """Return the configuration of flows that do not conflict."""
    configuration = route(flows, spec.ports, spec.middle_switches).configuration
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


PAIR = SwitchSpec(ports=2, format="int8", lanes=1, protocol=ProtocolSpec(phases=2))


async def all_reduce(device: SimulatedSwitch) -> None:
    """Write an all-reduce of both ports as phase 1."""
    flows = [Flow([0, 1], [0, 1])]
    access = AsyncAccess(device.registers, device.read, device.write)
    await access.write_phase(1, entry_word(PAIR, routed(flows, PAIR), flows, circuit=0))


def axi_lite() -> dict[str, Any]:
    """Show the entry of a phase being written, committed and found to be accepted."""
    device = SimulatedSwitch(PAIR)
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
    """Show a reduction: it waits for both inputs, and one output is held back."""
    device, codec = SimulatedSwitch(PAIR), FlitCodec(PAIR)
    r, axis = device.recorder, device.axis

    def label(port: str, show: Callable[[Flit], str]) -> Callable[[], Value]:
        held = False

        def sample() -> Value:
            nonlocal held
            before, held = held, not r.get(axis(port, "ready"))
            flit = device.flit(port)
            return None if flit is None else "" if before else show(flit)

        return sample

    def stream(port: str) -> dict[str, Callable[[], Value]]:
        return {
            **{f"t{name}": r.bit(axis(port, name)) for name in SHAKE},
            "tuser": label(port, lambda flit: called(flit, codec)),
            "tdata": label(port, lambda flit: str(flit.data)),
        }

    def packet(*words: int) -> deque[Flit]:
        last = len(words) - 1
        return deque(codec.pack(word, phase=1, index=k, last=last) for k, word in enumerate(words))

    async def bench() -> None:
        await device.greet()
        await all_reduce(device)
        r.watch = {f"{port}_axis": stream(port) for port in ("s0", "s1", "m0", "m1")}
        r.recording = True
        packets = {"s0": packet(1, 2, 3), "s1": packet(10, 20, 30)}
        for cycle in range(20):
            for start, (port, flits) in zip((1, 3), packets.items(), strict=True):
                device.offer(port, flits.popleft() if cycle >= start and flits else None)
            for port in ("m0", "m1"):
                r.set(axis(port, "ready"), not (port == "m0" and 13 <= cycle < 16))
            await r.tick()

    trace = Trace(r.run(bench))
    start = trace.first("s1_axis", "tvalid", 1)
    end = trace.first("m0_axis", "tvalid", 1)
    title = (
        f"Flits (packet.flit) of ports 0 and 1 are added, both get the sums: {end - start} cycles"
    )
    return trace.wave(title, [(("s1_axis", "tvalid", start), ("m0_axis", "tvalid", end))])


WAVES: dict[str, Callable[[], dict[str, Any]]] = {
    "interconnect-timing": interconnect,
    "axi-lite-timing": axi_lite,
    "axi-stream-timing": axi_stream,
    "retransmission-timing": retransmission,
}
"""Name of each diagram in docs/figures, and what makes it."""
