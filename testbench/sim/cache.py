"""One store of what simulators build: by content, shared by all runs and processes."""

import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

__all__ = ["BUILDS", "Built", "built", "cache_folder", "cpu_s", "prune"]

KEPT_BYTES, KEPT_DAYS = 2 << 30, 30
"""More than so much, or unused for so long, is removed."""

_IN_USE_S = 6 * 3600
"""What was used within this time is never removed: a simulation may still run from it."""


@dataclass(frozen=True)
class Built:
    """Something that this process has built, and the processor time that it took [s]."""

    name: str
    cpu_s: float


BUILDS: list[Built] = []
"""What this process has built, in order; those who time tests list it apart."""


def cpu_s() -> float:
    """Return the processor time of this process and of those it has waited for [s]."""
    return sum(os.times()[:4])


def cache_folder() -> Path:
    """Return the store: ``FRED_HW_CACHE``, or ``fred-hw`` in the user's cache folder."""
    given = os.environ.get("FRED_HW_CACHE")
    if given:
        return Path(given).absolute()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache").absolute() / "fred-hw"


def built(name: str, content: Iterable[str], build: Callable[[Path], None]) -> Path:
    """Return the folder with what ``build`` makes of ``content``, built unless it is there.

    One process builds, others that want the same wait for it. A build that fails or is cut short
    leaves nothing.

    Parameters
    ----------
    name : str
        What it is, for readers; part of the folder's name.
    content : iterable of str
        All that the result depends on: sources, options, versions.
    build : callable
        Fills the empty folder that it is given. The folder is moved afterwards.
    """
    digest = hashlib.sha256()
    for part in content:
        digest.update(part.encode() + b"\0")
    root = cache_folder()
    place = root / f"{name}-{digest.hexdigest()[:20]}"
    root.mkdir(parents=True, exist_ok=True)
    with FileLock(root / f"{place.name}.lock"):
        if not place.exists():
            begun, before = cpu_s(), len(BUILDS)
            with tempfile.TemporaryDirectory(dir=root, prefix="building-") as folder:
                aside = Path(folder) / "content"
                aside.mkdir()
                build(aside)
                aside.rename(place)
            others = sum(other.cpu_s for other in BUILDS[before:])  # that it needed
            BUILDS.append(Built(name, cpu_s() - begun - others))
            prune(KEPT_BYTES, KEPT_DAYS)
        os.utime(place)
    return place


def _there(places: Iterable[Path]) -> Iterator[tuple[Path, os.stat_result]]:
    """Yield what is there still, as others build and prune meanwhile."""
    for place in places:
        with suppress(FileNotFoundError):
            yield place, place.stat()


def prune(kept_bytes: int, kept_days: float) -> None:
    """Remove what is unused for long, and the longest unused of what is too much.

    Parameters
    ----------
    kept_bytes, kept_days : int, float
        Size of all, and days without use, that are left alone.
    """
    root, now, total = cache_folder(), time.time(), 0
    ages = sorted((now - found.st_mtime, place) for place, found in _there(root.iterdir()))
    for age, place in ages:
        if not place.is_dir():
            continue
        files = (Path(folder, name) for folder, _, names in os.walk(place) for name in names)
        total += sum(found.st_size for _, found in _there(files))
        if age > _IN_USE_S and (total > kept_bytes or age > kept_days * 24 * 3600):
            shutil.rmtree(place, ignore_errors=True)
            (root / f"{place.name}.lock").unlink(missing_ok=True)
