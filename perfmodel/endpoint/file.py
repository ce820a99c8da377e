"""Endpoint files: memory bandwidth and cores reserved for communication."""

import re
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from fred_hw.errors import InputError
from fred_hw.file_kinds import ENDPOINT
from fred_hw.files import Check, FileModel, int_range, load_model, number_range, refused

__all__ = ["EndpointFile", "NpuShare", "SettingEntry", "load_endpoint"]

_Rate = Annotated[float, number_range(1e6, 1e18)]
_Cores = Annotated[int, int_range(1, 1 << 20)]


_NAME = r"^[a-z][a-z0-9-]{0,30}$"


def _name(value: object) -> object:
    if not isinstance(value, str) or not re.fullmatch(_NAME, value):
        raise refused(f"must be 1 to 31 lowercase letters, digits and '-', not {value!r:.60}")
    return value


def _name_schema() -> dict[str, Any]:
    return {"type": "string", "pattern": _NAME}


class NpuShare(FileModel):
    """The NPU that settings refer to; on another NPU the same shares are reserved.

    Parameters
    ----------
    memory_bytes_per_s : float
        Memory bandwidth [B/s].
    cores : int
        Cores that compute, such as the streaming multiprocessors of a GPU.
    core_bytes_per_s : float
        Rate at which one core can read memory for sending [B/s].
    """

    memory_bytes_per_s: Annotated[_Rate, Field(examples=[900e9])]
    cores: Annotated[_Cores, Field(examples=[80])]
    core_bytes_per_s: Annotated[_Rate, Field(examples=[79.68e9])]


class SettingEntry(FileModel):
    """One setting: the NPU resources reserved for communication.

    Parameters
    ----------
    name : str
        How the setting is asked for.
    memory_bytes_per_s : float
        Bandwidth that communication reads with [B/s]; at most that of the NPU.
    cores : int
        Cores that drive the network; at most those of the NPU. An ACE endpoint needs none.
    overlap : bool
        Whether communication runs during compute. Compute then keeps what is left of bandwidth and
        cores, all of the time. Otherwise gradients are reduced after compute, which keeps
        everything.
    """

    name: Annotated[str, Check(_name, schema=_name_schema), Field(examples=["light"])]
    memory_bytes_per_s: Annotated[_Rate, Field(examples=[100e9])]
    cores: Annotated[int, int_range(0, 1 << 20), Field(examples=[2])] = 0
    overlap: bool = True


class EndpointFile(FileModel):
    """Settings of an endpoint.

    Parameters
    ----------
    npu : NpuShare
        The NPU of the settings; on another NPU they take the same shares.
    settings : list of SettingEntry
        Resources for communication. An estimate uses the fastest of the settings.
    """

    file_kind = ENDPOINT

    npu: NpuShare
    settings: Annotated[list[SettingEntry], Field(min_length=1, max_length=16)]

    def check(self, source: str) -> None:
        """Fail unless setting names are unique and each setting leaves resources for compute.

        Raises
        ------
        InputError
            Two settings have one name, or a setting takes more than the NPU has, or takes all of it
            and overlaps with compute.
        """
        names = [one.name for one in self.settings]
        for n, one in enumerate(self.settings):
            if one.name in names[:n]:
                message = f"must have each name once, not {one.name!r} twice"
                raise InputError(source, f"settings.{n}.name", message)
            for key in ("memory_bytes_per_s", "cores"):
                most, given = getattr(self.npu, key), getattr(one, key)
                field = f"settings.{n}.{key}"
                if given > most:
                    message = f"must be at most npu.{key}, which is {most:g}, not {given:g}"
                    raise InputError(source, field, message)
                if one.overlap and given == most:
                    message = f"must be below npu.{key} with overlap, which is {most:g}"
                    raise InputError(source, field, f"{message}, not {given:g}")


def load_endpoint(path: Path) -> EndpointFile:
    """Return the settings of an endpoint file.

    Raises
    ------
    InputError
        The file is unreadable, or a key is unknown, missing or has a value that is not allowed.
    """
    return load_model(EndpointFile, path)
