"""How far long work has come, told to whoever listens; the rooms that work know nobody of them."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

__all__ = ["Listener", "count", "listening", "parts", "track"]

T = TypeVar("T")

Listener = Callable[[str, int, int | None, int], None]
"""Told what is counted, how many are done, of how many, or None if nobody knows, and how many
more are done when what is worked on now is."""

_EVERY_S = 0.05

_listeners: list[Listener] = []
_tracking: list[str] = []
"""What is counted now; what is counted within it is not told."""


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Have what is tracked in this context told to ``listener``."""
    _listeners.append(listener)
    outer, _tracking[:] = list(_tracking), []
    try:
        yield
    finally:
        _listeners.remove(listener)
        _tracking[:] = outer


def track(items: Sequence[T], what: str) -> Iterable[T]:
    """Return ``items``; somebody who listens is told how many of them are done.

    Parameters
    ----------
    items : sequence
        What is worked through.
    what : str
        What they are, in the plural.
    """
    if not _listeners or _tracking:
        return items
    return _told(items, what, len(items))


def count(what: str, done: int, total: int | None = None) -> None:
    """Tell that so many are done, and of how many if anybody knows."""
    if _listeners and not _tracking:
        _listeners[-1](what, done, total, 0)


@contextmanager
def parts(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """Have work told whose parts are not alike; give a function to call when one begins.

    Parameters
    ----------
    what : str
        What the size of a part is counted in, in the plural.
    total : int
        Sum of the sizes. The function takes the size of the part that begins; those before it are
        then done.
    """
    listener = _listeners[-1] if _listeners and not _tracking else None
    done = size = 0

    def begin(next_size: int) -> None:
        nonlocal done, size
        done, size = done + size, next_size
        if listener:
            listener(what, done, total, size)

    _tracking.append(what)
    try:
        yield begin
        begin(0)
    finally:
        _tracking.remove(what)


def _told(items: Sequence[T], what: str, total: int) -> Iterator[T]:
    listener = _listeners[-1]
    _tracking.append(what)
    try:
        said = 0.0
        for done, item in enumerate(items):
            now = time.monotonic()
            if now - said > _EVERY_S:
                said = now
                listener(what, done, total, 1)
            yield item
        listener(what, total, total, 0)
    finally:
        if what in _tracking:
            _tracking.remove(what)
