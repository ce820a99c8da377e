"""Agent of a link: a neighbour that speaks the protocol at one port of a switch or a mesh.

A neighbour takes a flit in one cycle and answers in the next but one.
"""

from typing import Any

from cocotbext.axi import AxiStreamBus, AxiStreamFrame, AxiStreamSink, AxiStreamSource

from fred_hw.spec import SwitchSpec
from testbench.models.endpoint import Endpoint, Flit

from .axis import Beat
from .deprecations import ignore_in_cocotbext_axi
from .line import Line
from .scoreboard import FlowKey, Packets

__all__ = ["LinkPort"]

ignore_in_cocotbext_axi()


class UnframedBus(AxiStreamBus):
    """Stream whose beats are frames of their own, since packets and control flits share a link."""

    _optional_signals = ("tvalid", "tready", "tuser")


class Source(AxiStreamSource):
    """Source that drives 0 when it offers nothing, as a neighbour in reset does."""

    _init_x = False


class LinkPort:
    """A neighbour at one port of the switch.

    Attributes
    ----------
    address : int
        Its own address.
    endpoint : Endpoint
        State of the endpoint.
    to_switch, from_switch : Line
        Its link.
    dead : bool
        Whether it does nothing at all, and takes no flits.
    """

    def __init__(self, dut: Any, spec: SwitchSpec, port: int, address: int, delay: int) -> None:
        self.spec, self.address, self.dead, self._session_id = spec, address, False, 0
        self.endpoint = self.reboot()
        self.to_switch, self.from_switch = Line(delay), Line(delay)
        self._last = dut[f"s{port}_axis_tlast"]
        into = UnframedBus.from_prefix(dut, f"s{port}_axis")
        out = UnframedBus.from_prefix(dut, f"m{port}_axis")
        self.source = Source(into, dut.clk, byte_lanes=1)
        self.sink = AxiStreamSink(out, dut.clk, byte_lanes=1)

    def reboot(self, spec: SwitchSpec | None = None) -> Endpoint:
        """Lose all state, as in a reset, and start the next session, or act as another endpoint."""
        self._session_id += 1
        self.endpoint = Endpoint(spec or self.spec, self.address, session_id=self._session_id)
        return self.endpoint

    @property
    def received(self) -> dict[FlowKey, Packets]:
        """Packets received so far, by flow."""
        return self.endpoint.received

    @property
    def done(self) -> bool:
        """Whether all packets sent are acknowledged."""
        return self.endpoint.done

    def send(self, phase: int, circuit: int, packets: Packets, peer: int = 0) -> None:
        """Send packets in a flow."""
        self.endpoint.send(phase, circuit, packets, peer)

    def forget(self, phase: int, generation: int) -> None:
        """Restart the packet numbers of a phase at 0, in a given generation."""
        self.endpoint.forget(phase, generation)

    def step(self) -> None:
        """Receive the flit that has arrived, and offer the next one."""
        if self.dead:
            return
        came = None
        if not self.sink.empty():
            frame = self.sink.recv_nowait(compact=False)
            came = Beat(0, frame.tdata[0], frame.tuser[0], True).flit
        free = self.source.empty()
        sent = self.endpoint.step(self.from_switch.step(came), may_send=free)
        leaves = self.to_switch.step(sent, free)
        if leaves is not None:
            self._offer(leaves)

    def _offer(self, flit: Flit) -> None:
        def show_last(_: AxiStreamFrame) -> None:
            self._last.value = int(flit.last)

        # A beat is a whole flit, as the agents have one byte lane.
        beat: Any = [flit.data]
        self.source.send_nowait(AxiStreamFrame(beat, tuser=[flit.user], tx_complete=show_last))
