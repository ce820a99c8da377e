"""Writing generated files to a folder: all of them or none."""

import tempfile
from collections.abc import Mapping
from pathlib import Path

from fred_hw.errors import InputError

__all__ = ["write_files"]


def write_files(files: Mapping[str, str], folder: Path) -> list[Path]:
    """Write ``files`` (name to text) into ``folder``, which is made if it is missing.

    Everything is written beside its place first, so a failure leaves what was there before.

    Raises
    ------
    InputError
        The folder cannot be made or written to or is no folder, or a file is one.
    """
    for path in (folder / name for name in files):
        if path.is_dir():
            raise InputError(str(path), "", "must be a file, not a directory")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".writing-") as aside:
            for name, text in files.items():
                (Path(aside) / name).write_text(text, encoding="utf-8")
            for name in files:
                (Path(aside) / name).replace(folder / name)
    except (FileExistsError, NotADirectoryError):
        raise InputError(str(folder), "", "must be a folder, not a file") from None
    except OSError as error:
        message = f"must be a folder that can be written to, not one with: {error.strerror}"
        raise InputError(str(folder), "", message) from None
    return [folder / name for name in files]
