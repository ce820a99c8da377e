"""State machines as plain gates; Amaranth's become parallel multiplexers, see ``select``."""

from contextlib import AbstractContextManager

from amaranth.hdl import Module, Signal, Value

__all__ = ["Steps"]


class Steps:
    """Steps of which one is current, as a bit each; the first one is at a reset.

    Parameters
    ----------
    m : Module
        Where they are.
    *names : str
        Steps.
    """

    def __init__(self, m: Module, *names: str) -> None:
        self._m = m
        self._places = {name: 1 << place for place, name in enumerate(names)}
        self._current = Signal(len(names), init=1, name="step")

    def at(self, name: str) -> Value:
        """Return whether a step is the current one."""
        return (self._current & self._places[name]).any()

    def during(self, name: str) -> AbstractContextManager[None]:
        """Return the condition of the statements of a step."""
        return self._m.If(self.at(name))

    def go(self, name: str) -> None:
        """Make a step the current one from the next cycle on."""
        self._m.d.sync += self._current.eq(self._places[name])
