"""Parameter files of RoCE."""

from pathlib import Path

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
    return read_config(path) if path.suffix == ".txt" else load_model(RoceFile, path)
