"""Agents of the control unit's bench: bus master, core model, port events."""

import logging
import random
from collections.abc import Iterator
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge, RisingEdge
from cocotbext.axi import AxiResp

from fred_hw.control.phase_entry import entry_bits
from fred_hw.control.switch_map import CAUSES, COUNTERS, PORT_CAUSES, PORT_COUNTERS
from fred_hw.spec import SwitchSpec

from .outputs import start_clock
from .registers import Registers

__all__ = ["COUNTED", "ERRORS", "ControlBench", "Core", "Events"]

ERRORS = tuple(f"errors__{cause}" for cause in PORT_CAUSES)
COUNTED = tuple(f"counts__{name}" for name in (*COUNTERS, *PORT_COUNTERS) if name != "cycles")


class Core:
    """Model of the memory behind the control unit: accepts or refuses entries after a delay."""

    def __init__(self, dut: Any, spec: SwitchSpec, rng: random.Random) -> None:
        self.dut, self.rng, self.bits = dut, rng, entry_bits(spec)
        self.entries = [rng.getrandbits(self.bits) for _ in range(spec.protocol.phases)]
        self.accepts = True
        self.hangs = False
        self.writes: list[tuple[int, int]] = []

    async def run(self) -> None:
        """Show the stored entry no earlier than specified, and answer each write once."""
        dut, rng = self.dut, self.rng
        before: int | None = None
        held: tuple[int, int] | None = None
        wait = 0
        done = False
        while True:
            await FallingEdge(dut.clk)
            number, ended = int(dut.table__number.value), done
            done = False
            if ended or int(dut.rst.value):
                held = None
            elif int(dut.table__write.value):
                now = number, int(dut.table__entry.value)
                if held is None:
                    held, wait = now, rng.choice((0, 1, 7, 40))
                assert now == held, f"entry or number changed from {held} to {now}"
                done = wait == 0 and not self.hangs
                wait -= wait > 0
            else:
                assert held is None, "write ended before done"
            await RisingEdge(dut.clk)
            dut.table__done.value, dut.table__accepted.value = int(done), rng.getrandbits(1)
            if done and held is not None:
                self.writes.append(held)
                dut.table__accepted.value = int(self.accepts)
                if self.accepts:
                    self.entries[held[0]] = held[1]
            steady = number == before
            dut.table__stored.value = self.entries[number] if steady else rng.getrandbits(self.bits)
            before = number


class ControlBench(Registers):
    """A bus master with random pauses on all channels, and a core model."""

    def __init__(self, dut: Any, spec: SwitchSpec, stall: float) -> None:
        super().__init__(spec)
        self.dut, self.spec, self.stall = dut, spec, stall
        self.rng = random.Random(cocotb.RANDOM_SEED)
        self.core = Core(dut, spec, self.rng)
        self.errors = dict.fromkeys(CAUSES, 0)

    async def start(self) -> None:
        """Reset, then start pauses, checks and the core model."""
        dut = self.dut
        table = tuple(f"table__{name}" for name in ("done", "accepted", "stored"))
        bits = ("queued", "links", "unicasts", "active", "active_phase")
        for name in (*ERRORS, *COUNTED, *table, *bits):
            dut[name].value = 0
        dut.counts__cycles.value = 1
        dut.rst.value = 1
        start_clock(dut)
        logging.getLogger(f"cocotb.{dut._name}").setLevel(logging.WARNING)
        await self.cycles(2)
        self.attach(dut, dut.rst)
        await self.cycles(2)
        dut.rst.value = 0
        for channel in self.channels.values() if self.stall else ():
            channel.set_pause_generator(self._pauses())
        for answer, payload in (("b", ("bresp",)), ("r", ("rdata", "rresp"))):
            cocotb.start_soon(self._watch(answer, payload))
        cocotb.start_soon(self.core.run())

    def _pauses(self) -> Iterator[bool]:
        while True:
            yield self.rng.random() < self.stall

    async def _watch(self, channel: str, payload: tuple[str, ...]) -> None:
        """Check that an offered answer is stable until it is accepted."""
        held: tuple[int, ...] | None = None
        while True:
            await FallingEdge(self.dut.clk)
            valid, ready = (
                int(self.dut[f"s_axil_{channel}{name}"].value) for name in ("valid", "ready")
            )
            now = tuple(int(self.dut[f"s_axil_{name}"].value) for name in payload)
            assert held is None or valid, f"{channel}: {held} was withdrawn"
            assert held in (None, now), f"{channel}: {held} became {now}"
            held = now if valid and not ready else None

    def protection(self) -> int:
        return self.rng.randrange(8)

    async def write_raw(
        self, address: int, value: int, strobe: int = 15, data_first: bool | None = None
    ) -> AxiResp:
        """Write any bytes to any address; address and data may be offered some cycles apart."""
        parts = self.write_parts(address, value, strobe)
        for channel, transaction in parts[:: -1 if data_first else 1]:
            await channel.send(transaction)
            if data_first is not None:
                await self.cycles(self.rng.randrange(8))
        return await self.answer()

    async def cycles(self, count: int) -> None:
        """Wait for a number of cycles."""
        for _ in range(count):
            await RisingEdge(self.dut.clk)

    async def check_errors(self) -> None:
        """Check all error reports after the first against the expected ones."""
        found = await self.access.errors()
        assert found.counts == self.errors
        assert found.raised == tuple(cause for cause, count in self.errors.items() if count)

    async def nothing_left(self) -> None:
        """Check that there are no answers without requests."""
        for channel in self.channels.values():
            channel.set_pause_generator(None)
            channel.pause = False
        await self.cycles(20)
        assert all(channel.empty() for channel in self.channels.values())
        for name in ("bvalid", "rvalid"):
            assert int(self.dut[f"s_axil_{name}"].value) == 0

    async def finish(self) -> None:
        """Check, at the end of a test, all errors after the first and that no answers are left."""
        await self.check_errors()
        await self.nothing_left()


class Events:
    """Driver of random events on all ports, which counts them."""

    def __init__(self, bench: ControlBench) -> None:
        self.bench = bench
        self.counts = {name: [0] * len(bench.dut[name]) for name in (*ERRORS, *COUNTED)}
        self.first: tuple[str, int] | None = None

    async def give(self, cycles: int, names: tuple[str, ...], share: float) -> None:
        """Assert the given event inputs for some cycles, then none."""
        dut, rng = self.bench.dut, self.bench.rng
        for _ in range(cycles):
            for name in names:
                bits = [int(rng.random() < share) for _ in self.counts[name]]
                dut[name].value = sum(bit << place for place, bit in enumerate(bits))
                self._count(name, bits)
            await RisingEdge(dut.clk)
        for name in names:
            dut[name].value = 0
        await RisingEdge(dut.clk)

    def _count(self, name: str, bits: list[int]) -> None:
        for place, bit in enumerate(bits):
            self.counts[name][place] += bit
        if self.first is None and any(bits):
            self.first = name.removeprefix("errors__"), bits.index(1)
