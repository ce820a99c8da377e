"""Feed every reader and the command line what nobody should write: `make fuzz`.

An input may be refused in a line, and nothing else: no other exception, no input that takes more
than ten seconds of processor time or a gigabyte. What fails is made small and printed, and becomes
a test; a seed gives the same inputs again.
"""

import resource
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import click
from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings

from tests.fuzz.targets import TARGETS, Target

__all__ = ["fuzz"]

CPU_S, MEMORY_BYTES = 10, 1 << 30
"""What one input may take: processor time [s], and memory more than the process has held [B]."""

SCALE = 5
"""Inputs of a target in a round, for each of its shares."""


class TooMuchError(BaseException):
    """An input took longer than it may; no reader takes it for its own."""


@contextmanager
def bounded() -> Iterator[None]:
    """Raise ``TooMuchError`` in what takes too long, and fail where it took too much memory."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise TooMuchError(f"more than {CPU_S} s")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, CPU_S)
    held = _peak_bytes()
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    if _peak_bytes() > held + MEMORY_BYTES:
        raise TooMuchError(f"more than {MEMORY_BYTES} bytes")


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _round(target: Target, number: int, share: int, folder: Path) -> None:
    """Run one round of a target, and shrink what fails."""
    kept = (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM), sys.unraisablehook)

    @seed(number)
    @settings(
        max_examples=share * SCALE,
        deadline=None,
        database=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=(HealthCheck.too_slow, HealthCheck.data_too_large),
        verbosity=Verbosity.normal,
    )
    @given(target.inputs)
    def one(inputs: Any) -> None:
        with bounded():
            target.run(inputs, folder)

    try:
        one()
    finally:
        signal.signal(signal.SIGINT, kept[0])
        signal.signal(signal.SIGTERM, kept[1])
        sys.unraisablehook = kept[2]


def fuzz(inputs: int, seconds: float, first: int, names: Sequence[str] = ()) -> Counter[str]:
    """Run inputs until there were so many or so long; return how many by target.

    Parameters
    ----------
    inputs, seconds : int, float
        When to stop, whichever comes first.
    first : int
        Seed of the first round; each round has one more.
    names : sequence of str
        Targets; all if empty.

    Raises
    ------
    Exception
        What an input raised that no input may; hypothesis adds the smallest such input.
    """
    ran: Counter[str] = Counter()
    begun, number = time.monotonic(), first
    with tempfile.TemporaryDirectory() as place:
        while ran.total() < inputs:
            for name in names or TARGETS:
                target = TARGETS[name]
                folder = Path(place) / name
                folder.mkdir(exist_ok=True)
                try:
                    _round(target, number, target.share, folder)
                except BaseException as error:
                    error.add_note(f"target {name}, seed {number}")
                    raise
                ran[name] += target.share * SCALE
                if time.monotonic() - begun > seconds:
                    return ran
            number += 1
    return ran


@click.command(help=__doc__)
@click.option("--inputs", default=1_000_000, show_default=True)
@click.option("--minutes", default=30.0, show_default=True)
@click.option("--seed", "first", default=1, show_default=True)
@click.option("--target", "names", multiple=True, type=click.Choice(list(TARGETS)))
def main(inputs: int, minutes: float, first: int, names: tuple[str, ...]) -> None:
    """Fuzz, and say how much."""
    begun = time.monotonic()
    ran = fuzz(inputs, 60 * minutes, first, names)
    seconds, peak = time.monotonic() - begun, _peak_bytes() / 2**20
    click.echo(f"{ran.total():,} inputs in {seconds:.0f} s, {peak:.0f} MiB, 0 uncaught")
    for name, count in ran.items():
        click.echo(f"  {name}: {count:,}")


if __name__ == "__main__":
    main()
