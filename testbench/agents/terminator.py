"""Agents of link terminators: packets at the AXI4-Streams of one, and the link between two."""

from collections.abc import Callable
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge, RisingEdge
from cocotbext.axi import AxiStreamBus, AxiStreamFrame, AxiStreamSink, AxiStreamSource

from fred_hw.endpoint.flow import flow_layout
from fred_hw.link.axis import AXIS_FORTH
from fred_hw.spec import SwitchSpec

from .axis import StreamMonitor
from .deprecations import ignore_in_cocotbext_axi
from .line import Line
from .scoreboard import FlowKey, Packets

__all__ = ["STROBES", "TerminatorPort", "connect", "flow_word"]

ignore_in_cocotbext_axi()

STROBES = ("refused", "dropped", "unknown", "error")
"""Outputs that are high for a cycle for each event."""


def flow_word(spec: SwitchSpec, phase: int, peer: int = 0, generation: int = 0) -> int:
    """Return a flow as a terminator's ``tdest`` has it.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes.
    phase : int
        The phase, or ``protocol.online`` for unicasts.
    peer : int
        Address of the other end of unicasts.
    generation : int
        Generation of the phase.
    """
    fields = {"phase": phase, "peer": peer, "generation": generation}
    return flow_layout(spec).const(fields).as_bits()


class TerminatorPort:
    """Packets at the AXI4-Streams of a terminator.

    Parameters
    ----------
    dut : handle
        The design.
    spec : SwitchSpec
        Sizes.
    prefix : str
        Start of the names of the terminator's ports.
    address : int
        Its address.

    Attributes
    ----------
    received : dict
        Packets received so far, by flow.
    streams : list
        Sources and sinks, which may pause.
    """

    def __init__(self, dut: Any, spec: SwitchSpec, prefix: str, address: int) -> None:
        self.dut, self.spec, self.prefix, self.address = dut, spec, prefix, address
        self.received: dict[FlowKey, Packets] = {}
        self._names = spec.protocol.channels.names
        self._flows: list[FlowKey] = [(0, 0)] * len(self._names)
        self._sources: list[Any] = []
        self._sinks: list[Any] = []

    def reset(self, session_id: int) -> None:
        """Drive all inputs while the design is in reset, and forget all packets."""
        for stream in self.streams:
            stream.assert_reset(True)
        self._sources.clear()
        self._sinks.clear()
        self.received = {}
        inputs = {"address": self.address, "session_id": session_id, "forget": 0}
        inputs |= {f"s_axis_{wire}": 0 for wire in AXIS_FORTH} | {"m_axis_tready": 0}
        for name in self._names:
            inputs |= {f"s_axis_{name}_{wire}": 0 for wire in ("tdata", "tvalid", "tlast", "tdest")}
            inputs |= {f"m_axis_{name}_tready": 0, f"receive_flow_{name}": 0}
        for name, value in inputs.items():
            self.pin(name).value = value

    def attach(self) -> None:
        """Create sources and sinks, which sample the streams at once."""
        for name in self._names:
            into, out = (
                AxiStreamBus.from_prefix(self.dut, f"{self.prefix}_{side}_axis_{name}")
                for side in "sm"
            )
            self._sources.append(AxiStreamSource(into, self.dut.clk, byte_lanes=1))
            self._sinks.append(AxiStreamSink(out, self.dut.clk, byte_lanes=1))

    @property
    def streams(self) -> list[Any]:
        """Sources and sinks."""
        return [*self._sources, *self._sinks]

    def pin(self, name: str) -> Any:
        """Return a port of the terminator."""
        return self.dut[f"{self.prefix}_{name}"]

    def send(self, circuit: int, packets: Packets, **flow: int) -> None:
        """Send packets in a flow, which ``flow_word`` describes."""
        word = flow_word(self.spec, **flow)
        for packet in packets:
            # A beat is a whole flit, as the agents have one byte lane.
            beats: Any = list(packet)
            self._sources[circuit].send_nowait(AxiStreamFrame(beats, tdest=word))

    def receive(self, circuit: int, **flow: int) -> None:
        """Select the flow that a channel receives, which ``flow_word`` describes."""
        self.pin(f"receive_flow_{self._names[circuit]}").value = flow_word(self.spec, **flow)
        self._flows[circuit] = (flow["phase"], flow.get("peer", 0))

    def step(self) -> None:
        """Take the packets that have arrived."""
        for flow, sink in zip(self._flows, self._sinks, strict=True):
            while not sink.empty():
                frame = sink.recv_nowait(compact=False)
                self.received.setdefault(flow, []).append(tuple(frame.tdata))

    def strobes(self) -> list[str]:
        """Return the strobes that are high; ``rewinds`` has one for each channel."""
        rewinds = int(self.pin("rewinds").value)
        names = [name for name in STROBES if int(self.pin(name).value)]
        return names + [f"rewinds_{name}" for k, name in enumerate(self._names) if rewinds >> k & 1]

    @property
    def done(self) -> bool:
        """Whether all packets are sent and acknowledged."""
        sent = all(source.idle() for source in self._sources)
        return sent and int(self.pin("idle").value) == (1 << len(self._names)) - 1


def connect(
    dut: Any,
    source: str,
    destination: str,
    line: Line,
    now: Callable[[], int],
    stalls: Callable[[], bool],
) -> StreamMonitor:
    """Carry flits from one terminator to another from now on; return the monitor of the link.

    Parameters
    ----------
    dut : handle
        The design with both.
    source, destination : str
        Starts of the names of their ports.
    line : Line
        The link, with its delay and its faults.
    now, stalls : callable
        Return the number of the current cycle, and whether the link takes no flit in the next.
    """
    watch = StreamMonitor(dut, f"{source}_m_axis")
    into = {name: dut[f"{destination}_s_axis_{name}"] for name in AXIS_FORTH}
    ready = dut[f"{source}_m_axis_tready"]

    async def run() -> None:
        while True:
            await FallingEdge(dut.clk)
            before = len(watch.beats)
            watch.step(now())
            taken = watch.beats[before:]
            leaves = line.step(taken[0].flit if taken else None)
            await RisingEdge(dut.clk)
            ready.value = int(not stalls())
            into["tvalid"].value = int(leaves is not None)
            if leaves is not None:
                into["tdata"].value, into["tuser"].value = leaves.data, leaves.user
                into["tlast"].value = int(leaves.last)

    cocotb.start_soon(run())
    return watch
