"""Packets of a member of a ring, sent again from the oldest where no ack comes in time, in cycles.

A less urgent ring may have to wait for so long that packets which are on their way are sent once
more (docs/protocol.md). Whoever expects other ones drops them, but links carry them.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from perfmodel.clock import Clock

from .packets import Packet

__all__ = ["Flow"]


class _Kept(NamedTuple):
    """Flits of a packet, and what is called with it when its first flit comes."""

    flits: int
    came: Callable[[Packet], object]


class Flow:
    """Packets in the order in which they are read, numbered from 0 on.

    Parameters
    ----------
    clock : Clock
        The time [cycles].
    timeout_cycles, window : int or None
        After so long without progress packets are sent again, and so many are sent that are not
        acknowledged; None if no acks are heard.
    circuit, path : int, sequence of int
        Of all of them.
    send : callable
        Called with the next one, which says what it is when it starts.
    """

    def __init__(
        self,
        clock: Clock[float],
        timeout_cycles: int | None,
        window: int | None,
        circuit: int,
        path: Sequence[int],
        send: Callable[[Packet], object],
    ) -> None:
        self._clock, self._timeout_cycles, self._window = clock, timeout_cycles, window
        self._circuit, self._path, self._send = circuit, path, send
        self._packets: list[_Kept] = []
        self._following = self._begun = self._oldest = self._timer = 0
        self._offered = False

    def add(self, flits: int, came: Callable[[Packet], object]) -> None:
        """Send a packet behind those before it."""
        self._packets.append(_Kept(flits, came))
        self._next()

    def heard(self, number: int) -> None:
        """Take an ack, which names the packet that is expected."""
        if number <= self._oldest:
            return
        self._oldest = number
        self._following = max(self._following, number)
        self._timer += 1
        if self._oldest < self._begun:
            self._wait()
        self._next()

    def _next(self) -> None:
        """Offer a packet, if there is one that may be and none is offered."""
        full = self._window is not None and self._following - self._oldest >= self._window
        if self._following < len(self._packets) and not self._offered and not full:
            self._offered = True
            flits = self._packets[self._following].flits
            self._send(Packet(self._circuit, flits, self._path, self._come, self._starts))

    def _come(self, packet: Packet) -> None:
        self._packets[packet.number].came(packet)

    def _starts(self, packet: Packet) -> None:
        # All may have been acknowledged while it was offered: then the last one comes again.
        number = min(self._following, len(self._packets) - 1)
        packet.number, packet.flits = number, self._packets[number].flits
        self._following = number + 1
        if self._following > self._begun:
            if self._oldest == self._begun:
                self._wait()
            self._begun = self._following
        self._offered = False
        self._next()

    def _wait(self) -> None:
        self._timer += 1
        if self._timeout_cycles is not None:
            self._clock.after(self._timeout_cycles, self._late, self._timer)

    def _late(self, timer: int) -> None:
        """Send again from the oldest on."""
        if timer == self._timer and self._oldest != self._begun:
            self._following = self._oldest
            self._wait()
            self._next()
