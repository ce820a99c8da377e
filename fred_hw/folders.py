"""Temporary folders."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .errors import InputError

__all__ = ["refused_folder", "writing_to"]


def refused_folder(folder: Path, why: str | None) -> InputError:
    """Return the error for a folder that cannot be written, for example on a full disk."""
    message = f"must be a folder that can be written to, not one with: {why}"
    return InputError(str(folder), "", message)


@contextmanager
def writing_to(folder: Path) -> Iterator[None]:
    """Add a folder to operating system errors that name no file, or a file in the folder.

    A disk that is full is noticed while a file is written, and such an error names none.

    Raises
    ------
    InputError
        The folder, or a file in it, cannot be written.
    """
    try:
        yield
    except OSError as error:
        named = None if error.filename is None else Path(str(error.filename))
        if named is not None and folder not in (named, *named.parents):
            raise
        raise refused_folder(folder, error.strerror) from None
