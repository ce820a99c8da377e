"""Time that endpoints add to a collective: start, end, chunk loading, ring steps.

An endpoint does one descriptor after the other: a ring is one, and so is all that goes to the same
ends. It begins to send when the first chunk, or the first message of a ring, is loaded, and goes on
to the next descriptor when all of the one before is acknowledged (docs/reference/endpoint.md).
"""

from collections.abc import Sequence
from typing import NamedTuple

from perfmodel.collectives.transfer import RingPass, Transfer
from perfmodel.switch_timing.endpoint import EndpointTiming
from perfmodel.switch_timing.record import ROUNDING
from perfmodel.topology.graph import Hops, Topology

__all__ = ["endpoint_s", "lanes_of", "reducing"]


class _Share(NamedTuple):
    """Virtual channels that send concurrently, passes of one that reduce, and the total time [s].

    And whether acks come as soon as they can.
    """

    lanes: int
    reduces: int
    moved_s: float
    alone: bool


def endpoint_s(
    topology: Topology,
    messages: Sequence[Transfer | RingPass],
    size_bytes: float,
    moved_s: float,
    pattern: str = "",
    *,
    alone: bool = False,
) -> float:
    """Return the extra time of a collective at its slowest NPU [s]; 0 without a record.

    Alone it may be less than 0: messages of endpoints are parts of a block, and what has come of it
    goes on while the rest is on its way. Where links between switches are what is waited for, that
    gains nothing. Whether they are may change with rates, so what never falls leaves it out.

    Parameters
    ----------
    topology : Topology
        Topology on which the collective runs.
    messages : sequence of Transfer or RingPass
        Messages of one byte, in an order in which each sender sends.
    size_bytes : float
        The whole vector [B].
    moved_s : float
        Time of the collective without endpoints [s]. State machines work while a message waits for
        shared links.
    pattern : str
        Pattern, one of ``schedule.PATTERNS``; it tells whether rings reduce what they load.
    alone : bool
        Whether acks come as soon as they can, by which a little more may take less.
    """
    timing = topology.endpoint
    if timing is None:
        return 0.0
    sent: dict[int, list[int]] = {}
    for number, item in enumerate(messages):
        for source in (one for sources, _, _ in item.sends() for one in sources):
            if topology.nodes[source].kind == "npu":
                sent.setdefault(source, []).append(number)
    less = alone and sent and not _wait(topology, messages)
    longest_s = -moved_s if less else 0.0
    for numbers in {tuple(one): one for one in sent.values()}.values():
        lanes = lanes_of(messages, numbers)
        for lane in lanes:
            share = _Share(len(lanes), reducing(pattern, len(lane)), moved_s, alone)
            items = [messages[number] for number in lane]
            lane_s = _lane_s(topology, timing, items, size_bytes, share)
            longest_s = max(longest_s, lane_s)
    return longest_s


def _wait(topology: Topology, messages: Sequence[Transfer | RingPass]) -> bool:
    """Return whether a message uses a link with more load than the link of its NPU.

    Messages behind others have their links when those have been carried.
    """
    depths: list[int] = []
    loads_s: dict[tuple[int, int], float] = {}
    for item in messages:
        depths.append(1 + max((depths[one] for one in item.after), default=-1))
        for link, times in item.loads():
            taken_s = times * item.payload_bytes / topology.links[link].payload_bytes_per_s
            loads_s[depths[-1], link] = loads_s.get((depths[-1], link), 0.0) + taken_s
    return any(
        loads_s[depth, link] > loads_s[depth, hops[0][0]] * (1 + ROUNDING)
        for item, depth in zip(messages, depths, strict=True)
        for _, _, hops in item.sends()
        for link, _ in hops
    )


