"""Effect of congestion control on training: collectives under every scheme.

Networks have 16 or 32 GPUs, so that all cases together take about a minute with single packets: one
switch, which is non-blocking, a Clos network that is 2:1 oversubscribed as the published one of 128
GPUs, and one with NVSwitches in servers of eight. Wafers of FRED are nodes by their I/O
controllers, which are the NICs of a Clos network with a leaf for each wafer. Their messages are
larger and take about two minutes more.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import permutations

from perfmodel.collectives.select import build_schedule
from perfmodel.network.roce.parameters import SCHEMES, RoceFile
from perfmodel.network.roce.simulate import Found, simulate
from perfmodel.network.roce.workload import Workload, workload_of
from perfmodel.network.run import profile
from perfmodel.switch_timing.record import ProtocolModel
from perfmodel.topology.clos import Clos, clos_file
from perfmodel.topology.graph import Topology
from perfmodel.topology.parse import shared_topology

__all__ = [
    "NETWORKS",
    "WORKLOADS",
    "CongestionPoint",
    "compared",
    "incast",
    "on_wafers",
    "without_telemetry",
]

_PER_GPU_BYTES = 8e6
"""Size of a collective's vector [B]."""

_INCAST_BYTES = 10_000_000
"""Bytes of each sender, several times what a window has in flight."""

_EXACT = RoceFile(train_packets=1)
"""A single mark can decide how long DCQCN and TIMELY take, so packets are not joined to trains."""

_WAFERS, _WAFER = 4, "fred-d"
_REDUCED = {"all-reduce": _PER_GPU_BYTES, "DLRM": _PER_GPU_BYTES / 2}
"""Size of the vector that each NPU of a wafer contributes to the all-reduce of a workload [B]."""
_NIC_GBPS = 1024.0
"""Rate of an I/O controller of the published wafer (128 GB/s) as an Ethernet rate [Gb/s]."""

_CLOS = Clos(gpus_per_leaf=8, pods=(4,), widths=(4,), gbps=(200.0, 200.0), latency_us=(5.0, 12.5))
"""Clos network with the rates and latencies of the published network of 128 GPUs."""

NETWORKS: Mapping[str, Clos] = {
    "one switch": Clos(gpus_per_leaf=16, latency_us=(0.5,)),
    "Clos 2:1": _CLOS,
    "Clos 2:1 with NVSwitches": replace(_CLOS, pods=(2,), nvswitches=6),
}
"""Networks of GPUs, by name."""


@dataclass(frozen=True, slots=True)
class CongestionPoint:
    """Result of a workload on a network under one scheme.

    Parameters
    ----------
    network, workload, scheme : str
        What was simulated.
    time_s : float
        Until the last byte arrived [s].
    found : Found
        Pauses, marks and queues.
    """

    network: str
    workload: str
    scheme: str
    time_s: float
    found: Found


def _collective(topology: Topology, pattern: str, algorithm: str, size_bytes: float) -> Workload:
    group = list(range(topology.npus))
    schedule = build_schedule(topology, pattern, [group], 1.0, algorithm, lockstep=True)
    return workload_of(schedule, size_bytes)


def _paths(work: Workload, topology: Topology, pairs: Iterable[tuple[int, int]]) -> list[int]:
    """Return the number of the path of each pair."""
    routes = (topology.hops((one,), (other,)) for one, other in pairs)
    return [work.path_number(link for link, _ in hops) for hops in routes]


def _exchanges(
    work: Workload,
    topology: Topology,
    groups: Sequence[Sequence[int]],
    size: int,
    after: Sequence[int] = (),
) -> list[int]:
    """Add an all-to-all of each group with messages of a size [B], and return its messages."""
    pairs = (pair for members in groups for pair in permutations(members, 2))
    return [work.add(path, size, after) for path in _paths(work, topology, pairs)]


def _rings(
    work: Workload,
    topology: Topology,
    groups: Iterable[Sequence[int]],
    size: int,
    after: int = -1,
) -> None:
    """Add a ring all-reduce of each group with messages of a size [B], after a message or none."""
    for members in groups:
        pairs = zip(members, (*members[1:], members[0]), strict=True)
        count = len(members)
        work.add_steps(_paths(work, topology, pairs), size, [after] * count, 2 * (count - 1))


def _dlrm(topology: Topology) -> Workload:
    """Return the communication of an iteration of DLRM on all GPUs of a network."""
    work, everyone = Workload(), range(topology.npus)
    size = _PER_GPU_BYTES / topology.npus
    _add_dlrm(work, topology, size, [everyone], [topology.ring_order(everyone)])
    return work


