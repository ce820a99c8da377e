"""Finite state machine as plain gates; Amaranth's builds a parallel multiplexer, see ``select``."""

from contextlib import AbstractContextManager

from amaranth.hdl import Module, Signal, Value

__all__ = ["Fsm"]


class Fsm:
    """Keep one of several one-hot states; a reset returns to the first one.

    Parameters
    ----------
    m : Module
        Where the state is kept.
    *names : str
        States, 1 or more, all different.

    Raises
    ------
    ValueError
        There are no names, or two are equal.
    """

    def __init__(self, m: Module, *names: str) -> None:
        if not names or len(set(names)) < len(names):
            raise ValueError(f"Fsm names must be 1 or more and different, not {list(names)}")
        self._m = m
        self._bits = {name: 1 << place for place, name in enumerate(names)}
        self._state = Signal(len(names), init=1, name="state")

    def ongoing(self, name: str) -> Value:
        """Return whether this is the current state."""
        return (self._state & self._bits[name]).any()

    def state(self, name: str) -> AbstractContextManager[None]:
        """Return a context manager for the statements of a state."""
        return self._m.If(self.ongoing(name))

    def go(self, name: str) -> None:
        """Make this the state from the next cycle on."""
        self._m.d.sync += self._state.eq(self._bits[name])
