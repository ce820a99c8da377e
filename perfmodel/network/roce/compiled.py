"""Compilation of the event core by numba, where numba is installed."""

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import TypeVar, cast

__all__ = ["compiled"]

Function = TypeVar("Function", bound=Callable[..., object])


def compiled(function: Function) -> Function:
    """Return a function compiled when it is first called, or as it is without numba.

    The source is the same in both cases: the interpreted function is the reference of the compiled
    one. ``NUMBA_DISABLE_JIT=1`` selects the interpreted function where numba is installed.
    """
    if find_spec("numba") is None:
        return function
    numba = import_module("numba")
    return cast("Function", numba.njit(cache=True, error_model="numpy")(function))
