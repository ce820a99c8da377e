"""Event-driven execution of a phase at one NPU: sends, waits and completion."""

from collections.abc import Callable
from typing import Protocol

from perfmodel.clock import Clock

from .program import Program

__all__ = ["Messages", "ProgramRun", "Run"]


class Messages(Protocol):
    """Messages that an NPU sends and receives in a phase, addressed by position."""

    def send(self, place: int, count: int) -> None:
        """Send a number of bytes to a position."""
        ...

    def receive(self, place: int, count: int, received: Callable[[], object]) -> None:
        """Call ``received`` when bytes from a position have arrived."""
        ...


class Run:
    """The execution of a phase at one NPU.

    Parameters
    ----------
    messages : Messages
        Sends its messages.
    clock : Clock
        Clock for its events.
    ended : callable
        Called when it ends.
    """

    def __init__(self, messages: Messages, clock: Clock[int], ended: Callable[[], object]) -> None:
        self._messages, self._clock, self._ended = messages, clock, ended


class ProgramRun(Run):
    """An NPU that executes a program.

    Parameters
    ----------
    program : Program
        Program of the NPU.
    place : int
        Position of the NPU among the participants.
    others
        See ``Run``.
    """

    def __init__(
        self,
        program: Program,
        place: int,
        *others: *tuple[Messages, Clock[int], Callable[[], object]],
    ) -> None:
        super().__init__(*others)
        self._program, self._place = program, place
        self._left = program.sends
        self._made = self._sent = self._received = self._ready = 0

    def begin(self) -> None:
        """Start the program now."""
        for _ in range(self._program.window):
            self._make()

    def _make(self) -> None:
        cost_ns = self._program.cost_ns(self._made)
        self._made += 1
        self._clock.after(cost_ns, self._packet_ready)

    def _packet_ready(self) -> None:
        program = self._program
        self._ready += 1
        if program.half is not None and self._left <= program.half:
            if self._received < program.half:
                return
            while self._send():  # sends all that are ready
                pass
        else:
            self._send()
        if not self._left and self._ready == program.window:
            self._ended()

    def _send(self) -> bool:
        """Send the next message if a packet is ready; return whether a message was sent."""
        if not self._left or not self._ready:
            return False
        size = self._program.size(self._sent)
        target, source = self._program.peers(self._place, self._sent)
        self._left -= 1
        self._ready -= 1
        self._sent += 1
        self._messages.send(target, size)
        self._messages.receive(source, size, self._arrived)
        return True

    def _arrived(self) -> None:
        self._received += 1
        self._make()
