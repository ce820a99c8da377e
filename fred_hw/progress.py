"""How far long work has come, told to whoever listens; the rooms that work know nobody of them."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

__all__ = ["Listener", "count", "listening", "track"]

T = TypeVar("T")

Listener = Callable[[str, int, int | None], None]
"""Told what is counted, how many are done, and of how many, or None if nobody knows."""

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


def count(what: str, done: int) -> None:
    """Tell that so many are done, of nobody knows how many."""
    if _listeners and not _tracking:
        _listeners[-1](what, done, None)


def _told(items: Sequence[T], what: str, total: int) -> Iterator[T]:
    listener = _listeners[-1]
    _tracking.append(what)
    try:
        said = 0.0
        for done, item in enumerate(items):
            now = time.monotonic()
            if now - said > _EVERY_S:
                said = now
                listener(what, done, total)
            yield item
        listener(what, total, total)
    finally:
        if what in _tracking:
            _tracking.remove(what)
