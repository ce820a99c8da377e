"""Packages that are optional."""

from collections.abc import Iterator
from contextlib import contextmanager

from .errors import InputError

__all__ = ["needed"]


@contextmanager
def needed(package: str, what: str, wanted: str) -> Iterator[None]:
    """Fail if a package that ``what`` imports is not installed; ``wanted`` provides it."""
    try:
        yield
    except ImportError as error:
        message = f"must be installed for {what}: pip install '{wanted}' ({error})"
        raise InputError(package, "", message) from None
