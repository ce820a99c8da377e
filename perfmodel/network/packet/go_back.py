"""Cycle-level source of a flow: a window of packets with go-back-N retransmission."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from math import ceil

from perfmodel.clock import Clock
from perfmodel.switch_timing.endpoint import EndpointTiming

__all__ = ["GoBack", "Packets"]


class GoBack(ABC):
    """Packet numbers of a source; unacknowledged packets are retransmitted from the oldest.

    Parameters
    ----------
    clock : Clock
        The time [cycles].
    timeout_cycles : int
        Time without progress after which packets are sent again.
    """

    def __init__(self, clock: Clock[float], timeout_cycles: int) -> None:
        self._clock, self._timeout_cycles = clock, timeout_cycles
        self._count: int = 0
        self._timer = 0
        self._oldest = self._following = self._begun = 0
        self._offered = False

    @abstractmethod
    def _next(self) -> None:
        """Offer a packet, if one is ready and none is offered."""

    def start(self) -> int:
        """Start the offered packet, and return its number."""
        # All may have been acknowledged while it was offered: then the last one comes again.
        number = min(self._following, self._count - 1)
        self._following = number + 1
        if self._following > self._begun:
            if self._oldest == self._begun:
                self._wait()
            self._begun = self._following
        self._offered = False
        self._next()
        return number

    def _progress(self, number: int) -> None:
        """Handle an ack that acknowledges further packets; ``number`` is the next expected one."""
        self._oldest = number
        self._following = max(self._following, number)
        self._timer += 1
        if self._oldest < self._begun:
            self._wait()

    def _wait(self) -> None:
        self._timer += 1
        self._clock.after(self._timeout_cycles, self._late, self._timer)

    def _late(self, timer: int) -> None:
        """Retransmit from the oldest unacknowledged packet."""
        if timer == self._timer and self._oldest != self._begun:
            self._following = self._oldest
            self._wait()
            self._next()


class Packets(GoBack):
    """Packets of a descriptor, with go-back-N (docs/reference/protocol.md).

    They are read chunk by chunk, and kept until they are acknowledged, the whole window at most.

    Parameters
    ----------
    clock : Clock
        The time [cycles].
    timing : EndpointTiming
        The endpoint.
    offer : callable
        Called when a packet may be offered to the link; whoever has does it calls ``start`` when it
        starts.
    moved : callable
        Called when ``given`` or ``idle`` may have changed.
    """

    def __init__(
        self,
        clock: Clock[float],
        timing: EndpointTiming,
        offer: Callable[[], object],
        moved: Callable[[], object],
    ) -> None:
        engine, self._protocol = timing.record.spec.endpoint, timing.record.spec.protocol
        super().__init__(clock, self._protocol.timeout_cycles)
        self._offer, self._moved = offer, moved
        self._window = engine.replay_packets or self._protocol.window_packets
        self._chunk = engine.chunk_flits
        self._flits = self._number = self._newest = 0
        self._loads, self._given = 0.0, 0.0
        self._ready: list[float] = []

    @property
    def given(self) -> bool:
        """Whether all packets have been read from memory."""
        return self._newest == self._count and self._given <= self._clock.now

    @property
    def idle(self) -> bool:
        """Whether all packets are acknowledged."""
        return self._oldest == self._count

    def begin(self, flits: int, cycles: float) -> None:
        """Start a descriptor of ``flits`` flits; its first chunk loads after ``cycles``."""
        self._number += 1
        self._flits, self._count = flits, ceil(flits / self._protocol.packet_flits)
        self._oldest = self._following = self._begun = self._newest = 0
        self._loads, self._ready = self._clock.now + cycles, []
        self._given = self._clock.now
        self._read()

    def size(self, number: int) -> int:
        """Return the number of flits of a packet."""
        most = self._protocol.packet_flits
        return min(most, self._flits - number * most)

    def _read(self) -> None:
        """Read packets while the window has space: one flit per cycle, in whole chunks."""
        now, most = self._clock.now, self._protocol.packet_flits
        while self._newest < self._count and self._newest - self._oldest < self._window:
            number, flits = self._newest, self.size(self._newest)
            loaded = min(self._flits, (number * most // self._chunk + 1) * self._chunk)
            ready = self._loads + loaded
            if number:
                ready = max(ready, self._ready[-1] + flits)
            if number >= self._window:  # it waited for space
                ready = max(ready, now + flits)
            self._ready.append(ready)
            self._newest += 1
            self._clock.at(ready, self._become_ready, self._number)
        if self._newest == self._count and self._ready:
            self._given = self._ready[-1]

    def _become_ready(self, number: int) -> None:
        if number == self._number:
            self._next()
            self._moved()

    def _next(self) -> None:
        there = self._following < self._newest and self._ready[self._following] <= self._clock.now
        if there and not self._offered:
            self._offered = True
            self._offer()

    def heard(self, kind: str, number: int) -> None:
        """Handle an ack or a nack; ``number`` is the next expected packet."""
        if not self._oldest <= number <= self._begun:
            return
        if kind == "nack":
            self._following = number
            self._next()
        elif number > self._oldest:
            self._progress(number)
            self._read()
            self._next()
            self._moved()
