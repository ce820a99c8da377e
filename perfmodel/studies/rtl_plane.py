"""The model beside the RTL of a plane: cycles of phases on switches with endpoints, and ours."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from fred_hw.compiler.placement import Strategy
from fred_hw.errors import InputError
from fred_hw.files import load_model
from fred_hw.protocol import CRC_BITS, HEADER_BITS
from fred_hw.spec import SwitchSpec
from fred_hw.wafer.plane import Plane
from fred_hw.wafer.spec import WaferSpec
from fred_hw.wafer.storage import storage_phases
from perfmodel.switch_timing.endpoint import load_endpoint_record
from perfmodel.switch_timing.record import RECORDS, SHIPPED, SwitchTiming, load_record
from perfmodel.topology.fred import L1, FredTopology, Level

from .rtl import (
    CyclesRecord,
    CyclesRow,
    Groups,
    RtlRow,
    beside_rtl,
    groups_of,
    groups_of_flows,
)

__all__ = [
    "SHIPPED_PLANE_CYCLES",
    "PlaneRecord",
    "PlaneRow",
    "groups_in",
    "load_plane_cycles",
    "plane_beside_rtl",
    "plane_topology",
]

SHIPPED_PLANE_CYCLES = RECORDS / "wafer-20.json"
"""Cycles of phases on the published wafer."""

_BY_ENDPOINTS = {"broadcast": "direct", "reduce_scatter": "ring", "all_gather": "ring"}
"""What endpoints do otherwise than was published, by pattern."""


class PlaneRow(CyclesRow):
    """Cycles of a phase alone on a plane.

    Parameters
    ----------
    collectives : str
        Who did it: switches (``in-network``), or endpoints (``ring``).
    """

    collectives: Literal["in-network", "ring"]


class PlaneRecord(CyclesRecord[Literal["fred-wafer-cycles/1"], WaferSpec, PlaneRow]):
    """What co-simulation measured on a plane of a wafer."""


def load_plane_cycles(path: Path = SHIPPED_PLANE_CYCLES) -> PlaneRecord:
    """Return cycles of phases from a file.

    Raises
    ------
    InputError
        It cannot be read, or is no valid record; names the field.
    """
    return load_model(PlaneRecord, path)


def plane_topology(record: PlaneRecord, *, in_network: bool) -> FredTopology:
    """Return one plane of a wafer as the model has it: a link carries a flit per cycle each way.

    An I/O controller with an endpoint is as an NPU, behind those of its L1, as the endpoint of both
    is the same.

    Raises
    ------
    InputError
        The wafer has more than two levels, or chiplets that no shipped record is of.
    """
    wafer = record.spec
    below = wafer.below(wafer.root)
    if any(wafer.below(one) for one in below) or wafer.switches[wafer.root].npus:
        raise InputError(record.name, "switches", "must be L1s below one L2, not more levels")
    top = _timing(record, wafer.chiplet(wafer.root))
    hz, width = top.record.clock.hz, wafer.link.data_width
    # All bits of a flit are those of the link: headers and CRC go beside the data.
    rate = hz * (width + HEADER_BITS + CRC_BITS) / 8
    ends = wafer.endpoints > wafer.npus
    l1: list[L1] = []
    for one in below:
        npus, controllers = len(wafer.switches[one].npus), wafer.switches[one].controllers
        counts = (npus + controllers, 0) if ends else (npus, controllers)
        l1.append(L1(*counts, _timing(record, wafer.chiplet(one))))
    uplinks = {wafer.switches[one].uplinks / wafer.switches[one].uplink_cycles for one in below}
    if len(uplinks) > 1:
        raise InputError(record.name, "switches", "must have as many uplinks in all L1s")
    return FredTopology(
        name=record.name,
        l1=l1,
        levels=[Level((top,), len(l1), rate * uplinks.pop())],
        npu_l1_bytes_per_s=rate,
        io_bytes_per_s=rate,
        link_latency_s=record.link_cycles / hz,
        in_network=in_network,
        endpoint=load_endpoint_record("endpoint", memory_s=record.memory_cycles / hz),
    )


def _timing(record: PlaneRecord, spec: SwitchSpec) -> SwitchTiming:
    """Return the shipped timing of a chiplet."""
    for name in SHIPPED:
        timing = load_record(name)
        if timing.record.spec.name == spec.name:
            return timing
    names = ", ".join(SHIPPED)
    message = f"must be of chiplets that a record is shipped of, {names}, not {spec.name}"
    raise InputError(record.name, "switches", message)


def plane_beside_rtl(record: PlaneRecord) -> tuple[RtlRow, ...]:
    """Return the cycles of each phase of a record, and those of the model."""
    topologies = {
        how: plane_topology(record, in_network=how == "in-network")
        for how in dict.fromkeys(row.collectives for row in record.rows)
    }

    def algorithm(row: PlaneRow, pattern: str) -> str:
        does = _BY_ENDPOINTS if row.collectives == "ring" else {}
        return does.get(pattern, "published")

    return beside_rtl(
        record,
        lambda row: row.collectives,
        lambda row: topologies[row.collectives],
        algorithm,
        groups_in(record.spec),
    )


def groups_in(wafer: WaferSpec) -> Callable[[PlaneRow], Groups]:
    """Return what says of a row its collective, and the nodes of its groups, the root first.

    NPUs, and controllers with endpoints, are nodes as ``plane_topology`` has them.
    """
    plane = Plane(wafer)
    homes = [plane.chiplets[chiplet].switch for chiplet, _ in plane.homes[: wafer.endpoints]]
    order = [end for one in wafer.below(wafer.root) for end in _at(homes, one)]
    nodes = {end: node for node, end in enumerate(order)}

    def groups_of_row(row: PlaneRow) -> Groups:
        strategy = Strategy.parse(row.strategy)
        stored = storage_phases(plane, strategy).get(row.phase)
        pattern, groups = groups_of_flows(stored) if stored else groups_of(strategy, row.phase)
        return pattern, [[nodes[end] for end in group] for group in groups]

    return groups_of_row


def _at(homes: Sequence[int], switch: int) -> list[int]:
    """Return the ends on a switch, NPUs before controllers."""
    return [end for end, home in enumerate(homes) if home == switch]
