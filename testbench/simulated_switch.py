"""A switch in Amaranth's simulator, with the interface of a device."""

from collections.abc import Callable, Coroutine
from functools import cached_property
from typing import Any

from amaranth.sim import Simulator

from fred_hw.control.switch_map import switch_map
from fred_hw.protocol import GENERATIONS, HEADER_BITS
from fred_hw.spec import SwitchSpec
from fred_hw.switch.switch import Switch
from testbench.models.endpoint import Endpoint, Flit

__all__ = ["GREETING", "SHAKE", "Recorder", "Rows", "SimulatedSwitch", "Value", "Watch"]

SHAKE = ("valid", "ready")
GREETING = 30
"""Cycles until links are up and both ends of each know the other's credit limits."""

Value = int | str | None
"""A bit, a label, nothing, or "" to continue the previous label; a prefix "3|" sets a colour."""

Watch = dict[str, dict[str, Callable[[], Value]]]
"""Signals to sample, keyed by group and name of a row."""

Rows = dict[str, dict[str, list[Value]]]
"""Sampled values of each cycle, keyed by group and name of a row."""


class Recorder:
    """Runs a bench on a design, and samples rows at the end of each cycle when enabled."""

    def __init__(self, design: Any) -> None:
        self.design = design
        self.recording = False
        self.ctx: Any = None
        self.watch: Watch = {}
        self.rows: Rows = {}

    def run(self, bench: Callable[[], Coroutine[Any, Any, None]]) -> Rows:
        """Run until the bench ends; return the recorded rows."""

        async def process(ctx: Any) -> None:
            self.ctx = ctx
            await bench()

        simulator = Simulator(self.design)
        simulator.add_clock(1e-9)
        simulator.add_testbench(process)
        simulator.run()
        return self.rows

    async def tick(self) -> None:
        if self.recording:
            for group, rows in self.watch.items():
                for name, sample in rows.items():
                    self.rows.setdefault(group, {}).setdefault(name, []).append(sample())
        await self.ctx.tick()

    def set(self, signal: Any, value: int) -> None:
        self.ctx.set(signal, value)

    def get(self, signal: Any) -> int:
        return self.ctx.get(signal)

    def bit(self, signal: Any) -> Callable[[], Value]:
        return lambda: self.get(signal)

    def word(self, valid: Any, label: Callable[[], str]) -> Callable[[], Value]:
        """Return a sampler of a label that is shown only while ``valid`` is high."""
        return lambda: label() if self.get(valid) else None

    def flit(self, user: Any, data: Any) -> Flit:
        """Return a sampler of the flit on a stream with these signals."""
        header, crc = self.get(user) & ((1 << HEADER_BITS) - 1), self.get(user) >> HEADER_BITS
        return Flit(header, self.get(data), crc)


class SimulatedSwitch:
    """A whole switch in Amaranth's simulator, with an NPU at each port.

    Parameters
    ----------
    spec : SwitchSpec
        The switch; small, as a thousand cycles take a second.
    """

    def __init__(self, spec: SwitchSpec) -> None:
        self.spec = spec
        self.dut: Any = Switch(spec=spec)
        self.registers = switch_map(spec)
        self.recorder = Recorder(self.dut)

    def axil(self, name: str) -> Any:
        """Return a signal of the registers' AXI4-Lite slave."""
        return getattr(self.dut, f"s_axil_{name}")

    def axis(self, port: str, name: str) -> Any:
        """Return a signal of an AXI4-Stream; ``port`` is s0, m0, ..."""
        return getattr(self.dut, f"{port}_axis_t{name}")

    def simulate(self, program: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run a program that accesses registers and sends flits; outputs are always accepted."""

        async def bench() -> None:
            await self.greet()
            await program()

        self.recorder.run(bench)

    async def read(self, address: int) -> int:
        """Read a register word."""
        self.recorder.set(self.axil("araddr"), address)
        await self._shake("ar")
        return await self._shake("r")

    async def write(self, address: int, value: int) -> None:
        """Write a register word; address and data are offered together, the response is awaited."""
        for name, one in (("awaddr", address), ("wdata", value), ("wstrb", 15)):
            self.recorder.set(self.axil(name), one)
        await self._shake("aw", "w")
        await self._shake("b")

    def flit(self, port: str) -> Flit | None:
        """Return the flit on a stream, if there is one."""
        r, valid = self.recorder, self.axis(port, "valid")
        return r.flit(self.axis(port, "user"), self.axis(port, "data")) if r.get(valid) else None

    def offer(self, port: str, flit: Flit | None) -> None:
        """Offer a flit, or none, to the switch on a stream."""
        self.recorder.set(self.axis(port, "valid"), flit is not None)
        if flit is not None:
            for name, value in (("data", flit.data), ("user", flit.user), ("last", flit.last)):
                self.recorder.set(self.axis(port, name), value)

    @cached_property
    def npus(self) -> list[Endpoint]:
        """Models of the NPUs at the other ends of the links."""
        return [Endpoint(self.spec, session_id=0) for _ in range(self.spec.ports)]

    async def greet(self) -> None:
        """Accept every output, and run the NPUs until links are up."""
        for port in range(self.spec.ports):
            self.recorder.set(self.axis(f"m{port}", "ready"), 1)
        await self._step(GREETING)

    async def _step(self, cycles: int) -> None:
        """Run the NPUs for a number of cycles."""
        for _ in range(cycles):
            for port, npu in enumerate(self.npus):
                self.offer(f"s{port}", npu.step(self.flit(f"m{port}")))
            await self.recorder.tick()
        for port in range(self.spec.ports):
            self.offer(f"s{port}", None)

    async def exchange(
        self, packets: dict[int, list[int]], phase: int, circuit: int = 0, cycles: int = 200
    ) -> dict[int, list[int]]:
        """Send a packet from some NPUs; return what each NPU receives within a number of cycles."""
        flow = phase, 0
        before = [len(npu.received.get(flow, ())) for npu in self.npus]
        for port, words in packets.items():
            self.npus[port].send(phase, circuit, [words])
        await self._step(cycles)
        new = [npu.received.get(flow, [])[old:] for npu, old in zip(self.npus, before, strict=True)]
        return {
            port: [word for one in came for word in one] for port, came in enumerate(new) if came
        }

    async def wait(self, cycles: int) -> None:
        """Let the NPUs act for so many cycles."""
        await self._step(cycles)

    def restart(self, phase: int, generation: int) -> None:
        """Make all NPUs restart the packet numbers of a phase at 0, in a generation."""
        for npu in self.npus:
            npu.forget(phase, generation % GENERATIONS)

    @property
    def interrupted(self) -> bool:
        """Whether ``irq`` is high."""
        return bool(self.recorder.get(self.dut.irq))

    async def _shake(self, *channels: str) -> int:
        """Complete the handshakes of channels, and return `rdata` at that moment."""
        r, left, found = self.recorder, list(channels), 0
        while left:
            for name in left:
                r.set(self._mine(name), 1)
            done = [n for n in left if r.get(self.axil(f"{n}valid") & self.axil(f"{n}ready"))]
            found = r.get(self.axil("rdata"))
            await r.tick()
            for name in done:
                left.remove(name)
                r.set(self._mine(name), 0)
        return found

    def _mine(self, channel: str) -> Any:
        """Return the handshake signal that the master drives."""
        return self.axil(f"{channel}{'ready' if channel in 'br' else 'valid'}")
