"""Array types, and the modules of the extra ``repurpose``."""

from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fred_hw.optional import needed

__all__ = ["LARGEST", "Array", "Floats", "Indices", "Mask", "extra_module"]

LARGEST = 1e60
"""Largest weight or activation, so that squares of their products are still finite."""

Array = NDArray[np.float64]
Floats = NDArray[np.floating[Any]]
Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]


def extra_module(name: str, package: str) -> Any:
    """Return a module that the extra ``repurpose`` installs.

    Raises
    ------
    InputError
        Its package is not installed.
    """
    with needed(package, "fred repurpose", "fred-hw[repurpose]"):
        return import_module(name)
