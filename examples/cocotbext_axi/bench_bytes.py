"""Bytes through a whole FRED switch, with AXI4-Stream agents of cocotbext-axi; run.py runs it.

An agent without ``tkeep`` takes ``tdata`` apart into bytes by itself, the first byte in the lowest
bits: lane 0 of a flit is in its first bytes, little endian. A link carries flits of packets and
control flits in any order, so each flit is a frame of its own, and ``tlast`` is driven beside.
``tuser`` is header and CRC; the manifest that `fred gen` writes has the place of each field.
"""

import json
import logging
import os
import warnings
from pathlib import Path
from typing import Any

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge
from cocotbext.axi import (
    AxiLiteBus,
    AxiLiteMaster,
    AxiStreamBus,
    AxiStreamFrame,
    AxiStreamSink,
    AxiStreamSource,
)

from fred_hw.compiler.flows import Flow
from fred_hw.compiler.routing import route
from fred_hw.control.access import AsyncAccess
from fred_hw.control.phase_entry import entry_word
from fred_hw.control.switch_map import switch_map
from fred_hw.spec import SwitchSpec
from testbench.models.endpoint import Endpoint, Flit

# cocotbext-axi 0.1.28 calls what cocotb 2 deprecates.
warnings.filterwarnings("ignore", category=DeprecationWarning, module=r"cocotbext\.axi\.")

MANIFEST: dict[str, Any] = json.loads(Path(os.environ["FRED_MANIFEST"]).read_text())
SPEC = SwitchSpec.model_validate(MANIFEST["spec"])
FLIT_BYTES = SPEC.data_width // 8
TUSER: dict[str, tuple[int, int]] = MANIFEST["streams"]["tuser"]
HEADER_BITS = TUSER["crc"][0]


def field(user: int, name: str) -> int:
    """Return a field of ``tuser``: the manifest has its lowest bit and its bits."""
    low, bits = TUSER[name]
    return user >> low & ((1 << bits) - 1)


class FlitBus(AxiStreamBus):
    """A stream of which each transfer is a frame."""

    _optional_signals = ("tvalid", "tready", "tuser")


class IdleSource(AxiStreamSource):
    """A source that leaves 0 where it offers nothing."""

    _init_x = False


class Npu:
    """An NPU at a port; the model of an endpoint does handshakes, credits and acks for it."""

    def __init__(self, dut: Any, port: int) -> None:
        self.endpoint = Endpoint(SPEC, address=port, session_id=1)
        self.kinds: set[str] = set()
        self._tlast = dut[f"s{port}_axis_tlast"]
        self._tlast.value = 0
        self._source: Any = IdleSource(FlitBus.from_prefix(dut, f"s{port}_axis"), dut.clk)
        self._sink: Any = AxiStreamSink(FlitBus.from_prefix(dut, f"m{port}_axis"), dut.clk)

    def send(self, phase: int, content: bytes) -> None:
        """Send bytes as packets of a phase on circuit 0, the most urgent."""
        flits = [
            int.from_bytes(content[at : at + FLIT_BYTES], "little")
            for at in range(0, len(content), FLIT_BYTES)
        ]
        most = SPEC.protocol.packet_flits
        packets = [flits[at : at + most] for at in range(0, len(flits), most)]
        self.endpoint.send(phase, 0, packets)

    def received(self, phase: int) -> bytes:
        """Return the bytes that have come in a phase."""
        packets = self.endpoint.received.get((phase, 0), [])
        return b"".join(flit.to_bytes(FLIT_BYTES, "little") for one in packets for flit in one)

    def step(self) -> None:
        """Let a cycle pass: take a flit from the switch, and offer one to it."""
        came = None
        if not self._sink.empty():
            frame = self._sink.recv_nowait(compact=False)
            user = frame.tuser[0]
            self.kinds.add(MANIFEST["streams"]["kinds"][field(user, "kind")])
            header = user & ((1 << HEADER_BITS) - 1)
            came = Flit(header, int.from_bytes(bytes(frame.tdata), "little"), field(user, "crc"))
        goes = self.endpoint.step(came, may_send=self._source.empty())
        if goes is not None:
            frame = AxiStreamFrame(
                goes.data.to_bytes(FLIT_BYTES, "little"),
                tuser=goes.user,
                tx_complete=lambda _: setattr(self._tlast, "value", int(goes.last)),
            )
            self._source.send_nowait(frame)


async def serve(dut: Any, npus: list[Npu]) -> None:
    """Let all NPUs live, cycle by cycle."""
    while True:
        await FallingEdge(dut.clk)
        for npu in npus:
            npu.step()


def software(dut: Any) -> AsyncAccess:
    """Return the registers of the switch by name."""
    master: Any = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.clk)

    async def read(address: int) -> int:
        return int.from_bytes((await master.read(address, 4)).data, "little")

    async def write(address: int, value: int) -> None:
        await master.write(address, value.to_bytes(4, "little"))

    return AsyncAccess(switch_map(SPEC), read, write)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def all_reduce_of_bytes(dut: Any) -> None:
    """Every NPU sends numbers, and gets the sums of all."""
    logging.getLogger("cocotb").setLevel(logging.WARNING)
    dut.rst.value, dut.session_id.value = 1, 1
    cocotb.start_soon(Clock(dut.clk, 10, unit="ns").start())
    await ClockCycles(dut.clk, 2)
    npus = [Npu(dut, port) for port in range(SPEC.ports)]
    access = software(dut)
    await ClockCycles(dut.clk, 2)
    dut.rst.value = 0
    cocotb.start_soon(serve(dut, npus))

    everyone = range(SPEC.ports)
    flows = [Flow(everyone, everyone)]
    routed = route(flows, SPEC.ports, SPEC.middle_switches).configuration
    assert routed is not None
    await access.write_phase(0, entry_word(SPEC, routed, flows, circuit=0, generation=0))

    rng = np.random.default_rng(1)
    sent = rng.integers(-10, 10, (SPEC.ports, 100 * SPEC.lanes)).astype("<i2")
    for npu, numbers in zip(npus, sent, strict=True):
        npu.send(0, numbers.tobytes())
    wanted = sent.sum(axis=0, dtype="<i2")
    while not all(npu.endpoint.done for npu in npus):  # all that it sent is acknowledged
        await ClockCycles(dut.clk, 10)
    for npu in npus:
        assert npu.received(0) == wanted.tobytes()
        assert {"data", "ack", "handshake"} <= npu.kinds
