"""Progress on standard error: silent at first, then a percentage or a count."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from fred_hw.progress import listening

__all__ = ["progress", "steps"]

_QUIET_S = 2.0
_LINE_S = 10.0
"""Duration below which nothing is reported, and interval of lines without a terminal [s]."""

_REFRESH_S = 0.2


Counted = tuple[str, int, int | None]


class _Display:
    """Progress display that runs in a separate thread.

    Parameters
    ----------
    what : str
        The work.
    look : callable, optional
        Returns the name of what is counted, the number done, and the total, or None; called
        periodically.
    """

    def __init__(self, what: str, look: Callable[[], Counted | None] | None = None) -> None:
        self._what, self._look = what, look
        self._found: Counted | None = None
        self._begun = time.monotonic()
        self._counted: tuple[str, int, int | None, float] = ("", 0, None, self._begun)
        self._moved, self._ahead = self._begun, 0
        self._since: dict[str, tuple[int, float]] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Start waiting for the time after which progress is shown."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the display."""
        self._ended.set()
        self._thread.join()

    def told(self, what: str, done: int, total: int | None, ahead: int = 0) -> None:
        """Record the progress, and the amount of work in flight."""
        before, count, _, _ = self._counted
        now = time.monotonic()
        if (before, count) != (what, done):
            self._moved = now
        # An outer count continues where it was when an inner one ends.
        name, _, _ = what.partition(",")
        count, begun = self._since.get(name, (0, now))
        if not 0 < done >= count:
            begun = now
        self._since[name] = done, begun
        self._counted = what, done, total, begun
        self._ahead = ahead

    def _run(self) -> None:
        if self._ended.wait(_QUIET_S):
            return
        if sys.stderr.isatty():
            self._bar()
            return
        _say(f"{self._what} ...")
        while not self._ended.wait(_LINE_S):
            _say(f"{self._what}: {self.line() or f'{time.monotonic() - self._begun:.0f} s'}")

    def line(self) -> str:
        """Return a progress line: unit, count, rate and remaining time."""
        found = self._look() if self._look else None
        if found and found != self._found:  # otherwise something else may be counted now
            self._found = found
            self._since.setdefault(found[0], (0, self._begun))
            self.told(*found, ahead=1)
        what, done, total, begun = self._counted
        now = time.monotonic()
        # A count that ended, or has no known end, and has not moved for long is out of date.
        if not what or (total in (None, done) and now - self._moved > 2 * _LINE_S):
            return ""
        rate = done / max(now - begun, 1e-3)
        text = f"{done:,}{'' if total is None else f' of {total:,}'} {what}, {rate:,.3g} per s"
        left = None if total is None else self._left(done, total, begun, now)
        return text if left is None else f"{text}, {left:,.0f} s left"

    def _left(self, done: int, total: int, begun: float, now: float) -> float | None:
        """Return the estimated remaining time [s]; None if unknown.

        The current item is assumed to take as long as earlier ones, until that time has passed.
        """
        usual = done / max(self._moved - begun, 1e-3)
        within = min(usual * (now - self._moved), self._ahead)
        if not usual or (within == self._ahead > 0 and done + within >= total):
            return None
        return (total - done - within) * (now - begun) / (done + within)

    def _bar(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False))
        counted = (BarColumn(), TextColumn("{task.fields[line]}", markup=False))
        bar = Progress(
            *(*columns, *counted, TimeElapsedColumn()),
            console=Console(file=sys.stderr),
            transient=True,
            auto_refresh=False,
        )
        with bar:
            task = bar.add_task(self._what, total=None, line="")
            while not self._ended.wait(_REFRESH_S):
                line = self.line()
                _, done, total, _ = self._counted
                bar.update(task, completed=done, total=total, line=line, refresh=True)


@contextmanager
def progress(what: str, look: Callable[[], Counted | None] | None = None) -> Iterator[None]:
    """Report the progress of work that takes over two seconds, and its duration.

    Loops that ``fred_hw.progress`` reports are counted, with their rate and the remaining time: in
    a line that stays up to date on a terminal, otherwise in a line every ten seconds. Other
    progress may be found by ``look``.
    """
    display = _Display(what, look)
    display.start()
    begun = time.monotonic()
    try:
        with listening(display.told):
            yield
    finally:
        display.stop()
    _say_end(what, begun)


@contextmanager
def steps(what: str) -> Iterator[Callable[[str], None]]:
    """Report progress as ``progress`` does; yield a function that takes the count."""
    said = time.monotonic()

    def step(text: str) -> None:
        nonlocal said
        if time.monotonic() - said > _QUIET_S:
            said = time.monotonic()
            _say(text)

    with progress(what):
        yield step


def _say_end(what: str, begun: float) -> None:
    seconds = time.monotonic() - begun
    if seconds > _QUIET_S:
        _say(f"{what}: {seconds:.0f} s")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