def _add_dlrm(
    work: Workload,
    topology: Topology,
    size: float,
    groups: Sequence[Sequence[int]],
    rings: Sequence[Sequence[int]],
) -> None:
    """Add the communication of an iteration of DLRM with a vector of a size for each member [B].

    An all-to-all of embeddings forward; then one of their gradients, and at the same time an
    all-reduce of the gradients of the dense layers on rings, twice as large.
    """
    middle = work.add_join(_exchanges(work, topology, groups, int(size / 4)))
    _exchanges(work, topology, groups, int(size / 4), [middle])
    _rings(work, topology, rings, int(size / 2), middle)


WORKLOADS: Mapping[str, Callable[[Topology], Workload]] = {
    "all-reduce": lambda one: _collective(one, "all_reduce", "ring", _PER_GPU_BYTES),
    "all-to-all": lambda one: _collective(one, "all_to_all", "direct", _PER_GPU_BYTES),
    "DLRM": _dlrm,
}
"""Function that returns the messages of each workload on a topology."""


@cache
def _built(network: str) -> Topology:
    return clos_file(NETWORKS[network]).build(network)


def _points(
    network: str, workload: str, topology: Topology, work: Workload
) -> Iterator[CongestionPoint]:
    """Yield a workload under every scheme."""
    for scheme in SCHEMES:
        found = simulate(topology, work, _EXACT.changed(congestion_control=scheme))
        yield CongestionPoint(network, workload, scheme, found.time_s, found)


@cache
def compared(network: str, workload: str) -> Sequence[CongestionPoint]:
    """Return the results of a workload on a GPU network under every scheme, ``pfc`` first."""
    topology = _built(network)
    return tuple(_points(network, workload, topology, WORKLOADS[workload](topology)))


@cache
def without_telemetry(network: str, workload: str) -> CongestionPoint:
    """Return the result of a workload under HPCC without telemetry bytes in packets."""
    topology = _built(network)
    given = _EXACT.changed(congestion_control="hpcc", hpcc={"telemetry_bytes": 0})
    found = simulate(topology, WORKLOADS[workload](topology), given)
    return CongestionPoint(network, workload, "hpcc", found.time_s, found)


@cache
def incast() -> Sequence[CongestionPoint]:
    """Return an incast from all other GPUs to one under every scheme, as a control experiment."""
    topology, work = _built("Clos 2:1"), Workload()
    for source in range(1, topology.npus):
        hops = topology.hops((source,), (0,))
        work.add(work.path_number(link for link, _ in hops), _INCAST_BYTES)
    return tuple(_points("Clos 2:1", "incast", topology, work))


@cache
def _between_wafers(workload: str, npus: int, nics: int) -> Sequence[CongestionPoint]:
    """Return the results of what wafers with a number of NPUs and NICs send to each other."""
    clos = Clos(
        gpus_per_leaf=nics,
        pods=(_WAFERS,),
        widths=(nics // 2,),
        gbps=(_NIC_GBPS, _NIC_GBPS),
        latency_us=(0.5, 0.5),
    )
    topology, work = clos_file(clos).build("wafers"), Workload()
    size = _PER_GPU_BYTES * npus / nics / _WAFERS
    groups = [[wafer * nics + nic for wafer in range(_WAFERS)] for nic in range(nics)]
    if workload == "all-reduce":
        _rings(work, topology, groups, int(size))
    elif workload == "all-to-all":
        _exchanges(work, topology, groups, int(size))
    else:
        _add_dlrm(work, topology, size, groups, groups)
    return tuple(_points("wafers of FRED", workload, topology, work))


def on_wafers(workload: str, protocol: ProtocolModel) -> Sequence[CongestionPoint]:
    """Return the results of a workload on FRED wafers joined by a Clos network, per scheme.

    An all-reduce is reduced inside each wafer, which leaves a share at each I/O controller;
    controllers of equal number all-reduce their shares by a ring; and the results are distributed.
    In an all-to-all what an NPU sends to another wafer is spread over the controllers. DLRM is
    that of ``WORKLOADS``; its all-reduce is reduced inside each wafer as well.
    """
    wafer = shared_topology(_WAFER, protocol)
    inside_s = 0.0
    if workload in _REDUCED:
        size, everyone = _REDUCED[workload] * wafer.npus, [range(wafer.npus)]
        streams = ("stream_out", "stream_in")  # chunks go out while others come in
        inside_s = max(profile(wafer, pattern, size, everyone)[0].time_s for pattern in streams)
    found = _between_wafers(workload, wafer.npus, wafer.io_controllers)
    return tuple(replace(one, time_s=one.time_s + inside_s) for one in found)
