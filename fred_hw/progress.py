"""Progress reports of long work to an optional listener."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

__all__ = ["Listener", "count", "listening", "parts", "track"]

T = TypeVar("T")

Listener = Callable[[str, int, int | None, int], None]
"""Listener of progress: unit, number done, total (None if unknown), and number in progress."""

_EVERY_S = 0.05

_listeners: list[Listener] = []


@dataclass(eq=False)
class _Loop:
    """State of the innermost counted loop.

    Parameters
    ----------
    first : str
        Work on the first iteration until one is done; empty if there is no inner work.
    done : int
        Number of finished iterations. Inner loops are reported while it is 0, so that the rate of
        the first iteration is known before that of all.
    """

    first: str
    done: int = 0


_loops: list[_Loop] = []
"""Nested loops, the outermost first."""


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Report tracked work in this context to ``listener``."""
    _listeners.append(listener)
    outer, _loops[:] = list(_loops), []
    try:
        yield
    finally:
        _listeners.remove(listener)
        _loops[:] = outer


def _told_as(what: str) -> str | None:
    """Return the unit under which work is reported; None if another loop is being counted."""
    if not _listeners or any(loop.done for loop in _loops):
        return None
    first = next((loop.first for loop in reversed(_loops) if loop.first), "")
    return f"{what} of {first}" if first else what


def track(items: Sequence[T], what: str) -> Iterable[T]:
    """Yield ``items``, and report to a listener how many are done.

    Until the first item is done, progress of loops inside this one is reported instead.

    Parameters
    ----------
    items : sequence
        Items to work through.
    what : str
        Name of the items, in the plural.
    """
    name = _told_as(what)
    if name is None:
        return items
    first = f"the first of {len(items):,} {what}" if len(items) > 1 else ""
    return _told(items, name, _Loop(first))


def count(what: str, done: int, total: int | None = None) -> None:
    """Report how many are done, and the total if known.

    Text after a comma in ``what`` is a remark, which may change during the work.
    """
    if name := _told_as(what):
        _listeners[-1](name, done, total, 0)


@contextmanager
def parts(what: str, total: int) -> Iterator[Callable[..., None]]:
    """Report work with unequal parts; yield a function to call when a part starts.

    Parameters
    ----------
    what : str
        Unit of the size of a part, in the plural.
    total : int
        Sum of the sizes. The function takes the size of the part that starts and, if it has one,
        its name; the parts before it are then done.
    """
    name, loop = _told_as(what), _Loop("")
    listener = _listeners[-1] if _listeners else None
    size = 0

    def begin(next_size: int, part: str = "") -> None:
        nonlocal size
        loop.done, size = loop.done + size, next_size
        loop.first = f"the first {size:,} of {total:,} {what}" if size < total else ""
        if listener and name:
            listener(f"{name}, {part}" if part else name, loop.done, total, size)

    _loops.append(loop)
    try:
        yield begin
        begin(0)
    finally:
        _loops.remove(loop)


def _told(items: Sequence[T], name: str, loop: _Loop) -> Iterator[T]:
    listener, total = _listeners[-1], len(items)
    _loops.append(loop)
    try:
        said = 0.0
        for done, item in enumerate(items):
            loop.done = done
            now = time.monotonic()
            if now - said > _EVERY_S:
                said = now
                listener(name, done, total, 1)
            yield item
        listener(name, total, total, 0)
    finally:
        if loop in _loops:
            _loops.remove(loop)
