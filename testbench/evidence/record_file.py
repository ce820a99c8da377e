"""File of a record, named on the command line."""

import argparse
from pathlib import Path

__all__ = ["record_file"]


def record_file(text: str) -> Path:
    """Return the file of a record, checked before the work that it is to record.

    Parameters
    ----------
    text : str
        Path of the file, which need not exist.

    Raises
    ------
    ArgumentTypeError
        If it is a folder, or in one that does not exist.
    """
    path = Path(text)
    if path.is_dir() or not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"must be a file in a folder that exists, not {text!r}")
    return path
