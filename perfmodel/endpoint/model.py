"""Endpoint models: what runs collectives at an NPU, and what this costs."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from fred_hw.choices import not_one_of
from fred_hw.errors import InputError
from fred_hw.reading import SUFFIXES
from perfmodel.collectives.memory_traffic import TrafficOf, ace_traffic, core_traffic

from .file import EndpointFile, NpuShare, SettingEntry, load_endpoint

__all__ = [
    "IDEAL",
    "KINDS",
    "SHIPPED",
    "EndpointModel",
    "Reservation",
    "endpoint_model",
    "file_in",
    "names",
]

IDEAL = "ideal"
"""Name of the model in which endpoints cost nothing."""

SHIPPED = Path(__file__).parent / "ace.yaml"

KINDS: dict[str, TrafficOf] = {"core-driven": core_traffic, "ace": ace_traffic}
"""Traffic function for each engine that runs collectives; arguments: schedule and NPUs."""


@dataclass(frozen=True, slots=True)
class Reservation:
    """NPU resources reserved for communication, and the resulting network rate.

    Parameters
    ----------
    name : str
        Name of the setting.
    memory_share, core_share : float
        Shares of memory bandwidth and cores that compute loses, 0 to less than 1.
    read_share : float
        Rate at which communication reads memory, relative to the NPU's memory bandwidth.
    overlap : bool
        Whether gradients may be reduced during compute.
    """

    name: str
    memory_share: float
    core_share: float
    read_share: float
    overlap: bool


@dataclass(frozen=True, slots=True)
class EndpointModel:
    """How the NPUs run collectives.

    Parameters
    ----------
    kind : str
        One of ``KINDS``.
    reservations : tuple of Reservation
        An iteration takes the one with which it is fastest.
    """

    kind: str
    reservations: tuple[Reservation, ...]

    def assumptions(self, taken: Reservation) -> tuple[str, ...]:
        """Return the assumptions of an iteration that uses one of the reservations."""
        left = (
            "compute always lacks "
            f"{taken.memory_share:.3g} of memory bandwidth and {taken.core_share:.3g} of the cores"
            if taken.overlap
            else "compute lacks nothing, and gradients are reduced after it"
        )
        rate = f"reads memory at {taken.read_share:.3g} of its bandwidth"
        return (
            f"endpoint {self.kind} with setting {taken.name}: {left}; communication {rate}",
            "algorithms and placements are those that are best with ideal endpoints",
            "streams from and to I/O controllers and remote memory cost endpoints nothing",
        )


def names() -> tuple[str, ...]:
    """Return the names of the built-in endpoint models."""
    found = [f"{kind}:{one.name}" for kind in KINDS for one in _read(SHIPPED).settings]
    return (IDEAL, *KINDS, *found)


def file_in(name: str) -> str:
    """Return the path in a name such as ``ace:FILE.yaml``; an empty text without one."""
    kind, _, text = name.partition(":")
    return text if kind in KINDS and text.endswith(SUFFIXES) else ""


def endpoint_model(name: str) -> EndpointModel | None:
    """Return the endpoint model with a given name; None for ``ideal``.

    Parameters
    ----------
    name : str
        ``ideal``, ``core-driven`` or ``ace``. The last two use the fastest shipped setting, unless
        a colon and the name of a setting or the path of a file follow.

    Raises
    ------
    InputError
        There is no such model, or the file is invalid.
    """
    if name == IDEAL:
        return None
    kind, _, text = name.partition(":")
    if path := file_in(name):
        return _model(kind, load_endpoint(Path(path)), "", path)
    if name not in names():
        otherwise = "or core-driven or ace with :FILE.yaml"
        message = not_one_of(name, names(), otherwise=otherwise, listed_by="fred estimate --help")
        raise InputError("", "endpoint", message)
    return _model(kind, _read(SHIPPED), text, str(SHIPPED))


_read = lru_cache(maxsize=1)(load_endpoint)


def _model(kind: str, file: EndpointFile, name: str, source: str) -> EndpointModel:
    """Return the model with the named setting, or with all settings of a file."""
    taken: list[Reservation] = []
    for n, setting in enumerate(file.settings):
        if kind != "ace" and not setting.cores:
            message = f"must be 1 or more for {kind}, not 0"
            raise InputError(source, f"settings.{n}.cores", message)
        if name in ("", setting.name):
            taken.append(_reservation(kind, file.npu, setting))
    return EndpointModel(kind, tuple(taken))


def _reservation(kind: str, npu: NpuShare, setting: SettingEntry) -> Reservation:
    """Return the reservation of a setting; ACE needs no cores, so cores do not limit its reads."""
    memory = setting.memory_bytes_per_s / npu.memory_bytes_per_s
    cores, read = setting.cores / npu.cores, memory
    if kind == "ace":
        cores = 0.0
    else:
        read = min(read, setting.cores * npu.core_bytes_per_s / npu.memory_bytes_per_s)
    if not setting.overlap:
        return Reservation(setting.name, 0.0, 0.0, read, overlap=False)
    return Reservation(setting.name, memory, cores, read, overlap=True)
