"""Deprecation warnings of cocotbext-axi, which would fail benches."""

import warnings

__all__ = ["ignore_in_cocotbext_axi"]


def ignore_in_cocotbext_axi() -> None:
    """Ignore that cocotbext-axi 0.1.28 uses what cocotb 2 deprecates.

    Warnings of the bench itself stay errors.
    """
    warnings.filterwarnings("ignore", category=DeprecationWarning, module=r"cocotbext\.axi\.")
