"""The initial arrays of a simulation."""

from collections.abc import Sequence
from math import inf
from typing import Any, cast

import numpy as np

from fred_hw.errors import InputError
from perfmodel.topology.graph import Topology

from .controllers.dispatch import FIELDS
from .parameters import SCHEMES, RoceFile
from .state import FLOW, LINK, MESSAGE, NODE, PATH, SETTING, TOTALS, TRAIN, State
from .thresholds import headroom_bytes, pause_threshold, port_shift
from .workload import Workload

__all__ = ["BIN_BYTES", "arrays_of", "grown", "with_messages", "with_paths"]

_MIB = 1 << 20
BIN_BYTES = 1000.0
"""Width of the bins of queue lengths [B]."""

_EVENTS = 1024
_MARGIN = 64
"""Largest number of events that one event adds, besides one per dependent message."""

_BINS = 1 << 16
_SAMPLES = 2048
_FIRST_SAMPLE_NS = 100.0
_TRAINS_IN_FLIGHT = 16
"""Least number of trains in a window, so that controllers see small changes of the window."""


def arrays_of(topology: Topology, parameters: RoceFile) -> State:
    """Return the arrays of a simulation without messages."""
    links, nodes = _links(topology, parameters)
    flows, trains = _chained(FLOW, 64), _chained(TRAIN, 256)
    flows.message = -1
    totals, setting = _records(TOTALS, 1), _setting(parameters)
    totals.random, totals.arrived_message = parameters.seed, -1
    totals.free_flows, totals.free_trains = len(flows), len(trains)
    setting.margin = _MARGIN
    return State(
        _records(MESSAGE, 0),
        _records(PATH, 0),
        flows,
        trains,
        links,
        nodes,
        totals,
        setting,
        np.zeros(1, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        np.zeros((len(flows), FIELDS)),
        np.zeros((len(flows), 1, 3)),
        np.zeros((len(trains), 1, 3)),
        np.zeros(_EVENTS),
        np.zeros(_EVENTS, dtype=np.int64),
        np.zeros(_EVENTS, dtype=np.int64),
        np.zeros(_BINS, dtype=np.int64),
        np.zeros((_SAMPLES, 5)),
        parameters.control,
    )


def with_paths(
    s: State, count: int, topology: Topology, paths: Sequence[tuple[int, ...]], parameters: RoceFile
) -> State:
    """Return the arrays with further paths.

    Parameters
    ----------
    s : State
        The arrays.
    count : int
        Number of paths already stored, which is the number of the first new path.
    topology, parameters : Topology, RoceFile
        See ``Simulation``.
    paths : sequence of tuple of int
        Links of each new path.

    Raises
    ------
    InputError
        The buffer of a switch on a path is smaller than headroom and reserve of its ports, or the
        lowest rate of flows is above the rate of a link.
    """
    _check_buffers(s, topology, paths, parameters)
    used = int(s.paths[count - 1].first + s.paths[count - 1].hops) if count else 0
    found, path_links = _paths(topology, paths, parameters)
    found.first += used
    records = _stored(s.paths, count, found)
    _set_windows(records[: count + len(found)], parameters)
    hops = int(found.hops.max(initial=1))
    s.setting.longest_rtt = max(float(s.setting[0].longest_rtt), float(found.rtt.max(initial=1.0)))
    return s._replace(
        paths=records,
        path_links=_stored(s.path_links, used, path_links),
        last_telemetry=_with_hops(s.last_telemetry, hops),
        telemetry=_with_hops(s.telemetry, hops),
    )


def with_messages(s: State, count: int, work: Workload, paths: Sequence[int]) -> State:
    """Return the arrays with additional messages.

    Parameters
    ----------
    s : State
        The arrays, of whose messages the first ``count`` are in use.
    count : int
        Number of the first further message.
    work : Workload
        The messages.
    paths : sequence of int
        Number of each path of the workload among those of the arrays.
    """
    found, followers = _messages(work)
    used = int(s.messages[count - 1].first + s.messages[count - 1].followers) if count else 0
    found.path = np.array(paths, dtype=np.int64)[found.path]
    found.first += used
    s = s._replace(
        messages=_stored(s.messages, count, found),
        followers=_stored(s.followers, used, followers + count),
    )
    setting, totals = s.setting[0], s.totals[0]
    totals.left += len(found)
    setting.margin = max(setting.margin, _MARGIN + int(found.followers.max(initial=0)))
    most = int(totals.events) + int((found.waits == 0).sum()) + 2 * int(setting.margin)
    while len(s.heap_time) <= most:
        s = grown(s, heap=True)
    return s


def grown(s: State, *, heap: bool = False, flows: bool = False, trains: bool = False) -> State:
    """Return the arrays with twice the size for events, flows or trains."""
    if heap:
        times, orders, whats = (
            np.concatenate([one, np.zeros_like(one)])
            for one in (s.heap_time, s.heap_order, s.heap_what)
        )
        s = s._replace(heap_time=times, heap_order=orders, heap_what=whats)
    if flows:
        more, count = _chained(FLOW, len(s.flows), len(s.flows)), len(s.flows)
        more.message = -1
        s.totals.free_flow, s.totals.free_flows = count, count
        s = s._replace(
            flows=_joined(s.flows, more),
            rates=_twice(s.rates),
            last_telemetry=_twice(s.last_telemetry),
        )
    if trains:
        more, count = _chained(TRAIN, len(s.trains), len(s.trains)), len(s.trains)
        s.totals.free_train, s.totals.free_trains = count, count
        s = s._replace(trains=_joined(s.trains, more), telemetry=_twice(s.telemetry))
    return s


def _twice(values: Any) -> Any:
    return np.concatenate([values, np.zeros_like(values)])


def _stored(values: Any, place: int, more: Any) -> Any:
    """Return an array with other values stored from an index on, enlarged if necessary."""
    if place + len(more) > len(values):
        longer: Any = np.zeros_like(values, shape=2 * (place + len(more)))
        longer[:place] = values[:place]
        values = longer
    values[place : place + len(more)] = more
    return values


def _with_hops(telemetry: Any, hops: int) -> Any:
    """Return telemetry with space for at least a given number of hops."""
    count, have, fields = telemetry.shape
    if have >= hops:
        return telemetry
    return np.concatenate([telemetry, np.zeros((count, hops - have, fields))], axis=1)


def _joined(one: Any, other: Any) -> Any:
    return np.concatenate([one, other]).view(np.recarray)


def _records(kind: "np.dtype[Any]", count: int) -> Any:
    return cast("Any", np.zeros(count, dtype=kind)).view(np.recarray)


def _chained(kind: "np.dtype[Any]", count: int, first: int = 0) -> Any:
    """Return free records, chained by index."""
    found = _records(kind, count)
    found.next = np.arange(first + 1, first + count + 1)
    return found


def _setting(p: RoceFile) -> Any:
    found = _records(SETTING, 1)
    found.scheme = SCHEMES.index(p.congestion_control)
    found.packet, found.header = p.packet_bytes, p.overhead_bytes
    found.lossless = p.pfc
    found.lossy = p.lossy
    found.chunk, found.back_to_zero = p.chunk_bytes, p.back_to_zero
    found.windows, found.variable, found.paced = p.window, p.variable_window, p.paced
    found.dynamic, found.static = p.dynamic_threshold, 1e3 * p.threshold_kb
    found.reserve, found.resume = p.reserve_bytes, p.resume_bytes
    found.error, found.timeout = p.error_rate, 1e3 * p.timeout_us
    found.pint_base, found.pint_share = p.hpcc.pint_log_base, p.hpcc.pint_probability
    found.sample, found.bin = _FIRST_SAMPLE_NS, BIN_BYTES
    return found


def _links(topology: Topology, p: RoceFile) -> tuple[Any, Any]:
    """Return the links, and the buffers of nodes."""
    found, nodes = _records(LINK, len(topology.links)), _records(NODE, len(topology.nodes))
    found.head = found.tail = found.flows = -1
    found.kick = inf
    kinds = [
        (topology.nodes[one.source].kind, topology.nodes[one.target].kind) for one in topology.links
    ]
    nics = [
        one.bytes_per_s
        for one, (source, target) in zip(topology.links, kinds, strict=True)
        if source == "npu" and target != "io"
    ]
    slowest = min(nics, default=1.0)
    packet_bytes = float(p.packet_bytes + p.overhead_bytes)
    taken = [0.0] * len(topology.nodes)
    for index, link in enumerate(topology.links):
        rate = link.bytes_per_s * 1e-9
        delay = 1e9 * (link.latency_s + topology.nodes[link.source].latency_s)
        one = found[index]
        one.source, one.target, one.rate, one.delay = link.source, link.target, rate, delay
        one.low, one.high, one.most = p.marks_at(link.bytes_per_s)
        one.shift = port_shift(link.bytes_per_s, slowest, p.threshold_shift)
        if p.pfc:
            one.headroom = headroom_bytes(rate, delay, p.headroom_factor, p.unit_bytes)
            taken[link.target] += headroom_bytes(rate, delay, p.headroom_factor, packet_bytes)
        taken[link.target] += p.reserve_bytes
    buffer = p.buffer_mib * _MIB
    nodes.pool = [buffer - one for one in taken]
    return found, nodes


def _check_buffers(
    s: State, topology: Topology, paths: Sequence[tuple[int, ...]], p: RoceFile
) -> None:
    """Refuse a buffer that is smaller than headroom and reserve of the ports of a switch.

    Without headroom, each port needs space for a packet: it would be dropped forever.
    """
    packet_bytes = p.packet_bytes + p.overhead_bytes
    for index in sorted({i for path in paths for i in path[:-1]}):
        node = topology.links[index].target
        free, name = float(s.nodes[node].pool), topology.nodes[node].name
        if free < 0:
            message = (
                f"must be at least {p.buffer_mib - free / _MIB:.4g} for headroom and reserve of "
                f"the ports of {name}, not {p.buffer_mib:g}"
            )
            raise InputError("buffer_mib", "", message)
        field, threshold = "threshold_kb", 1e3 * p.threshold_kb
        if p.dynamic_threshold:
            field, threshold = "buffer_mib", pause_threshold(free, s.links[index].shift)
        if not p.pfc and packet_bytes > p.reserve_bytes + threshold:
            message = f"must let each port of {name} store a packet of {packet_bytes} bytes"
            raise InputError(field, "", f"{message}, not {getattr(p, field):g}")


def _paths(topology: Topology, paths: Sequence[tuple[int, ...]], p: RoceFile) -> tuple[Any, Any]:
    """Return the paths, each with its own window, and the links of all paths."""
    found = _records(PATH, len(paths))
    path_links: list[int] = []
    wire = p.packet_bytes + p.overhead_bytes
    for number, links in enumerate(paths):
        one = found[number]
        one.first, one.hops = len(path_links), len(links)
        path_links += links
        if not links:
            continue
        rates = [topology.links[i].bytes_per_s * 1e-9 for i in links]
        ends = [topology.links[i] for i in links]
        delay = 1e9 * sum(i.latency_s + topology.nodes[i.source].latency_s for i in ends)
        one.back = delay + sum(p.ack_bytes / rate for rate in rates)
        one.rtt = delay + sum(wire / rate for rate in rates) + one.back
        _check_lowest_rate(min(rates), p)
        one.rate, one.window = rates[0], min(rates) * one.rtt * p.packet_bytes / wire
    return found, np.array(path_links, dtype=np.int64)


def _check_lowest_rate(slowest: float, p: RoceFile) -> None:
    """Refuse a lowest rate of flows above the rate of a link [B/ns], if the scheme has one."""
    most = 8 * slowest
    if p.congestion_control != SCHEMES[0] and p.min_rate_gbps > most * (1 + 1e-9):
        message = f"must be at most the rate of the slowest link of a path, {most:g}"
        raise InputError("min_rate_gbps", "", f"{message}, not {p.min_rate_gbps:g}")


def _set_windows(paths: Any, p: RoceFile) -> None:
    """Apply the global window to all paths, and set train sizes that fit the windows."""
    if p.global_window:
        paths.window = paths.window.max(initial=0.0)
    fitting = paths.window / (p.packet_bytes * _TRAINS_IN_FLIGHT)
    paths.train = np.clip(fitting, 1, p.most_in_train).astype(np.int64)


def _messages(work: Workload) -> tuple[Any, Any]:
    found = _records(MESSAGE, len(work.size))
    found.path, found.length = work.path, work.size
    found.begin = found.end = -1.0
    before, after = work.dependencies()
    order = np.argsort(before, kind="stable")
    found.waits = np.bincount(after, minlength=len(found))
    counts = np.bincount(before, minlength=len(found))
    found.followers = counts
    found.first = np.cumsum(counts) - counts
    return found, np.ascontiguousarray(after[order]) if len(after) else np.zeros(1, dtype=np.int64)
