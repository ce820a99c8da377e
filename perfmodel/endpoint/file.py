"""Endpoint files: what communication may take of an NPU."""

from pathlib import Path
from typing import Annotated

from pydantic import Field

from fred_hw.errors import InputError
from fred_hw.file_kinds import ENDPOINT
from fred_hw.files import FileModel, int_range, load_model, number_range

__all__ = ["EndpointFile", "NpuShare", "SettingEntry", "load_endpoint"]

_Rate = Annotated[float, number_range(1e6, 1e18)]
_Cores = Annotated[int, int_range(1, 1 << 20)]
_Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,30}$")]


class NpuShare(FileModel):
    """The NPU that settings are of; on another NPU they take the same shares.

    Parameters
    ----------
    memory_bytes_per_s : float
        Memory bandwidth [B/s].
    cores : int
        Cores that compute, such as the streaming multiprocessors of a GPU.
    core_bytes_per_s : float
        What one core can read from memory to send it [B/s].
    """

    memory_bytes_per_s: _Rate
    cores: _Cores
    core_bytes_per_s: _Rate


class SettingEntry(FileModel):
    """What communication takes of the NPU.

    Parameters
    ----------
    memory_bytes_per_s : float
        Bandwidth that communication reads with [B/s]; at most that of the NPU.
    cores : int
        Cores that drive the network; at most those of the NPU. An ACE endpoint needs none.
    overlap : bool
        Whether communication runs beside compute. Compute then keeps what is left of bandwidth and
        cores, all of the time. Otherwise gradients are reduced after compute, which keeps
        everything.
    """

    memory_bytes_per_s: _Rate
    cores: Annotated[int, int_range(0, 1 << 20)] = 0
    overlap: bool = True


class EndpointFile(FileModel):
    """Settings of an endpoint.

    Parameters
    ----------
    npu : NpuShare
        The NPU that settings are of; on another NPU they take the same shares.
    settings : mapping
        Settings by name. An estimate takes the fastest, or the one that it is asked for.
    """

    file_kind = ENDPOINT

    npu: NpuShare
    settings: Annotated[dict[_Name, SettingEntry], Field(min_length=1, max_length=16)]

    def check(self, source: str) -> None:
        """Fail unless every setting leaves something to compute.

        Raises
        ------
        InputError
            A setting takes more than the NPU has, or all of it while it overlaps.
        """
        for name, one in self.settings.items():
            for key in ("memory_bytes_per_s", "cores"):
                most, given = getattr(self.npu, key), getattr(one, key)
                field = f"settings.{name}.{key}"
                if given > most:
                    message = f"must be at most npu.{key}, which is {most:g}, not {given:g}"
                    raise InputError(source, field, message)
                if one.overlap and given == most:
                    message = f"must be below npu.{key} with overlap, which is {most:g}"
                    raise InputError(source, field, f"{message}, not {given:g}")


def load_endpoint(path: Path) -> EndpointFile:
    """Return the settings in a file.

    Raises
    ------
    InputError
        The file is unreadable, or a key is unknown, missing or has a value that is not allowed.
    """
    found = load_model(EndpointFile, path)
    found.check(str(path))
    return found
