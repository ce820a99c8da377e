"""Timing records of mesh routers, the only source of router timing."""

from pathlib import Path
from typing import ClassVar, Literal, cast

from pydantic import model_validator

from fred_hw.files import FileModel, validate
from fred_hw.mesh.spec import MeshSpec
from fred_hw.reading import read_data

from .measured_record import Clock, MeasuredRecord
from .provenance import RecordUse
from .record import (
    SHIPPED,
    ProtocolModel,
    SwitchTiming,
    TimingRecord,
    check_payload_share,
    record_path,
)
from .whole_switch import Cycles, Share, SmallShare

__all__ = [
    "SHIPPED_ROUTERS",
    "LinkTiming",
    "Router",
    "RouterRecord",
    "RouterTiming",
    "load_link_record",
]

SCHEMA = "fred-mesh-timing/2"

SHIPPED_ROUTERS = ("mesh-5x4",)
"""Built-in router records: those of the published mesh."""


class Router(FileModel):
    """Co-simulation measurements of a router; shares are of a link at full load.

    Parameters
    ----------
    latency_cycles : int
        Latency of a lone flit, port to port [cycles].
    follow_cycles : int
        The same for a flit that follows another one on the same route [cycles].
    preemption_cycles : int
        Largest additional latency of a lone urgent flit if less urgent packets use the same route
        [cycles].
    message_cycles : int
        The same as ``latency_cycles`` for an ack or a nack [cycles].
    data_flits_per_cycle : float
        Share of the cycles in which a data flit crosses, above 0 and at most 1.
    ack_share, control_share : float
        Share of the cycles in which an ack crosses, and in which any flit without data does,
        including acks, 0 or more and below 1.
    payload_share : float
        Share of the raw link rate that is payload, above 0 and at most 1: ``data_flits_per_cycle``
        times the bits of the data of a flit of ``spec`` divided by those of the flit with its
        header and CRC.
    """

    latency_cycles: Cycles
    follow_cycles: Cycles
    preemption_cycles: Cycles
    message_cycles: Cycles
    data_flits_per_cycle: Share
    ack_share: SmallShare
    control_share: SmallShare
    payload_share: Share


class RouterRecord(MeasuredRecord[Literal["fred-mesh-timing/2"], MeshSpec]):
    """Co-simulation measurements of the routers of a mesh, which differ only in position.

    Parameters
    ----------
    router : Router
        Measurements of a router.
    clock : Clock
        Clock frequency [Hz] and its source.
    """

    SMALLER: ClassVar[dict[str, tuple[str, ...]]] = {
        "size": ("width", "height", "controllers"),
        **MeasuredRecord.SMALLER,
    }

    router: Router
    clock: Clock

    @model_validator(mode="after")
    def _check_router(self) -> "RouterRecord":
        cycles = self.router
        if cycles.follow_cycles > cycles.latency_cycles:
            raise ValueError(
                f"router.follow_cycles must be at most router.latency_cycles, "
                f"{cycles.latency_cycles}, not {cycles.follow_cycles}"
            )
        width = self.spec.link.data_width
        check_payload_share("router", cycles.data_flits_per_cycle, cycles.payload_share, width)
        return self


class RouterTiming:
    """Timing of a router in SI units, derived only from its record.

    Parameters
    ----------
    record : RouterRecord
        Record of the measurements.
    loaded_as : str
        Name under which the record was loaded.
    protocol : str
        One of ``PROTOCOL_MODELS``: ``measured``, or ``ideal``, as if routers and link layer took
        neither time nor link rate.
    """

    def __init__(
        self, record: RouterRecord, loaded_as: str, protocol: ProtocolModel = "measured"
    ) -> None:
        self.record = record
        self.loaded_as = loaded_as
        self.protocol: ProtocolModel = protocol
        self.measured = protocol == "measured"
        """Whether routers have their measured latency and link rate."""
        self.latency_cycles = record.router.latency_cycles if self.measured else 0
        """Port-to-port latency of a lone flit [cycles]."""
        router = record.router
        self.sooner_cycles = router.latency_cycles - router.follow_cycles if self.measured else 0
        """Latency that a flit saves if it follows another on the same path [cycles]."""
        self.message_cycles = router.message_cycles if self.measured else 0
        """Port-to-port latency of an ack [cycles]."""
        self.router_cycles = self.sooner_cycles, self.message_cycles
        """Both of the previous values."""
        self.latency_s = self.latency_cycles / record.clock.hz
        """Port-to-port latency of a lone flit [s]."""
        cycles = router.preemption_cycles if self.measured else 0
        self.preemption_s = cycles / record.clock.hz
        """Delay of an urgent packet until it preempts others [s]."""
        self.link_share = record.router.payload_share if self.measured else 1.0
        """Fraction of the link rate available for payload, above 0 and at most 1."""

    def use(self, routers: str) -> RecordUse:
        """Return the provenance of the routers called ``routers``."""
        record = self.record
        return RecordUse(
            switches=routers,
            record=self.loaded_as,
            name=record.name,
            measured="router",
            latency_cycles=self.latency_cycles,
            latency_s=self.latency_s,
            efficiency=self.link_share,
            clock=f"{record.clock.hz / 1e9:.6f} GHz, {record.clock.source}",
            measured_by=record.measured_by,
        )


LinkTiming = SwitchTiming | RouterTiming
"""Timing of the routers or switches at the ends of links."""


def load_link_record(
    name_or_path: str,
    base: Path | None = None,
    protocol: ProtocolModel = "measured",
    *,
    source: str = "timing record",
    field: str = "",
) -> LinkTiming:
    """Return the timing of routers, or of a switch whose flits a mesh's links carry.

    Parameters
    ----------
    name_or_path : str
        Name of a shipped record, such as ``mesh-5x4`` or ``l1-12``, or path of a JSON file.
    base, protocol, source, field
        As in ``load_record``.

    Raises
    ------
    InputError
        There is no such record, or it is invalid; names the field.
    """
    path = record_path(name_or_path, base, (*SHIPPED_ROUTERS, *SHIPPED), source, field)
    data = read_data(path)
    if _schema(data) == SCHEMA:
        return RouterTiming(validate(RouterRecord, data, str(path)), name_or_path, protocol)
    return SwitchTiming(validate(TimingRecord, data, str(path)), name_or_path, protocol)


def _schema(data: object) -> object:
    return cast("dict[object, object]", data).get("schema") if isinstance(data, dict) else None