def reducing(pattern: str, passes: int) -> int:
    """Return how many passes of a virtual channel reduce loaded data; these come first."""
    return {"all_reduce": passes // 2, "reduce_scatter": passes}.get(pattern, 0)


def lanes_of(messages: Sequence[Transfer | RingPass], numbers: Sequence[int]) -> list[list[int]]:
    """Return the positions of the items that an endpoint sends on each virtual channel.

    Rings that wait for none of those before have a circuit of their own.
    """
    lanes: list[list[int]] = []
    lane_of: dict[int, int] = {}
    for number in numbers:
        item = messages[number]
        known = [lane_of[one] for one in item.after if one in lane_of]
        lane = known[0] if known else 0 if isinstance(item, Transfer) else len(lanes)
        if lane == len(lanes):
            lanes.append([])
        lanes[lane].append(number)
        lane_of[number] = lane
    return lanes


def _lane_s(
    topology: Topology,
    timing: EndpointTiming,
    items: Sequence[Transfer | RingPass],
    size_bytes: float,
    share: _Share,
) -> float:
    """Return the time that an endpoint adds to the items of one virtual channel [s]."""
    total_s, before = timing.finish_s, None
    ring_s = late_s = 0.0
    for place, item in enumerate(items):
        sent_bytes = item.payload_bytes * size_bytes
        if isinstance(item, RingPass):
            count = len(item.members)
            ends, start_s, acked_s = item.members, timing.ring_start_s, timing.ack_s
            load_s = timing.ring_load_s(count, sent_bytes / (count - 1))
            first = before is None or before[0] != item.members
            after = items[place + 1] if place + 1 < len(items) else None
            alone = not isinstance(after, RingPass) or after.members != item.members
            pass_s, hidden_s = _pass_s(
                topology,
                timing,
                item,
                sent_bytes,
                first=first,
                lanes=share.lanes,
                loads=count if alone and place < share.reduces else 0,
                reduces=share.alone and place < share.reduces,
            )
            ring_s, late_s = ring_s + pass_s, late_s + hidden_s
        else:
            ends, start_s = item.targets, timing.start_s
            acked_s = timing.acked_s(sent_bytes) if share.alone else timing.ack_s
            load_s = timing.load_s(sent_bytes)
        if before is None:
            total_s += start_s + load_s
        elif before[0] != ends:
            total_s += before[1] + timing.next_s + load_s
        before = (ends, _ack_way_s(topology, item) + acked_s)
    # Bytes that wait for links that are shared do so while others are on their ways.
    return total_s + max(ring_s, share.moved_s - late_s) - share.moved_s


def _ack_way_s(topology: Topology, item: Transfer | RingPass) -> float:
    """Return the latency between a sender's last flit and the ack [s].

    The way of a ring's last message there is in the time of the ring already.
    """
    if isinstance(item, RingPass):
        return max(topology.latency_s(hops) for hops in item.edges)
    return 2 * topology.latency_s(item.hops)


def _pass_s(
    topology: Topology,
    timing: EndpointTiming,
    item: RingPass,
    sent_bytes: float,
    *,
    first: bool,
    lanes: int,
    loads: int,
    reduces: bool,
) -> tuple[float, float]:
    """Return the duration of a pass, and the latencies that overlap its bytes [s].

    The first message takes a way and a step, and what follows does so meanwhile.
    """
    edges_s = [_followed_s(topology, hops) for hops in item.edges]
    late_s, count = sum(edges_s) - min(edges_s), len(item.members)
    link, steps = topology.links[item.edges[0][0][0]], count - 1
    rate = min(link.payload_bytes_per_s, link.bytes_per_s * timing.ring_efficiency)
    engine_s = timing.ring_s(
        count,
        sent_bytes / steps,
        sum(edges_s) / count,
        rate,
        late_s=late_s if first else _second_s(edges_s),
        first=first,
        lanes=lanes,
        loads=loads,
        reduces=reduces,
    )
    way_s = sum(edges_s) / count + timing.ring_step_s(count, sent_bytes / steps) if first else 0.0
    return engine_s, late_s - way_s


def _followed_s(topology: Topology, hops: Hops) -> float:
    """Return the latency of a message that follows another on the same path [s]."""
    switches = (topology.nodes[topology.links[link].source] for link, _ in hops)
    return topology.latency_s(hops) - sum(one.sooner_s for one in switches)


def _second_s(edges_s: Sequence[float]) -> float:
    """Return the extra latency of the last message in a second pass [s].

    In both it takes all edges once, and all but two that follow one another.
    """
    count = len(edges_s)
    most = max(sum(edges_s) - edges_s[i] - edges_s[(i + 1) % count] for i in range(count))
    return min(edges_s) + most
