"""Messages of a simulation: their paths, sizes and dependencies."""

from array import array
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from perfmodel.collectives.schedule import Schedule
from perfmodel.collectives.transfer import Exchange, RingPass, Transfer

__all__ = ["Workload", "workload_of"]

_ROUNDING = 1e-6


class Workload:
    """Messages with their dependencies."""

    def __init__(self) -> None:
        self.paths: list[tuple[int, ...]] = []
        """Links of each path."""
        self._numbers: dict[tuple[int, ...], int] = {}
        self.path, self.size = array("q"), array("q")
        self._before, self._after = array("q"), array("q")

    def path_number(self, links: Iterable[int]) -> int:
        """Return the number of a path, which is added if it is new."""
        key = tuple(links)
        if key not in self._numbers:
            self._numbers[key] = len(self.paths)
            self.paths.append(key)
        return self._numbers[key]

    def add(self, path: int, size: int, after: Iterable[int] = ()) -> int:
        """Add a message, and return its number.

        Parameters
        ----------
        path : int
            Number of the path.
        size : int
            Size of the message [B].
        after : iterable of int
            Messages that must arrive before it begins.
        """
        number = len(self.size)
        self.path.append(path)
        self.size.append(size)
        for before in after:
            self._before.append(before)
            self._after.append(number)
        return number

    def add_join(self, after: Iterable[int]) -> int:
        """Add a message of 0 bytes that arrives when the last of the given messages does."""
        return self.add(self.path_number(()), 0, after)

    def add_steps(self, paths: Sequence[int], size: int, first: Sequence[int], steps: int) -> int:
        """Add the messages of a ring pass; return the number of the first one.

        Parameters
        ----------
        paths : sequence of int
            Number of the path from each member to the next.
        size, steps : int
            Bytes of a message [B], and messages of each member one after the other.
        first : sequence of int
            Message that each member waits for, -1 for none.
        """
        count, start = len(paths), len(self.size)
        self.path.extend(list(paths) * steps)
        self.size.extend([size] * (count * steps))
        numbers = np.arange(start + count, start + count * steps, dtype=np.int64)
        place = (numbers - start) % count
        came = numbers - count + np.where(place == 0, count - 1, -1)
        self._before.frombytes(came.tobytes())
        self._after.frombytes(numbers.tobytes())
        for i, before in enumerate(first):
            if before >= 0:
                self._before.append(before)
                self._after.append(start + i)
        return start

    def dependencies(self) -> tuple[Any, Any]:
        """Return all dependencies as two arrays: predecessors and successors."""
        return np.array(self._before, dtype=np.int64), np.array(self._after, dtype=np.int64)


class _Builder:
    """Converter of schedule items to messages."""

    def __init__(self, size_bytes: float) -> None:
        self.work = Workload()
        self._scale = size_bytes
        self._brought: list[dict[int, list[int]]] = []
        """Messages of each item, keyed by the node where they end."""
        self._joined: dict[tuple[int, int], int] = {}

    def bytes_of(self, share: float) -> int:
        return max(1, round(share * self._scale - _ROUNDING)) if share > 0 else 0

    def _join(self, item: int, node: int) -> int:
        """Return a message that arrives when an item has reached a node; node -1 stands for all."""
        brought = self._brought[item]
        if node not in brought:
            node = -1
        if (item, node) not in self._joined:
            came = (
                brought[node] if node >= 0 else [one for some in brought.values() for one in some]
            )
            number = came[0] if len(came) == 1 else self.work.add_join(came)
            self._joined[item, node] = number
        return self._joined[item, node]

    def _after(self, items: Iterable[int], node: int) -> int:
        """Return the message after which a node may send; -1 if it waits for none."""
        found = sorted({self._join(item, node) for item in items if self._brought[item]})
        if not found:
            return -1
        return found[0] if len(found) == 1 else self.work.add_join(found)

    def add(self, item: Transfer | RingPass) -> None:
        brought: dict[int, list[int]] = {}
        if isinstance(item, Exchange):
            ready = [self._after(item.after, one) for one in item.members]
            waited = sorted({one for one in ready if one >= 0})
            if len(waited) > 1:
                waited = [self.work.add_join(waited)]
            size = self.bytes_of(item.payload_bytes / (len(item.members) - 1))
            for _, targets, hops in item.sends():
                path = self.work.path_number(link for link, _ in hops)
                brought.setdefault(targets[0], []).append(self.work.add(path, size, waited))
        elif isinstance(item, RingPass):
            first = [self._after(item.after, one) for one in item.members]
            paths = [self.work.path_number(link for link, _ in hops) for hops in item.edges]
            count, steps = len(paths), len(paths) - 1
            start = self.work.add_steps(
                paths, self.bytes_of(item.payload_bytes / steps), first, steps
            )
            last = start + count * (steps - 1)
            for i in range(count):
                brought[item.members[(i + 1) % count]] = [last + i]
        else:
            before = self._after(item.after, item.sources[0])
            after = () if before < 0 else (before,)
            path = self.work.path_number(link for link, _ in item.hops)
            size = self.bytes_of(item.payload_bytes) if item.hops else 0
            brought[item.targets[0]] = [self.work.add(path, size, after)]
        self._brought.append(brought)


def workload_of(schedule: Schedule, size_bytes: float) -> Workload:
    """Return the messages of a schedule.

    A source waits for what it receives of earlier messages, or, if it receives nothing of them, for
    all their targets; see ``transfer.Transfer``. Passes around rings become their messages.

    Parameters
    ----------
    schedule : Schedule
        Schedule of one byte.
    size_bytes : float
        The vector [B]; messages are whole bytes.
    """
    builder = _Builder(size_bytes)
    for item in schedule.messages:
        builder.add(item)
    return builder.work
