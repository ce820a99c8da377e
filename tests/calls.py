"""Work of code as a number that neither the machine nor its load changes: the calls it makes."""

import sys
from collections.abc import Callable
from types import FrameType

__all__ = ["calls"]


def calls(work: Callable[[], object]) -> int:
    """Return how many functions ``work`` calls, of Python or of C.

    Two sizes of the same work tell how it grows: work that compares each with each makes four times
    the calls for twice the size.
    """
    count = 0

    def see(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(see)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count
