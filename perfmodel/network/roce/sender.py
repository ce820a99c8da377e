"""Choice of the next train of a link: from its queue, or from flows that start at the link."""

from math import inf

from .compiled import compiled
from .controllers.dispatch import HPCC, PINT, rate_at
from .controllers.hpcc_pint import estimate, quantized
from .heap import push
from .shared_buffer import release
from .state import Kind, State
from .thresholds import mark_probability

__all__ = ["enlist", "kick", "random_share", "unlist"]

_ARRIVE, _KICK, _TIMEOUT = Kind.ARRIVE, Kind.KICK, Kind.TIMEOUT
_HPCC, _PINT = HPCC, PINT


@compiled
def random_share(s: State) -> float:
    """Return a random number between 0 and 1 from MINSTD (Park and Miller, 1988)."""
    totals = s.totals[0]
    totals.random = totals.random * 48271 % 2147483647
    return totals.random / 2147483647.0


@compiled
def enlist(s: State, slot: int) -> None:
    """Append a flow that has data to send to the list of its first link."""
    flow = s.flows[slot]
    if flow.listed:
        return
    link = s.links[s.path_links[s.paths[s.messages[flow.message].path].first]]
    flow.listed = 1
    head = link.flows
    if head < 0:
        flow.next = flow.before = link.flows = slot
        return
    last = s.flows[head].before
    flow.next, flow.before = head, last
    s.flows[last].next = slot
    s.flows[head].before = slot


@compiled
def unlist(s: State, slot: int) -> None:
    """Remove a flow from the list of its first link."""
    flow = s.flows[slot]
    if not flow.listed:
        return
    link = s.links[s.path_links[s.paths[s.messages[flow.message].path].first]]
    flow.listed = 0
    if flow.next == slot:
        link.flows = -1
        return
    s.flows[flow.before].next = flow.next
    s.flows[flow.next].before = flow.before
    if link.flows == slot:
        link.flows = flow.next


@compiled
def _look_at(s: State, index: int, time: float) -> None:
    """Schedule a check of a link at a given time."""
    link = s.links[index]
    if time < link.kick:
        link.kick = time
        push(s, time, index * 8 + _KICK)


@compiled
def kick(s: State, index: int) -> None:
    """Send the next train of a link, if the link is free and has one."""
    link, now = s.links[index], s.totals[0].now
    if link.paused:
        return
    if now < link.free:
        if link.head >= 0 or link.flows >= 0:
            _look_at(s, index, link.free)
        return
    train = -1
    if link.head < 0 or link.turn:
        train = _from_flows(s, index)
    link.turn = 0
    if train < 0 and link.head >= 0:
        train = link.head
        link.head = s.trains[train].next
        if link.head < 0:
            link.tail = -1
        link.queue -= s.trains[train].wire
        release(s, s.trains[train].link, s.trains[train].wire)
        link.turn = 1
    if train >= 0:
        _transmit(s, index, train)
        if link.head >= 0 or link.flows >= 0:
            _look_at(s, index, link.free)


@compiled
def _from_flows(s: State, index: int) -> int:
    """Return a train of the link's next flow that may send now; -1 if there is none."""
    link, setting, now = s.links[index], s.setting[0], s.totals[0].now
    slot, first, soonest = link.flows, link.flows, inf
    while slot >= 0:
        flow = s.flows[slot]
        message = s.messages[flow.message]
        path = s.paths[message.path]
        rate = rate_at(s.rates[slot], setting.scheme, now, path.rate, s.control)
        window = path.window * (rate / path.rate if setting.variable else 1.0)
        # A train is acknowledged as a whole: all of it but a packet may be beyond the window.
        beyond = (path.train - 1) * setting.packet
        if not setting.windows or flow.sent - flow.acked < max(1.0, window) + beyond:
            ready = flow.last + flow.wire / rate if setting.paced else now
            if ready <= now:
                return _cut(s, index, slot)
            soonest = min(soonest, ready)
        slot = flow.next
        if slot == first:
            break
    if soonest < inf:
        _look_at(s, index, soonest)
    return -1


@compiled
def _cut(s: State, index: int, slot: int) -> int:
    """Cut a new train from a flow, and advance the link to the next flow."""
    flow, setting, totals = s.flows[slot], s.setting[0], s.totals[0]
    message = s.messages[flow.message]
    place = totals.free_train
    train = s.trains[place]
    totals.free_train = train.next
    totals.free_trains -= 1
    size = min(message.length - flow.sent, s.paths[message.path].train * setting.packet)
    train.flow, train.message, train.next, train.hop, train.link = slot, flow.message, -1, 0, -1
    train.seq, train.length, train.marks, train.nack = flow.sent, size, 0, 0
    train.packets = (size + setting.packet - 1) // setting.packet
    train.wire = float(size + train.packets * setting.header)
    train.sent, train.pint = totals.now, 0.0
    flow.sent += size
    flow.last, flow.wire = totals.now, train.wire
    if setting.lossy and flow.timer == inf:
        flow.deadline = flow.timer = totals.now + setting.timeout
        totals.timers += 1
        push(s, flow.timer, slot * 8 + _TIMEOUT)
    s.links[index].flows = flow.next
    if flow.sent >= message.length:
        unlist(s, slot)
    return place


@compiled
def _transmit(s: State, index: int, place: int) -> None:
    """Send a train over a link, with ECN marks and the link's telemetry."""
    link, train, setting, now = s.links[index], s.trains[place], s.setting[0], s.totals[0].now
    path = s.paths[s.messages[train.message].path]
    if train.hop > 0:
        chance = mark_probability(link.queue, link.low, link.high, link.most)
        if chance > 0:
            marked = int((train.packets - train.marks) * chance + random_share(s))
            train.marks += marked
            s.totals[0].marks += marked
    if setting.scheme == _HPCC:
        row = s.telemetry[place, train.hop]
        row[0], row[1], row[2] = now, link.sent, link.queue
    elif setting.scheme == _PINT and (train.hop > 0 or path.hops == 1):
        span, size = now - link.pint_at, link.pint_size
        rtt = setting.longest_rtt
        link.pint = estimate(link.pint, size, link.queue, link.rate, span, rtt)
        link.pint_size, link.pint_at = train.wire, now
        train.pint = max(train.pint, quantized(link.pint, setting.pint_base))
    link.sent += train.wire
    link.carried += train.length
    spent = train.wire / link.rate
    link.free = now + spent
    train.link = index
    train.hop += 1
    arrives = now + spent + link.delay
    if train.hop < path.hops:
        # A switch sends a packet on that it has received; of a train it sends on what it has
        # received, so late that a faster link does not run dry. Only the last packet is short.
        rate = s.links[s.path_links[path.first + train.hop]].rate
        full = float(setting.packet + setting.header)
        first, others = min(train.wire, full), (train.packets - 1) * full
        arrives = link.delay + now + max(first / link.rate, spent - others / rate)
    push(s, arrives, place * 8 + _ARRIVE)
