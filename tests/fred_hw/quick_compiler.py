"""Amaranth's simulator with less Python to run in each cycle, and less work to write it."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from amaranth.hdl import _ast
from amaranth.sim import _pyrtl

__all__ = ["quick_compiler"]

_SLOT = re.compile(r"slots\[(\d+)\]")
_MASKED = re.compile(r"\((0x[0-9a-f]+) & slots\[(\d+)\]\.curr\)")

_SHAPED = (_ast.Operator, _ast.Slice, _ast.Part, _ast.Concat, _ast.SwitchValue, _ast.Signal)
"""Values whose shape follows from what they are made of, and never changes."""


def _remembered(shape: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a method that works out a shape once: those of all operands go into it."""

    def known(value: Any) -> Any:
        try:
            return value._known_shape
        except AttributeError:
            value._known_shape = found = shape(value)
            return found

    return known


class _Emitter(_pyrtl._PythonEmitter):
    """Writes the function of a process: the same statements, with less to look up.

    States of signals are arguments with defaults instead of items of a global list; a signal is
    updated when its next value is another; a signal that is read whole is not masked, as its
    state has no other bits.
    """

    def __init__(self) -> None:
        super().__init__()
        self.whole: dict[str, int] = {}  # masks of unsigned signals, by the number of their state

    def append(self, code: str) -> None:
        state, update, rest = code.partition(".update(next_")
        if update:
            number = re.match(r"\d+", rest)
            assert number is not None, code
            code = f"if {state}.next != next_{number[0]}: {code}"
        super().append(code)

    def flush(self, indent: str = "") -> Any:
        code = super().flush(indent)
        head, run, body = code.partition("def run():")
        if not run:
            return code
        body = _MASKED.sub(self._unmasked, body)
        states = dict.fromkeys(_SLOT.findall(body))
        arguments = ", ".join(f"s{number}=slots[{number}]" for number in states)
        return f"{head}def run({arguments}):" + _SLOT.sub(r"s\1", body)

    def _unmasked(self, found: re.Match[str]) -> str:
        mask, number = found.groups()
        return f"slots[{number}].curr" if int(mask, 16) == self.whole.get(number) else found[0]


def _reads(on_signal: Callable[[Any, Any], str]) -> Callable[[Any, Any], str]:
    """Return the method that writes how a signal is read, which tells the emitter its mask."""

    def read(compiler: Any, value: Any) -> str:
        shape = value.shape()
        if not shape.signed:
            number = compiler.state.get_signal(value)
            compiler.emitter.whole[str(number)] = (1 << shape.width) - 1
        return on_signal(compiler, value)

    return read


@contextmanager
def quick_compiler() -> Iterator[None]:
    """Let simulators that are made meanwhile be quick: half the time in all, the same values.

    It takes the place of parts of Amaranth that have no public name; the version is pinned.
    """
    rhs = _pyrtl._RHSValueCompiler
    changes: list[tuple[Any, str, Any]] = [
        (_pyrtl, "_PythonEmitter", _Emitter),
        (rhs, "on_Signal", _reads(rhs.on_Signal)),
        *((kind, "shape", _remembered(kind.shape)) for kind in _SHAPED),
    ]
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in changes]
    try:
        for owner, name, value in changes:
            setattr(owner, name, value)
        yield
    finally:
        for owner, name, value in before:
            setattr(owner, name, value)
