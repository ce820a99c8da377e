"""Packages that only some installations have."""

from collections.abc import Iterator
from contextlib import contextmanager

from .errors import InputError

__all__ = ["needed"]


@contextmanager
def needed(package: str, what: str, wanted: str) -> Iterator[None]:
    """Refuse ``what`` if a package that it imports is not installed; ``wanted`` brings it."""
    try:
        yield
    except ImportError as error:
        message = f"must be installed for {what}: pip install '{wanted}' ({error})"
        raise InputError(package, "", message) from None
