"""Keys of a topology file that describe the collective endpoints of NPUs."""

from pathlib import Path
from typing import Any, Protocol

from fred_hw.errors import InputError
from perfmodel.switch_timing.endpoint import EndpointTiming, load_endpoint_record

__all__ = ["ENDPOINT_KEYS", "HasEndpoint", "endpoint_of"]


def _given(key: str) -> dict[str, Any]:
    return {"properties": {key: {"not": {"type": "null"}}}, "required": [key]}


ENDPOINT_KEYS = {"if": _given("memory_latency_s"), "then": _given("endpoint_record")}
"""JSON Schema of these keys."""


class HasEndpoint(Protocol):
    """A topology file with the key of an endpoint record."""

    @property
    def endpoint_record(self) -> str | None:
        """Timing record of the NPUs' collective endpoints."""
        ...

    @property
    def memory_latency_s(self) -> float | None:
        """Latency from a read request of an endpoint to its data [s]."""
        ...

    @property
    def protocol(self) -> str:
        """One of ``record.PROTOCOL_MODELS``."""
        ...


def endpoint_of(file: HasEndpoint, name: str, base: Path | None) -> EndpointTiming | None:
    """Return the timing of endpoints; None without a record or with an ideal protocol.

    Parameters
    ----------
    file : HasEndpoint
        Contents of the file.
    name : str
        The file, for messages.
    base : Path or None
        Folder of records with relative paths.

    Raises
    ------
    InputError
        The record is missing or invalid, or only one latency of memory is given.
    """
    if file.endpoint_record is None:
        if file.memory_latency_s is not None:
            message = "must be given with endpoint_record, or left out"
            raise InputError(name, "memory_latency_s", f"{message}, not alone")
        return None
    found = load_endpoint_record(
        file.endpoint_record,
        base,
        file.memory_latency_s or 0.0,
        source=name,
        field="endpoint_record",
    )
    return None if file.protocol == "ideal" else found
