"""Cache of simulator builds by content, shared by all runs and processes."""

import errno
import hashlib
import json
import logging
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

from fred_hw.errors import InputError
from fred_hw.folders import refused_folder, writing_to
from fred_hw.reading import parse_json

from .tools import SimulatorError

__all__ = ["BUILDS", "Built", "built", "cache_folder", "cpu_s", "prune"]

_LOG = logging.getLogger(__name__)

_CONTENTS = "contents.json"
"""File in each folder with the hashes of all other files."""

KEPT_BYTES, KEPT_DAYS = 2 << 30, 30
"""Size and age above which unused builds are removed."""

_IN_USE_S = 6 * 3600
"""Builds used within this time are never removed, since a simulation may be running [s]."""


@dataclass(frozen=True)
class Built:
    """A build made by this process, with its processor time [s]."""

    name: str
    cpu_s: float


BUILDS: list[Built] = []
"""Builds made by this process, in order; reported separately in timings."""


def cpu_s() -> float:
    """Return the processor time of this process and of its finished children [s]."""
    return sum(os.times()[:4])


def cache_folder() -> Path:
    """Return the cache folder: ``FRED_HW_CACHE``, or ``fred-hw`` in the user's cache folder."""
    given = os.environ.get("FRED_HW_CACHE")
    if given:
        return Path(given).absolute()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache").absolute() / "fred-hw"


def built(name: str, content: Iterable[str], build: Callable[[Path], None]) -> Path:
    """Return the folder that ``build`` makes from ``content``, built unless it is cached.

    One process builds; others that need the same result wait for it. A build that fails or is
    interrupted leaves nothing. The folder lists its files with their hashes; if one is missing or
    has another hash, a line is logged and the folder is built again.

    Parameters
    ----------
    name : str
        Name for readers; part of the folder's name.
    content : iterable of str
        All inputs of the result: sources, options, versions.
    build : callable
        Fills a given empty folder, which is moved afterwards.

    Raises
    ------
    InputError
        The cache cannot be written; names its folder.
    """
    digest = hashlib.sha256(_CONTENTS.encode())
    for part in content:
        digest.update(part.encode() + b"\0")
    root = cache_folder()
    place = root / f"{name}-{digest.hexdigest()[:20]}"
    with writing_to(root):
        root.mkdir(parents=True, exist_ok=True)
        with FileLock(root / f"{place.name}.lock"):
            if place.exists() and _damaged(place):
                _LOG.warning("%s: was damaged and is built again", place)
                shutil.rmtree(place)
            if not place.exists():
                _build(name, build, place)
            os.utime(place)
    return place


def _build(name: str, build: Callable[[Path], None], place: Path) -> None:
    """Fill a folder of the cache atomically."""
    begun, before, root = cpu_s(), len(BUILDS), place.parent
    with tempfile.TemporaryDirectory(dir=root, prefix="building-") as folder:
        aside = Path(folder) / "content"
        aside.mkdir()
        try:
            build(aside)
        except SimulatorError as error:
            full = os.strerror(errno.ENOSPC)  # the text in compiler messages
            if full in str(error):
                raise refused_folder(root, full) from None
            raise
        (aside / _CONTENTS).write_text(json.dumps(_hashes(aside)), encoding="utf-8")
        aside.rename(place)
    others = sum(other.cpu_s for other in BUILDS[before:])  # time of other builds within this one
    BUILDS.append(Built(name, cpu_s() - begun - others))
    prune(KEPT_BYTES, KEPT_DAYS)


def _hashes(place: Path) -> dict[str, str]:
    """Return the hash of each file below a folder, keyed by name."""
    return {
        str(path.relative_to(place)): _hash(path)
        for path in sorted(place.rglob("*"))
        if path.is_file()
    }


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _damaged(place: Path) -> bool:
    """Return whether a folder lacks built files or contains modified ones."""
    try:
        hashes = parse_json((place / _CONTENTS).read_text(encoding="utf-8"))
        return any(_hash(place / name) != one for name, one in hashes.items())
    except (OSError, ValueError, AttributeError, InputError):
        return True


def _there(places: Iterable[Path]) -> Iterator[tuple[Path, os.stat_result]]:
    """Yield the paths that still exist, as other processes build and prune meanwhile."""
    for place in places:
        with suppress(FileNotFoundError):
            yield place, place.stat()


def prune(kept_bytes: int, kept_days: float) -> None:
    """Remove builds that are long unused, then the oldest ones above the size limit.

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
