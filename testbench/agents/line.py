"""One direction of a link, and the faults of its flits."""

import random
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from fred_hw.protocol import CRC_BITS, HEADER_BITS
from testbench.models.endpoint import Flit, FlitCodec

__all__ = ["Fault", "FaultyLink", "Line", "link_faults"]

Act = Callable[[random.Random, Flit], Sequence[Flit]]


def link_faults(data_width: int) -> dict[str, Act]:
    """Return all link faults by name: functions that replace a flit by none, one or more.

    Parameters
    ----------
    data_width : int
        Bits of data in a flit.
    """
    widths = {"header": HEADER_BITS, "data": data_width, "crc": CRC_BITS}

    def flip(part: str) -> Act:
        def act(rng: random.Random, flit: Flit) -> Sequence[Flit]:
            bit = 1 << rng.randrange(widths[part])
            return (replace(flit, **{part: getattr(flit, part) ^ bit}),)

        return act

    return {
        **{f"bit_of_{part}": flip(part) for part in widths},
        "lost": lambda _, flit: (),
        "doubled": lambda _, flit: (flit, flit),
    }


class Line:
    """One direction of a link.

    Parameters
    ----------
    delay : int
        Cycles in addition to those of the agents.

    Attributes
    ----------
    change : callable, optional
        Returns the flits that replace a flit: none, one or more.
    """

    def __init__(self, delay: int) -> None:
        self.delay, self._cycle = delay, 0
        self._flits: deque[tuple[int, Flit]] = deque()
        self.change: Callable[[Flit], Sequence[Flit]] | None = None

    def put(self, flit: Flit) -> None:
        """Append a flit, changed by ``change``, to the line."""
        self._flits.append((self._cycle + self.delay, flit))

    def step(self, flit: Flit | None, leaves: bool = True) -> Flit | None:
        """Advance one cycle with the flit that enters; return the flit that leaves, if any."""
        self._cycle += 1
        if flit is not None:
            for one in (flit,) if self.change is None else self.change(flit):
                self.put(one)
        if leaves and self._flits and self._flits[0][0] <= self._cycle:
            return self._flits.popleft()[1]
        return None


@dataclass
class Fault:
    """Fault that changes one selected flit, identified by its number, once.

    Parameters
    ----------
    codec : FlitCodec
        Codec of the link.
    select : callable
        Whether a flit with these fields counts.
    act : callable
        Returns the replacement of the flit.
    number : int
        Number of the flit, from 0.
    """

    codec: FlitCodec
    select: Callable[[dict[str, int]], bool]
    act: Callable[[Flit], Sequence[Flit]]
    number: int = 0
    done: bool = field(default=False, init=False)

    def __call__(self, flit: Flit) -> Sequence[Flit]:
        if self.done or not self.select(self.codec.unpack(flit)):
            return (flit,)
        self.number -= 1
        self.done = self.number < 0
        return self.act(flit) if self.done else (flit,)


class FaultyLink:
    """Link on which a random share of the flits has one of the link faults.

    Parameters
    ----------
    rng : random.Random
        Says which flits, and what happens to them.
    data_width : int
        Bits of data in a flit.
    share : float
        How many of the flits, 0 to 1.

    Attributes
    ----------
    count : int
        Flits that had a fault.
    """

    def __init__(self, rng: random.Random, data_width: int, share: float) -> None:
        self.rng, self.share, self.count = rng, share, 0
        self._acts = list(link_faults(data_width).values())

    def __call__(self, flit: Flit) -> Sequence[Flit]:
        if self.rng.random() >= self.share:
            return (flit,)
        self.count += 1
        return self.rng.choice(self._acts)(self.rng, flit)
