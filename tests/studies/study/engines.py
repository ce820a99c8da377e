"""Engines for tests: in this process, without a worker."""

from collections.abc import Callable, Collection
from concurrent.futures import Future
from typing import Any

from studies.study.engine import Engine, LostError

__all__ = ["Inline", "StopError"]


class StopError(BaseException):
    """Ends a run in the middle, as a signal does."""


class Inline(Engine):
    """Computes a batch when its result is asked for.

    Parameters
    ----------
    batches : int or None
        After so many batches, :class:`StopError` ends the run.
    poison : collection
        Items that end the worker that computes them.
    """

    def __init__(self, batches: int | None = None, poison: Collection[Any] = ()) -> None:
        self._left, self._poison = batches, tuple(poison)
        self.closed = False
        self.sizes: list[int] = []

    @property
    def workers(self) -> int:
        return 2

    def submit(self, work: Callable[[Any], Any], batch: Any) -> "Future[Any]":
        self.sizes.append(len(batch))
        future: Future[Any] = Future()
        future.set_result((work, batch))
        return future

    def result(self, future: "Future[Any]") -> Any:
        work, batch = future.result()
        if self._left is not None:
            self._left -= 1
            if self._left < 0:
                raise StopError
        if any(one in self._poison for one in batch):
            raise LostError("the worker process ended")
        return work(batch)

    def close(self) -> None:
        self.closed = True
