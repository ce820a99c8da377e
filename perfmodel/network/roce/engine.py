"""The event loop: messages start, trains and acks arrive, links are paused and resumed."""

from math import inf

from .compiled import compiled
from .controllers.control import Ack
from .controllers.dispatch import HPCC, PINT, acknowledged, begin
from .controllers.hpcc import hop_utilization, smoothed
from .heap import pop, push
from .sender import enlist, kick, random_share, unlist
from .shared_buffer import admit
from .state import Kind, State

__all__ = [
    "ARRIVED",
    "DONE",
    "FULL_FLOWS",
    "FULL_HEAP",
    "FULL_TRAINS",
    "GOES_ON",
    "LATER",
    "STUCK",
    "advance",
    "begin_all",
]

DONE, GOES_ON, STUCK, FULL_HEAP, FULL_FLOWS, FULL_TRAINS, LATER, ARRIVED = range(8)
"""Reasons for which ``advance`` returns: all messages arrived; the given number of events was
handled; nothing can move although messages are left; an array must grow (heap, flows, trains); the
next event is after the given time; a watched message arrived."""

_START, _ARRIVE, _KICK, _ACK = Kind.START, Kind.ARRIVE, Kind.KICK, Kind.ACK
_PAUSE, _RESUME, _TIMEOUT = Kind.PAUSE, Kind.RESUME, Kind.TIMEOUT
_HPCC, _PINT, _Ack = HPCC, PINT, Ack


@compiled
def advance(s: State, most: int, until: float) -> int:
    """Handle events up to a time [ns], at most ``most``; return one of the reasons above."""
    totals = s.totals
    room = len(s.heap_time) - s.setting[0].margin
    for _ in range(most):
        if totals[0].left == 0:
            return DONE
        if totals[0].events == 0:
            return STUCK
        if totals[0].events > room:
            return FULL_HEAP
        if totals[0].free_flows < 1:
            return FULL_FLOWS
        if totals[0].free_trains < 1:
            return FULL_TRAINS
        if s.heap_time[0] > until:
            return LATER
        what = pop(s)
        totals[0].done += 1
        if totals[0].now >= totals[0].next_sample:
            _sample(s)
        _handle(s, what & 7, what >> 3)
        if what & 7 != _TIMEOUT:
            totals[0].fruitless = 0
        elif totals[0].events == totals[0].timers and totals[0].fruitless > len(s.flows):
            return STUCK  # every flow has tried again, and nothing has moved
        if totals[0].arrived_message >= 0:
            return ARRIVED
    return GOES_ON


@compiled
def begin_all(s: State, first: int, end: int, time: float) -> None:
    """Start those of the given messages, at a time [ns], that have no dependencies."""
    for number in range(first, end):
        if s.messages[number].waits == 0:
            push(s, time, number * 8 + _START)


@compiled
def _handle(s: State, kind: int, index: int) -> None:
    if kind == _ARRIVE:
        _arrive(s, index)
    elif kind == _KICK:
        if s.links[index].kick <= s.totals[0].now:
            s.links[index].kick = inf
            kick(s, index)
    elif kind == _ACK:
        _acked(s, index)
    elif kind == _START:
        _start(s, index)
    elif kind == _TIMEOUT:
        _timed_out(s, index)
    elif kind == _PAUSE:
        s.links[index].paused = 1
        s.links[index].since = s.totals[0].now
    elif kind == _RESUME:
        s.links[index].paused = 0
        s.links[index].stopped += s.totals[0].now - s.links[index].since
        kick(s, index)


@compiled
def _start(s: State, number: int) -> None:
    """Start a message."""
    message, totals = s.messages[number], s.totals[0]
    message.begin = totals.now
    if message.length == 0:
        _complete(s, number)
        return
    slot = totals.free_flow
    flow = s.flows[slot]
    totals.free_flow = flow.next
    totals.free_flows -= 1
    flow.message, flow.next, flow.before, flow.listed = number, -1, -1, 0
    flow.sent = flow.acked = flow.received = flow.nacked = 0
    flow.last, flow.wire, flow.deadline, flow.timer = totals.now, 0.0, inf, inf
    s.last_telemetry[slot, :, :] = 0.0
    path = s.paths[message.path]
    begin(s.rates[slot], s.setting[0].scheme, path.rate)
    enlist(s, slot)
    kick(s, s.path_links[path.first])


@compiled
def _complete(s: State, number: int) -> None:
    """Complete a message, and start the messages whose last dependency it was."""
    message, now = s.messages[number], s.totals[0].now
    message.end = now
    s.totals[0].left -= 1
    if message.watched:
        s.totals[0].arrived_message = number
    for place in range(message.first, message.first + message.followers):
        other = s.followers[place]
        s.messages[other].waits -= 1
        if s.messages[other].waits == 0:
            push(s, now, other * 8 + _START)


@compiled
def _drop(s: State, place: int) -> None:
    s.totals[0].drops += s.trains[place].packets
    _free_train(s, place)


@compiled
def _free_train(s: State, place: int) -> None:
    s.trains[place].next = s.totals[0].free_train
    s.totals[0].free_train = place
    s.totals[0].free_trains += 1


@compiled
def _arrive(s: State, place: int) -> None:
    """Handle a train at the end of a link: enter the switch, or deliver the train."""
    train, setting = s.trains[place], s.setting[0]
    path = s.paths[s.messages[train.message].path]
    if setting.error > 0 and random_share(s) > (1 - setting.error) ** train.packets:
        _drop(s, place)
        return
    if train.hop >= path.hops:
        _deliver(s, place)
        return
    index = s.path_links[path.first + train.hop]
    link = s.links[index]
    s.queues[min(int(link.queue / setting.bin), len(s.queues) - 1)] += train.packets
    if not admit(s, train.link, train.wire):
        _drop(s, place)
        return
    link.queue += train.wire
    link.longest = max(link.longest, link.queue)
    train.next = -1
    if link.head < 0:
        link.head = place
    else:
        s.trains[link.tail].next = place
    link.tail = place
    kick(s, index)


