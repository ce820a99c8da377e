"""Cycles at which a destination acknowledges packets (docs/reference/protocol.md)."""

from collections.abc import Callable

from fred_hw.protocol import ProtocolSpec
from perfmodel.clock import ROUNDING_CYCLES, Clock

__all__ = ["Answers", "Heard"]

_BEHIND = 0.5
"""Delay that places a check after all other events of a cycle [cycles]."""


class Heard:
    """Time of the last data flit that an endpoint received, of any flow."""

    __slots__ = ("last",)

    def __init__(self) -> None:
        self.last = float("-inf")


class Answers:
    """Acks of a virtual channel: one per interval of packets, and one in each pause.

    A pause is a quarter of ``nack_timeout_cycles`` without a flit of any flow, or
    ``nack_timeout_cycles`` without one of its own. So acks are many where a link is shared: a third
    of its rate has pauses of two packets behind each one.

    Parameters
    ----------
    clock : Clock
        The time [cycles].
    protocol : ProtocolSpec
        Intervals and pauses.
    cycles : int
        Time from the last acknowledged flit to the ack on the link [cycles].
    heard : Heard
        Last data flit that the endpoint received.
    say : callable
        Called with the time until an ack leaves [cycles].
    """

    def __init__(
        self,
        clock: Clock[float],
        protocol: ProtocolSpec,
        cycles: float,
        heard: Heard,
        say: Callable[[float], object],
    ) -> None:
        self._clock, self._protocol, self._heard, self._say = clock, protocol, heard, say
        self.cycles = cycles
        self._own = float("-inf")
        self._unsaid = self._number = 0

    def come(self, cycles: float) -> None:
        """Note a packet whose flits arrive during the next ``cycles`` cycles."""
        self._own = self._heard.last = self._clock.now + cycles - 1

    def ended(self) -> None:
        """Count a packet whose last flit arrives now."""
        self._unsaid += 1
        if self._unsaid == 1:
            self._number += 1
            self._clock.after(self._protocol.ack_cycles, self._late, self._number)
            if self._protocol.ack_interval > 1:  # asked once, and again when it may be one
                wait = self._protocol.quiet_cycles + _BEHIND
                self._clock.after(wait, self._quiet, self._number)
        if self._unsaid == self._protocol.ack_interval:
            self._answer(self.cycles)

    def forget(self) -> bool:
        """Reset the count; return whether a packet was not acknowledged yet."""
        unsaid, self._unsaid = self._unsaid, 0
        return unsaid > 0

    def _answer(self, cycles: float) -> None:
        self._unsaid = 0
        self._say(cycles)

    def _late(self, number: int) -> None:
        if self._unsaid and number == self._number:
            self._answer(self.cycles)

    def _quiet(self, number: int) -> None:
        if not self._unsaid or number != self._number:
            return
        now, protocol = self._clock.now - _BEHIND, self._protocol
        last = max(self._own, self._heard.last) + protocol.quiet_cycles
        pause = min(last, self._own + protocol.nack_timeout_cycles)
        if pause <= now + ROUNDING_CYCLES:
            self._answer(self.cycles - _BEHIND)
        else:
            self._clock.at(pause + _BEHIND, self._quiet, number)
