"""Parameter files of RoCE."""

from pathlib import Path

from fred_hw.errors import InputError
from fred_hw.files import load_model

from .ns3_config import read_config
from .parameters import RoceFile

__all__ = ["load_parameters"]


def load_parameters(path: Path) -> RoceFile:
    """Return the parameters in a YAML file or an ns-3 configuration file (.txt).

    Raises
    ------
    InputError
        The file is unreadable, or a value is not allowed.
    """
    if path.suffix == ".txt":
        return read_config(path)
    file = load_model(RoceFile, path)
    for place, row in enumerate(file.ecn):
        if row.kmax_kb <= row.kmin_kb:
            message = f"must be above kmin_kb, {row.kmin_kb:g}, not {row.kmax_kb:g}"
            raise InputError(str(path), f"ecn.{place}.kmax_kb", message)
    return file
