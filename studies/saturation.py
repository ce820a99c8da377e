"""Latency against load of 8 x 8 mesh routers in RTL simulation, compared with a published router.

Loads are shares of what single links allow with X-Y, latencies are in cycles or over that of the
lowest load. Two figures say where a router saturates: the share at which latency is a number of
times that of the lowest load, and what passes when more is offered.
"""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Literal, Protocol, Self

from pydantic import BeforeValidator, Field, model_validator

from fred_hw.files import FileModel, load_model, refused
from perfmodel.published_routers import UNIFORM_CURVES, RouterCurve
from perfmodel.switch_timing.measured_record import Measured, as_tuple
from perfmodel.switch_timing.record import RECORDS

__all__ = [
    "FLOOR",
    "KNEES",
    "SHIPPED_SATURATION",
    "Curve",
    "LoadRow",
    "MeasuredCurve",
    "SaturationRecord",
    "beyond_share",
    "knee",
    "load_saturation",
    "misses",
]

SHIPPED_SATURATION = RECORDS / "mesh-8x8-saturation.json"
"""Record of measurements of the built-in routers."""

KNEES = (2.0, 3.0)
"""Latencies, relative to that of the lowest load, at which loads are reported."""

FLOOR = UNIFORM_CURVES["20 flits, 2 VC x 16"]
"""Published router that the built-in router must at least match; the published one has fewer
channels and less than half of the buffers."""

Share = Annotated[float, Field(gt=0, lt=1e3)]
Cycles = Annotated[float, Field(ge=1, lt=1e9)]
Count = Annotated[int, Field(ge=0, lt=1 << 40)]


class Curve(Protocol):
    """A curve of latency against load."""

    @property
    def points(self) -> Sequence[tuple[float, float]]:
        """Pairs of load, relative to the capacity and ascending, and latency [cycles]."""
        ...


class LoadRow(FileModel):
    """Measurements at one load.

    Parameters
    ----------
    share, offered, accepted : float
        Offered as a share of ``capacity``, and data flits per sending end and cycle.
    latency_cycles : float
        Mean from the making of a packet to its last flit, its source's queue included [cycles].
    packets, lost_messages : int
        Measured, and cycles in which a router dropped an ack or nack for lack of space.
    """

    share: Share
    offered: Share
    accepted: Share
    latency_cycles: Cycles
    packets: Count
    lost_messages: Count


class MeasuredCurve(FileModel):
    """Measurements of one traffic pattern on one mesh.

    Parameters
    ----------
    pattern, routing : str
        Traffic of the endpoints, and the routing algorithm.
    packet_flits, buffer_flits : int
        Flits of a packet, and flits that the buffer of a virtual channel of a port holds.
    capacity : float
        Flits per sending end and cycle that single links allow with X-Y.
    rows : tuple of LoadRow
        By ascending load.
    full : LoadRow
        Each sending end offers a flit in each cycle.
    """

    pattern: str
    routing: str
    packet_flits: Count
    buffer_flits: Count
    capacity: Share
    rows: Annotated[tuple[LoadRow, ...], BeforeValidator(as_tuple), Field(min_length=2)]
    full: LoadRow

    @model_validator(mode="after")
    def _ascends(self) -> Self:
        for one, other in pairwise(self.rows):
            if other.share <= one.share:
                raise refused(
                    f"rows: must have ascending shares, not {one.share} before {other.share}"
                )
        return self

    @property
    def points(self) -> tuple[tuple[float, float], ...]:
        """Pairs of load, relative to the capacity, and latency [cycles]."""
        return tuple((row.share, row.latency_cycles) for row in self.rows)


class SaturationRecord(Measured[Literal["fred-mesh-saturation/1"]]):
    """Measurements of a mesh of 8 x 8 routers.

    Parameters
    ----------
    warm_cycles, measured_cycles : int
        Before the measurement, and of it.
    flits_checked : int
        Flits of packets that were measured; payload of all is compared.
    curves : tuple of MeasuredCurve
        What was measured.
    """

    warm_cycles: Count
    measured_cycles: Count
    flits_checked: Count
    curves: Annotated[tuple[MeasuredCurve, ...], BeforeValidator(as_tuple), Field(min_length=1)]

    def curve(self, pattern: str, routing: str, packet_flits: int) -> MeasuredCurve:
        """Return the curve of a pattern and packet size.

        Raises
        ------
        KeyError
            It is not in the record.
        """
        for one in self.curves:
            if (one.pattern, one.routing, one.packet_flits) == (pattern, routing, packet_flits):
                return one
        raise KeyError(f"{pattern}, {routing}, packets of {packet_flits}")

    @property
    def uniform(self) -> tuple[MeasuredCurve, ...]:
        """Curves of uniform traffic with X-Y routing, by packet size."""
        found = [one for one in self.curves if (one.pattern, one.routing) == ("uniform", "xy")]
        return tuple(sorted(found, key=lambda one: one.packet_flits))


def load_saturation(path: Path = SHIPPED_SATURATION) -> SaturationRecord:
    """Return the saturation record in a file.

    Raises
    ------
    InputError
        It cannot be read, or is no valid record; names the field.
    """
    return load_model(SaturationRecord, path)


def knee(points: Sequence[tuple[float, float]], factor: float) -> float | None:
    """Return the load at which the latency is first ``factor`` times that of the lowest load.

    Between two loads latency is taken as a straight line; None if no load reaches it.

    Parameters
    ----------
    points : sequence of tuple
        Load, ascending, and latency [cycles].
    factor : float
        More than 1.
    """
    aim = factor * points[0][1]
    for (low, below), (high, above) in pairwise(points):
        if above >= aim:
            return low + (high - low) * (aim - below) / (above - below)
    return None


def beyond_share(curve: MeasuredCurve | RouterCurve) -> float | None:
    """Return the throughput beyond saturation, relative to the capacity; None if unknown."""
    if isinstance(curve, MeasuredCurve):
        return curve.full.accepted / curve.capacity
    return None if curve.beyond is None else curve.beyond.value / curve.capacity


def misses(curve: MeasuredCurve) -> list[str]:
    """Return the deficiencies of a uniform-traffic curve: wrong shape, or worse than ``FLOOR``."""
    found: list[str] = []
    for one, other in pairwise(curve.rows):
        if other.latency_cycles <= one.latency_cycles:
            found.append(
                f"latency falls from {one.latency_cycles} at {one.share} of capacity to "
                f"{other.latency_cycles} at {other.share}"
            )
    for factor in KNEES:
        ours, least = knee(curve.points, factor), knee(FLOOR.points, factor)
        if least is not None and ours is not None and ours < least:
            found.append(f"latency is {factor:g} times at {ours:.3f} of capacity, not {least:.3f}")
    ours, least = beyond_share(curve), beyond_share(FLOOR)
    if ours is not None and least is not None and ours < least:
        found.append(f"{ours:.3f} of capacity pass, not {least:.3f}")
    return found