@compiled
def _deliver(s: State, place: int) -> None:
    """Receive a train in order, or request the missing bytes; ack bytes received before."""
    train, now = s.trains[place], s.totals[0].now
    flow = s.flows[train.flow]
    if flow.message != train.message:  # it was sent twice, and its flow has ended
        _free_train(s, place)
        return
    s.totals[0].arrived += train.packets
    if train.seq > flow.received:
        if flow.nacked:
            _free_train(s, place)
            return
        flow.nacked = train.nack = 1
    elif train.seq + train.length > flow.received:
        flow.received, flow.nacked = train.seq + train.length, 0
    train.seq = flow.received
    message = s.messages[train.message]
    if flow.received >= message.length and message.end < 0:
        _complete(s, train.message)
    push(s, now + s.paths[message.path].back, place * 8 + _ACK)


@compiled
def _acked(s: State, place: int) -> None:
    """Handle an ack or a nack at the sender."""
    train, setting, now = s.trains[place], s.setting[0], s.totals[0].now
    slot = train.flow
    flow = s.flows[slot]
    if flow.message != train.message:
        _free_train(s, place)
        return
    message = s.messages[train.message]
    path = s.paths[message.path]
    if train.seq > flow.acked:
        flow.acked = train.seq
        flow.deadline = now + setting.timeout if setting.lossy else inf
    if train.nack:
        _back_to(s, slot, train.seq)
    flow.sent = max(flow.sent, flow.acked)
    seq, sent = float(flow.acked), float(flow.sent)
    between = (sent - seq) / setting.packet
    ack = _Ack(now, now - train.sent, seq, sent, float(train.packets), float(train.marks), between)
    utilization = 0.0
    if setting.scheme == _HPCC:
        utilization = _utilization(s, slot, place)
    elif setting.scheme == _PINT:
        utilization = train.pint
    if setting.scheme != _PINT or setting.pint_share >= 1 or random_share(s) < setting.pint_share:
        acknowledged(s.rates[slot], setting.scheme, ack, utilization, path.rate, s.control)
    _free_train(s, place)
    first = s.path_links[path.first]
    if flow.acked >= message.length:
        unlist(s, slot)
        flow.message = -1
        flow.next = s.totals[0].free_flow
        s.totals[0].free_flow = slot
        s.totals[0].free_flows += 1
    kick(s, first)


@compiled
def _utilization(s: State, slot: int, place: int) -> float:
    """Return the smoothed utilization of the busiest hop in the telemetry of an ack."""
    path = s.paths[s.messages[s.flows[slot].message].path]
    most, span = 0.0, 0.0
    for hop in range(min(1, path.hops - 1), path.hops):
        link = s.links[s.path_links[path.first + hop]]
        new, old = s.telemetry[place, hop], s.last_telemetry[slot, hop]
        passed = new[0] - old[0]
        if passed > 0 and old[0] > 0:
            queue = min(new[2], old[2])
            sent = (new[1] - old[1]) / passed
            found = hop_utilization(sent, queue, link.rate, path.rate, path.window)
            if found > most:
                most, span = found, passed
        old[0], old[1], old[2] = new[0], new[1], new[2]
    return smoothed(s.rates[slot, 2], most, span, path.rtt)


@compiled
def _back_to(s: State, slot: int, seq: int) -> None:
    """Restart a flow's transmission from a given byte."""
    flow, setting = s.flows[slot], s.setting[0]
    if setting.back_to_zero:
        seq = seq // setting.chunk * setting.chunk
    if flow.sent > seq:
        s.totals[0].resent += flow.sent - seq
        flow.sent = seq
        flow.acked = min(flow.acked, seq)
        enlist(s, slot)


@compiled
def _timed_out(s: State, slot: int) -> None:
    """Retransmit what was not acknowledged in time."""
    flow, setting, now = s.flows[slot], s.setting[0], s.totals[0].now
    s.totals[0].timers -= 1
    if flow.message < 0 or flow.timer != now:
        return
    if now >= flow.deadline:
        s.totals[0].fruitless += 1
        flow.nacked = 0
        _back_to(s, slot, flow.acked)
        flow.deadline = now + setting.timeout
        kick(s, s.path_links[s.paths[s.messages[flow.message].path].first])
    flow.timer = flow.deadline
    s.totals[0].timers += 1
    push(s, flow.timer, slot * 8 + _TIMEOUT)


@compiled
def _sample(s: State) -> None:
    """Sample queues, pauses and rates; if the array is full, drop every second sample."""
    totals, setting, samples = s.totals[0], s.setting[0], s.samples
    if setting.samples == len(samples):
        setting.samples //= 2
        for i in range(setting.samples):
            samples[i, :] = samples[2 * i + 1, :]
        setting.sample *= 2
    longest, total, paused = 0.0, 0.0, 0.0
    for index in range(len(s.links)):
        longest = max(longest, s.links[index].queue)
        total += s.links[index].queue
        paused += s.links[index].paused
    rate, sending = 0.0, 0
    for slot in range(len(s.flows)):
        if s.flows[slot].message >= 0 and s.flows[slot].listed:
            rate += s.rates[slot, 0]
            sending += 1
    row = samples[setting.samples]
    row[0], row[1], row[2], row[3] = totals.now, longest, total, paused
    row[4] = rate / max(1, sending)
    setting.samples += 1
    totals.next_sample = totals.now + setting.sample
