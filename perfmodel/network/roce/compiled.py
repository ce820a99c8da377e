"""Compilation of the event core by numba, where numba is installed."""

import shutil
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar, cast

__all__ = ["cache_folder", "compiled"]

Function = TypeVar("Function", bound=Callable[..., object])

_SOURCES = Path(__file__).parent


def cache_folder(base: Path, sources: Path = _SOURCES) -> Path:
    """Return the cache folder for compiled functions of these sources; remove all others.

    numba compiles a function again when its own file changes, but not when the file of a function
    that it calls changes. Compiled functions are therefore kept by the content of all sources.

    Parameters
    ----------
    base : Path
        Folder that the folder is in.
    sources : Path
        Folder of the sources.
    """
    digest = sha256()
    for path in sorted(sources.rglob("*.py")):
        digest.update(path.read_bytes())
    found = base / f"roce-{digest.hexdigest()[:16]}"
    for other in base.glob("roce-*"):
        if other != found:
            shutil.rmtree(other, ignore_errors=True)
    return found


@cache
def _folder(base: str) -> str:
    return str(cache_folder(Path(base) if base else _SOURCES / "__pycache__"))


def compiled(function: Function) -> Function:
    """Return a function that is compiled at its first call, or uncompiled without numba.

    The source is the same in both cases: the interpreted function is the reference of the compiled
    one. ``NUMBA_DISABLE_JIT=1`` selects the interpreted function where numba is installed.
    """
    if find_spec("numba") is None:
        return function
    numba: Any = import_module("numba")
    base = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = _folder(base)  # read by njit; other users of numba keep their own
    try:
        return cast("Function", numba.njit(cache=True, error_model="numpy")(function))
    finally:
        numba.config.CACHE_DIR = base
