"""Validation of the model against RTL simulation: phases on a plane of switches with endpoints."""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Literal

from fred_hw.compiler.flows import Flow
from fred_hw.compiler.placement import Strategy, phases
from fred_hw.errors import InputError
from fred_hw.files import load_model
from fred_hw.protocol import CRC_BITS, HEADER_BITS
from fred_hw.spec import SwitchSpec
from fred_hw.wafer.phase import switched_phases
from fred_hw.wafer.plane import Plane
from fred_hw.wafer.program import compile_strategy, ring_phases
from fred_hw.wafer.rounds import Round, Rounds
from fred_hw.wafer.spec import WaferSpec
from fred_hw.wafer.storage import storage_phases
from perfmodel.network.packet.rounds import Told, rounds_s
from perfmodel.switch_timing.endpoint import load_endpoint_record
from perfmodel.switch_timing.record import RECORDS, SHIPPED, SwitchTiming, load_record
from perfmodel.topology.fred import L1, FredTopology, Level

from .rtl import (
    CyclesRecord,
    CyclesRow,
    Groups,
    RtlRow,
    against_rtl,
    groups_of,
    groups_of_flows,
)

__all__ = [
    "SHIPPED_PLANE_CYCLES",
    "PlaneRecord",
    "PlaneRow",
    "groups_in",
    "load_plane_cycles",
    "plane_against_rtl",
    "plane_topology",
]

SHIPPED_PLANE_CYCLES = RECORDS / "wafer-20.json"
"""Record with the cycles of phases on the published wafer."""

_BY_ENDPOINTS = {"broadcast": "direct", "reduce_scatter": "ring", "all_gather": "ring"}
"""Algorithms that endpoints use in place of the published ones, by pattern."""


class PlaneRow(CyclesRow):
    """Cycles of a phase that runs alone on a plane.

    Parameters
    ----------
    collectives : str
        Who did it: switches (``in-network``), or endpoints (``ring``).
    """

    collectives: Literal["in-network", "ring"]


class PlaneRecord(CyclesRecord[Literal["fred-wafer-cycles/1"], WaferSpec, PlaneRow]):
    """Co-simulation measurements of a plane of a wafer."""

    def phases_of(self, row: PlaneRow) -> Collection[str]:
        """Return the names of the phases in the strategy of a row."""
        strategy = Strategy.parse(row.strategy)
        if row.collectives == "ring":
            return ring_phases(strategy)
        return {**phases(strategy), **storage_phases(Plane(self.spec), strategy)}


def load_plane_cycles(path: Path = SHIPPED_PLANE_CYCLES) -> PlaneRecord:
    """Return the plane record in a file.

    Raises
    ------
    InputError
        It cannot be read, or is no valid record; names the field.
    """
    return load_model(PlaneRecord, path)


