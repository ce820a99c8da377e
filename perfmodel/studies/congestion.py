"""Effect of congestion control on training: collectives under every scheme.

Networks have 16 or 32 GPUs, so that all cases together take about a minute with single packets: one
switch, which is non-blocking, a Clos network that is 2:1 oversubscribed as the published one of 128
GPUs, and one with NVSwitches in servers of eight. Wafers of FRED are nodes by their I/O
controllers, which are the NICs of a Clos network with a leaf for each wafer. Their messages are
larger and take about two minutes more.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

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


def _dlrm(topology: Topology) -> Workload:
    """Return the communication of an iteration of DLRM.

    An all-to-all of embeddings forward; then one of their gradients, and at the same time an
    all-reduce of the gradients of the dense layers, twice as large.
    """
    work = Workload()
    everyone = range(topology.npus)
    size = int(_PER_GPU_BYTES / 4 / topology.npus)
    paths = {
        (a, b): work.path_number(link for link, _ in topology.hops((a,), (b,)))
        for a in everyone
        for b in everyone
        if a != b
    }
    forward = [work.add(path, size) for path in paths.values()]
    middle = work.add_join(forward)
    for path in paths.values():
        work.add(path, size, [middle])
    order = topology.ring_order(everyone)
    ring = [paths[a, b] for a, b in zip(order, (*order[1:], order[0]), strict=True)]
    share = int(_PER_GPU_BYTES / 2 / topology.npus)
    work.add_steps(ring, share, [middle] * len(ring), 2 * (len(ring) - 1))
    return work


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
    size = _PER_GPU_BYTES * npus
    for nic in range(nics):
        members = [wafer * nics + nic for wafer in range(_WAFERS)]
        pairs = (
            zip(members, (*members[1:], members[0]), strict=True)
            if workload == "all-reduce"
            else ((a, b) for a in members for b in members if a != b)
        )
        paths = [work.path_number(link for link, _ in topology.hops((a,), (b,))) for a, b in pairs]
        if workload == "all-reduce":
            share = int(size / nics / _WAFERS)
            work.add_steps(paths, share, [-1] * _WAFERS, 2 * (_WAFERS - 1))
        else:
            for path in paths:
                work.add(path, int(size / _WAFERS / nics))
    return tuple(_points("wafers of FRED", workload, topology, work))


def on_wafers(workload: str, protocol: ProtocolModel) -> Sequence[CongestionPoint]:
    """Return the results of a workload on FRED wafers joined by a Clos network, per scheme.

    An all-reduce is reduced inside each wafer, which leaves a share at each I/O controller;
    controllers of equal number all-reduce their shares by a ring; and the results are distributed.
    In an all-to-all what an NPU sends to another wafer is spread over the controllers.
    """
    wafer = shared_topology(_WAFER, protocol)
    inside_s = 0.0
    if workload == "all-reduce":
        size, everyone = _PER_GPU_BYTES * wafer.npus, [range(wafer.npus)]
        streams = ("stream_out", "stream_in")  # chunks go out while others come in
        inside_s = max(profile(wafer, pattern, size, everyone)[0].time_s for pattern in streams)
    found = _between_wafers(workload, wafer.npus, wafer.io_controllers)
    return tuple(replace(one, time_s=one.time_s + inside_s) for one in found)
