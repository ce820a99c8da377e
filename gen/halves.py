"""Parallel generation: half of the parts are made in a forked process."""

import json
import os
import signal
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress

__all__ = ["made_in_halves"]


def made_in_halves(
    sizes: Mapping[str, int], make: Callable[[str], str], announce: Callable[[int], None]
) -> dict[str, str]:
    """Return ``make(name)`` for each name, using two processes.

    Python runs on one core. If processes can be copied and there is another core, a copy makes
    about half of the results. Results that it does not deliver, for any reason, are made here.

    Parameters
    ----------
    sizes : mapping of str to int
        Names, and the approximate cost of each, in any unit.
    make : callable
        Returns the text of a name; must not change shared state.
    announce : callable
        Called with the size of each result that is started here, or was made by the copy.

    Raises
    ------
    Exception
        Any exception that ``make`` raises here.
    """
    ours, theirs = _halves(sizes)
    if not theirs or (os.cpu_count() or 1) < 2 or not hasattr(os, "fork"):
        ours, theirs = list(sizes), []
    done: dict[str, str] = {}
    reader, child = _copy(theirs, make) if theirs else (-1, 0)
    try:
        for name in ours:
            announce(sizes[name])
            done[name] = make(name)
        if child:
            with os.fdopen(reader, "rb", closefd=False) as pipe, suppress(ValueError):
                done |= json.loads(pipe.read())
    finally:
        if child:
            os.close(reader)
            os.kill(child, signal.SIGKILL)  # it has written everything, or its result is not needed
            os.waitpid(child, 0)
    for name in theirs:
        announce(sizes[name])
        if name not in done:
            done[name] = make(name)
    return done


def _halves(sizes: Mapping[str, int]) -> tuple[list[str], list[str]]:
    """Return the names in two lists of about equal size."""
    lists: tuple[list[str], list[str]] = ([], [])
    totals = [0, 0]
    for name in sorted(sizes, key=lambda one: -sizes[one]):
        least = totals.index(min(totals))
        lists[least].append(name)
        totals[least] += sizes[name]
    return lists


def _copy(names: list[str], make: Callable[[str], str]) -> tuple[int, int]:
    """Let a forked process make texts; return its output file and its process number."""
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        # Python 3.12 warns about threads; the copy takes no lock that a thread may hold.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child:
        os.close(writer)
        return reader, child
    # The copy must not run clean-up of the original process: no handlers, no buffered output.
    status = 1
    try:
        os.close(reader)
        with os.fdopen(writer, "wb") as pipe:
            pipe.write(json.dumps({name: make(name) for name in names}).encode())
        status = 0
    finally:
        os._exit(status)