def plane_topology(
    record: PlaneRecord, *, in_network: bool, strategy: str | None = None
) -> FredTopology:
    """Return the model of a wafer's plane, whose links carry one flit per cycle in each direction.

    An I/O controller with an endpoint is as an NPU, behind those of its L1, as the endpoint of both
    is the same. With a strategy, unicasts take the links that the compiler gives them, else they
    share out all links between two switches.

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
    endpoint = load_endpoint_record("endpoint", memory_s=record.memory_cycles / hz)
    ends = wafer.endpoints > wafer.npus
    l1: list[L1] = []
    for one in below:
        npus, controllers = len(wafer.switches[one].npus), wafer.switches[one].controllers
        counts = (npus + controllers, 0) if ends else (npus, controllers)
        l1.append(L1(*counts, _timing(record, wafer.chiplet(one))))
    uplinks = {(wafer.switches[one].uplinks, wafer.switches[one].uplink_cycles) for one in below}
    if len(uplinks) > 1:
        raise InputError(record.name, "switches", "must have as many uplinks in all L1s")
    ((links, cycles),) = uplinks
    return FredTopology(
        name=record.name,
        l1=l1,
        levels=[Level((top,), len(l1), rate * links / cycles, 1 if strategy is None else links)],
        npu_l1_bytes_per_s=rate,
        io_bytes_per_s=rate,
        link_latency_s=record.link_cycles / hz,
        in_network=in_network,
        endpoint=endpoint.with_read_ports(wafer.endpoint.read_ports),
        links_of=None if strategy is None else _routed(wafer, strategy),
    )


def _routed(wafer: WaferSpec, strategy: str) -> Callable[[int, int], Sequence[int]]:
    """Return a function for the uplinks that a unicast uses between two nodes.

    They are those that the compiler chooses, where endpoints do the phases of a strategy.
    """
    flit = wafer.link.data_width // 8
    program = compile_strategy(wafer, Strategy.parse(strategy), flit, collectives="ring")
    chiplets, homes = program.plane.units, program.plane.homes
    address_of = {node: address for address, node in _nodes(wafer).items()}

    def links_of(source: int, target: int) -> list[int]:
        found: list[int] = []
        address = address_of[target]
        chiplet = homes[address_of[source]][0]
        while chiplet != homes[address][0]:
            port = program.route(chiplet, address)
            end = chiplets[chiplet].ends[port]
            up = wafer.above(chiplets[chiplet].switch) == chiplets[end.number].switch
            below, place = (chiplets[chiplet], port) if up else (chiplets[end.number], end.port)
            found.append(place - below.spec.ports + wafer.switches[below.switch].uplinks)
            chiplet = end.number
        return found

    return links_of


def _timing(record: PlaneRecord, spec: SwitchSpec) -> SwitchTiming:
    """Return the built-in timing of a chiplet."""
    for name in SHIPPED:
        timing = load_record(name)
        if timing.record.spec.name == spec.name:
            return timing
    names = ", ".join(SHIPPED)
    message = f"must be of chiplets that a record is shipped of, {names}, not {spec.name}"
    raise InputError(record.name, "switches", message)


def plane_against_rtl(record: PlaneRecord) -> tuple[RtlRow, ...]:
    """Return each phase of a record with its measured cycles and those of the model."""

    @cache
    def topology_of(collectives: str, strategy: str) -> FredTopology:
        if collectives == "in-network":
            return plane_topology(record, in_network=True)
        return plane_topology(record, in_network=False, strategy=strategy)

    def algorithm(row: PlaneRow, pattern: str) -> str:
        does = _BY_ENDPOINTS if row.collectives == "ring" else {}
        return does.get(pattern, "published")

    return against_rtl(
        record,
        lambda row: row.collectives,
        lambda row: topology_of(row.collectives, row.strategy),
        algorithm,
        groups_in(record.spec),
        _times_in_rounds(record, topology_of),
    )


def _times_in_rounds(
    record: PlaneRecord, topology_of: Callable[[str, str], FredTopology]
) -> Callable[[PlaneRow], float | None]:
    """Return a function for the time of a row whose groups take several rounds [s], else None."""
    plane, nodes = Plane(record.spec), _nodes(record.spec)

    @cache
    def switched_of(strategy: str) -> Mapping[str, Rounds]:
        found = switched_phases(plane, Strategy.parse(strategy))
        return {one.name: one.switched for one in found}

    def told(rounds: Sequence[Round]) -> list[Told]:
        return [
            Told(*(tuple(nodes[end] for end in side) for side in (flow.inputs, flow.outputs)))
            for one in rounds
            for flow in one.flows
        ]

    def time_s(row: PlaneRow) -> float | None:
        if row.collectives == "ring":
            return None
        switched = switched_of(row.strategy)[row.phase]
        if not switched.tokens:
            return None
        flows = [flow for one in switched.rounds for flow in one.flows]
        reduces = all(len(flow.outputs) == 1 for flow in flows)
        groups = [nodes_first(flow) for flow in flows]
        return rounds_s(
            topology_of(row.collectives, row.strategy),
            "reduce" if reduces else "all_reduce",
            row.flits * record.spec.link.data_width / 8,
            groups,
            told(switched.tokens),
            told(switched.ends),
        )

    def nodes_first(flow: Flow) -> list[int]:
        """Return the nodes of a flow, starting with one that receives."""
        root = flow.outputs[0]
        return [nodes[root], *(nodes[end] for end in flow.inputs if end != root)]

    return time_s


def groups_in(wafer: WaferSpec) -> Callable[[PlaneRow], Groups]:
    """Return a function for the collective of a row, and the nodes of its groups, root first.

    NPUs, and controllers with endpoints, are nodes as ``plane_topology`` has them.
    """
    plane = Plane(wafer)
    nodes = _nodes(wafer)

    def groups_of_row(row: PlaneRow) -> Groups:
        strategy = Strategy.parse(row.strategy)
        stored = storage_phases(plane, strategy).get(row.phase)
        pattern, groups = groups_of_flows(stored) if stored else groups_of(strategy, row.phase)
        return pattern, [[nodes[end] for end in group] for group in groups]

    return groups_of_row


def _nodes(wafer: WaferSpec) -> dict[int, int]:
    """Return the node of each endpoint, keyed by address."""
    plane = Plane(wafer)
    homes = [plane.units[chiplet].switch for chiplet, _ in plane.homes[: wafer.endpoints]]
    order = [end for one in wafer.below(wafer.root) for end in _at(homes, one)]
    return {end: node for node, end in enumerate(order)}


def _at(homes: Sequence[int], switch: int) -> list[int]:
    """Return the endpoints on a switch, NPUs before controllers."""
    return [end for end, home in enumerate(homes) if home == switch]
