"""Agents of the interconnect bench: source, monitor, scoreboard.

Inputs are written right after a rising edge and outputs are read at the falling edge, when they
have the values that the next rising edge samples, in every simulator. Cycles are counted from the
release of the reset; the cycle of a flit is the one in which it is on the port.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from cocotb.triggers import FallingEdge, RisingEdge

from fred_hw.spec import SwitchSpec
from testbench.models.golden import AnyConfiguration, Words, deliver, lanes_of, word_of

from .outputs import start_clock

__all__ = ["InterconnectBench", "Monitor", "Scoreboard", "Source", "Stimulus"]


@dataclass(frozen=True)
class Stimulus:
    """What one cycle puts on the ports.

    Parameters
    ----------
    configuration : Configuration, CrossbarConfiguration or BenesConfiguration
        State of the micro-switches for the flits of this cycle.
    flits : Sequence of int or None
        Flit of each input port, or None.
    """

    configuration: AnyConfiguration
    flits: Sequence[int | None]


class Source:
    """Driver that writes one stimulus per cycle to the input ports, updating only changes."""

    def __init__(self, dut: Any, spec: SwitchSpec) -> None:
        self.word = dut.configuration
        self.valid = [dut[f"i__{port}__valid"] for port in range(spec.ports)]
        self.data = [dut[f"i__{port}__data"] for port in range(spec.ports)]
        # Before the first write the offered values are unknown.
        self.shown: list[int] = [1] * spec.ports
        self.configuration: AnyConfiguration | None = None

    def clear(self) -> None:
        """Drive no flits."""
        for port, valid in enumerate(self.valid):
            if self.shown[port]:
                valid.value = 0
                self.shown[port] = 0

    def write(self, stimulus: Stimulus) -> None:
        """Drive the flits and the configuration of one cycle."""
        if stimulus.configuration is not self.configuration:
            self.configuration = stimulus.configuration
            self.word.value = stimulus.configuration.pack()
        for port, flit in enumerate(stimulus.flits):
            offered = int(flit is not None)
            if offered != self.shown[port]:
                self.valid[port].value = offered
                self.shown[port] = offered
            if flit is not None:
                self.data[port].value = flit


class Monitor:
    """Monitor that passes on each flit of an output port as (port, flit)."""

    def __init__(self, dut: Any, spec: SwitchSpec) -> None:
        self.valid = [dut[f"o__{port}__valid"] for port in range(spec.ports)]
        self.data = [dut[f"o__{port}__data"] for port in range(spec.ports)]

    def read(self, on_flit: Callable[[int, int], None]) -> None:
        """Read all ports at a falling edge."""
        for port, valid in enumerate(self.valid):
            if int(valid.value):
                on_flit(port, int(self.data[port].value))


@dataclass
class Scoreboard:
    """Scoreboard that compares each port's flits in order with those of the golden model.

    The latency of each flit is counted, not assumed: ``latencies`` holds every value seen.
    """

    spec: SwitchSpec
    expected: list[deque[tuple[int, int]]] = field(init=False)
    latencies: set[int] = field(default_factory=set)
    arrivals: list[list[int]] = field(init=False)
    matched: int = 0

    def __post_init__(self) -> None:
        self.expected = [deque() for _ in range(self.spec.ports)]
        self.arrivals = [[] for _ in range(self.spec.ports)]

    def expect(self, cycle: int, stimulus: Stimulus) -> None:
        """Add the flits that the stimulus of ``cycle`` must deliver."""
        inputs: list[Words | None] = [
            None if flit is None else lanes_of(flit, self.spec) for flit in stimulus.flits
        ]
        for port, words in enumerate(deliver(self.spec, stimulus.configuration, inputs)):
            if words is not None:
                self.expected[port].append((cycle, word_of(words, self.spec)))

    def check(self, cycle: int, port: int, flit: int) -> None:
        """Check a flit that appeared on an output port in ``cycle``."""
        assert self.expected[port], f"cycle {cycle}: port {port} sent {flit:#x}, which none sent it"
        sent, want = self.expected[port].popleft()
        assert flit == want, (
            f"cycle {cycle}: port {port} sent {flit:#x}, not {want:#x} for cycle {sent}"
        )
        self.latencies.add(cycle - sent)
        self.arrivals[port].append(cycle)
        self.matched += 1

    @property
    def missing(self) -> int:
        """Number of expected flits that have not arrived."""
        return sum(len(queue) for queue in self.expected)

    def finish(self, minimum: int = 1) -> int:
        """Check that no flit is missing and that all had the same latency; return it [cycles]."""
        assert self.missing == 0, f"{self.missing} flits were not delivered"
        assert self.matched >= minimum, f"only {self.matched} flits came, not {minimum}"
        assert len(self.latencies) == 1, f"latencies differ: {sorted(self.latencies)} cycles"
        return next(iter(self.latencies))


class InterconnectBench:
    """The device with its agents; every test starts with a reset."""

    def __init__(self, dut: Any, spec: SwitchSpec) -> None:
        self.dut, self.spec = dut, spec
        self.source = Source(dut, spec)
        self.monitor = Monitor(dut, spec)
        self.board = Scoreboard(spec)
        self.cycle = 0

    async def start(self) -> None:
        """Start the clock and hold the reset for three cycles."""
        self.source.clear()
        self.dut.configuration.value = 0
        for data in self.source.data:
            data.value = 0
        start_clock(self.dut)
        await self.reset()

    async def reset(self, cycles: int = 3) -> None:
        """Reset the device; flits inside are lost and no longer expected."""
        self.dut.rst.value = 1
        self.source.clear()
        for _ in range(cycles):
            await RisingEdge(self.dut.clk)
        self.dut.rst.value = 0
        self.board = Scoreboard(self.spec)

    async def step(self, stimulus: Stimulus | None) -> None:
        """Drive one cycle's stimulus, and read the outputs of the same cycle."""
        if stimulus is None:
            self.source.clear()
        else:
            self.source.write(stimulus)
            self.board.expect(self.cycle, stimulus)
        await FallingEdge(self.dut.clk)
        self.monitor.read(lambda port, flit: self.board.check(self.cycle, port, flit))
        await RisingEdge(self.dut.clk)
        self.cycle += 1

    async def follow(self, stimuli: Iterator[Stimulus | None]) -> None:
        """Play stimuli, one per cycle, immediately after those played before."""
        for stimulus in stimuli:
            await self.step(stimulus)

    async def play(self, stimuli: Iterator[Stimulus | None]) -> None:
        """Play stimuli, one per cycle, then wait until all flits should have arrived."""
        await self.follow(stimuli)
        await self.arrive()

    async def arrive(self) -> None:
        """Wait until all flits have arrived or should have arrived."""
        left = self._long()
        while self.board.missing and left:
            await self.step(None)
            left -= 1

    async def drain(self) -> None:
        """Wait without driving flits, longer than any path, to detect stray flits."""
        for _ in range(self._long()):
            await self.step(None)

    async def finish(self, minimum: int = 1) -> int:
        """Finish a test: no flit may be missing or left; returns as :meth:`Scoreboard.finish`.

        Any stray flit from before the last stimuli has been compared with one of them and failed.
        """
        await self.drain()
        return self.board.finish(minimum)

    def _long(self) -> int:
        return 8 + 2 * self._depth()

    def _depth(self) -> int:
        """Upper bound of a flit's latency: eight stages for each split [cycles]."""
        spec = self.spec
        stages = 2 * spec.ports.bit_length() + 1
        return stages * (spec.adder_registers + spec.stage_registers)
