"""Steps of the model of acceptance, and the search of all its states, compiled by numba.

A state is a row of bytes. It has for each endpoint its descriptor plus one, flits handed to the
source, and flits taken from the receive queue, of this descriptor; for each flow packets handed
over, sent, and accepted; and for each queue its length, and flow and number of the packets in it.
"""

from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

__all__ = ["Tables", "every_state", "first_state", "judge"]

OUTCOMES = ("accept", "drop", "wait")
ACCEPT, DROP, WAIT = range(3)


class Tables(NamedTuple):
    """Arrays of a fabric and its endpoints' descriptors.

    Parameters
    ----------
    jobs : array, (endpoints,)
        Descriptors of each endpoint.
    to, source : array, (endpoints, descriptors)
        Peers of each descriptor, or -1.
    sends, receives : array, (endpoints, descriptors)
        Flits of each descriptor.
    send_needs, receive_needs : array, (endpoints, descriptors, flits)
        Received flits that each sent flit needs, and the other way round.
    ends : array, (flows, 2)
        Source and destination of each flow.
    path : array, (flows, hops)
        Queues on the path of each flow, then -1.
    alone : array, (queues,)
        Whether each queue behind a queue is filled from this one only.
    sizes : array, (6,)
        Queues, flits of a queue, flits of a receive queue, packets of a window, whether the
        rule is "bounded", and whether steps whose order cannot matter are done at once.
    """

    jobs: NDArray[np.int64]
    to: NDArray[np.int64]
    source: NDArray[np.int64]
    sends: NDArray[np.int64]
    receives: NDArray[np.int64]
    send_needs: NDArray[np.int64]
    receive_needs: NDArray[np.int64]
    ends: NDArray[np.int64]
    path: NDArray[np.int64]
    alone: NDArray[np.bool_]
    sizes: NDArray[np.int64]


@numba.njit(cache=True)
def judge(tables: Any, end: int, now: int, source: int, sent: int, taken: int, queued: int) -> int:
    """Return what an endpoint does with the next flit from a source, as ``acceptance.judged``."""
    depth, bounded = tables.sizes[2], tables.sizes[4]
    job = now
    while job >= 0 and tables.source[end, job] < 0:
        job -= 1
    if job < 0 or tables.source[end, job] != source:
        return DROP
    wanted = tables.receives[end, now] - taken
    if now + 1 < tables.jobs[end] and tables.source[end, now + 1] == source:
        wanted += tables.receives[end, now + 1]
    if queued >= wanted:
        return DROP
    # Flits of a message in flight wait only for memory, so the queue soon has space for them.
    stored = 0
    for flit in range(taken, tables.receives[end, now]):
        stored += tables.receive_needs[end, now, flit] <= sent
    if bounded and queued >= stored + depth:
        return DROP
    return ACCEPT if queued < depth + bounded else WAIT


@numba.njit(cache=True)
def _is_over(state: Any, tables: Any, end: int) -> bool:
    now = state[3 * end] - 1
    return now < 0 or (
        state[3 * end + 1] == tables.sends[end, now]
        and state[3 * end + 2] == tables.receives[end, now]
    )


@numba.njit(cache=True)
def _all_over(state: Any, tables: Any) -> bool:
    for end in range(len(tables.jobs)):
        if state[3 * end] != tables.jobs[end] or not _is_over(state, tables, end):
            return False
    return True


@numba.njit(cache=True)
def _flow(tables: Any, source: int, to: int) -> int:
    for flow in range(len(tables.ends)):
        if tables.ends[flow, 0] == source and tables.ends[flow, 1] == to:
            return flow
    return -1


@numba.njit(cache=True)
def _flow_place(tables: Any, flow: int) -> int:
    return 3 * (len(tables.jobs) + flow)


@numba.njit(cache=True)
def _queue_place(tables: Any, link: int) -> int:
    return 3 * (len(tables.jobs) + len(tables.ends)) + link * (1 + 2 * tables.sizes[1])


@numba.njit(cache=True)
def _queued(state: Any, tables: Any, end: int) -> int:
    """Return the flits in a receive queue: accepted in all flows, minus taken by all jobs."""
    count = 0 - state[3 * end + 2]
    for flow in range(len(tables.ends)):
        if tables.ends[flow, 1] == end:
            count += state[_flow_place(tables, flow) + 2]
    for job in range(state[3 * end] - 1):
        count -= tables.receives[end, job]
    return count


@numba.njit(cache=True)
def _push(state: Any, tables: Any, link: int, flow: int, number: int) -> bool:
    """Put a packet in a queue; return False if that is full."""
    place = _queue_place(tables, link)
    length = state[place]
    if length == tables.sizes[1]:
        return False
    state[place] = length + 1
    state[place + 1 + 2 * length] = flow
    state[place + 2 + 2 * length] = number
    return True


@numba.njit(cache=True)
def _pop(state: Any, tables: Any, link: int) -> None:
    place = _queue_place(tables, link)
    last = place + 2 * state[place] - 1
    for k in range(place + 1, last):
        state[k] = state[k + 2]
    state[last], state[last + 1] = 0, 0
    state[place] -= 1


@numba.njit(cache=True)
def _begin(state: Any, tables: Any, end: int) -> bool:
    """Start the next descriptor; in another flow only when all flits have been accepted."""
    job = state[3 * end]
    if job == tables.jobs[end] or not _is_over(state, tables, end):
        return False
    to = tables.to[end, job]
    for flow in range(len(tables.ends)):
        place = _flow_place(tables, flow)
        other = to >= 0 and tables.ends[flow, 0] == end and tables.ends[flow, 1] != to
        if other and state[place] != state[place + 2]:
            return False
    state[3 * end], state[3 * end + 1], state[3 * end + 2] = job + 1, 0, 0
    return True


@numba.njit(cache=True)
def _hand_over(state: Any, tables: Any, end: int) -> bool:
    now, sent = state[3 * end] - 1, state[3 * end + 1]
    if now < 0 or sent == tables.sends[end, now]:
        return False
    place = _flow_place(tables, _flow(tables, end, tables.to[end, now]))
    waits = tables.send_needs[end, now, sent] > state[3 * end + 2]
    if waits or state[place] - state[place + 2] >= tables.sizes[3]:
        return False
    state[3 * end + 1] += 1
    state[place] += 1
    return True


@numba.njit(cache=True)
def _take(state: Any, tables: Any, end: int) -> bool:
    now, taken = state[3 * end] - 1, state[3 * end + 2]
    if now < 0 or taken == tables.receives[end, now]:
        return False
    waits = tables.receive_needs[end, now, taken] > state[3 * end + 1]
    if waits or _queued(state, tables, end) == 0:
        return False
    state[3 * end + 2] += 1
    return True


@numba.njit(cache=True)
def _send(state: Any, tables: Any, flow: int) -> bool:
    place = _flow_place(tables, flow)
    sent = state[place + 1]
    if sent == state[place] or not _push(state, tables, tables.path[flow, 0], flow, sent):
        return False
    state[place + 1] = sent + 1
    return True


@numba.njit(cache=True)
def _beyond(tables: Any, flow: int, link: int) -> int:
    """Return the queue behind a queue on the path of a flow, or -1 at its end."""
    here = 0
    while tables.path[flow, here] != link:
        here += 1
    return tables.path[flow, here + 1] if here + 1 < tables.path.shape[1] else -1


@numba.njit(cache=True)
def _move(state: Any, tables: Any, link: int) -> bool:
    """Move the first packet of a queue to the next queue, or let its endpoint judge it."""
    queue = _queue_place(tables, link)
    if state[queue] == 0:
        return False
    flow, number = state[queue + 1], state[queue + 2]
    beyond = _beyond(tables, flow, link)
    if beyond >= 0:
        if not _push(state, tables, beyond, flow, number):
            return False
        _pop(state, tables, link)
        return True
    place = _flow_place(tables, flow)
    if number == state[place + 2]:
        end = tables.ends[flow, 1]
        now, sent, taken = state[3 * end] - 1, state[3 * end + 1], state[3 * end + 2]
        queued = _queued(state, tables, end)
        judged = judge(tables, end, now, tables.ends[flow, 0], sent, taken, queued)
        if judged == WAIT:
            return False
        if judged == ACCEPT:
            state[place + 2] += 1
        else:
            state[place + 1] = number
    _pop(state, tables, link)
    return True


@numba.njit(cache=True)
def _copy(out: Any, place: int, state: Any) -> int:
    for k in range(len(state)):
        out[place, k] = state[k]
    return place


@numba.njit(cache=True)
def _first(state: Any, tables: Any) -> bool:
    """Do a step whose order cannot matter, if there is one.

    Such a step stays possible until it is done. It prevents no other step, and changes what none
    of them does. So completion is possible afterwards if it is possible now.
    """
    for end in range(len(tables.jobs)):
        # Flits in the queue and flits still wanted fall by one, so later ones are judged alike.
        if _take(state, tables, end):
            return True
        now, last = state[3 * end] - 1, tables.jobs[end] - 1
        ordered = now >= 0 and tables.receive_needs[end, now].any()
        if not ordered and _hand_over(state, tables, end):
            return True
        # Flits that arrive are dropped before and after, if the two next descriptors receive none.
        receives = False
        for job in range(now + 1, min(now + 2, last) + 1):
            receives |= tables.source[end, job] >= 0
        if not receives and _begin(state, tables, end):
            return True
    for link in range(tables.sizes[0]):
        queue = _queue_place(tables, link)
        if state[queue] > 0:
            flow, number = state[queue + 1], state[queue + 2]
            ends = _beyond(tables, flow, link) < 0
            # A packet that is out of order is dropped, however late. The order of packets does not
            # change between queues where no others join them.
            out_of_order = ends and number != state[_flow_place(tables, flow) + 2]
            if (out_of_order or (tables.alone[link] and not ends)) and _move(state, tables, link):
                return True
    return False


@numba.njit(cache=True)
def _after(state: Any, tables: Any, out: Any) -> int:
    """Put successor states in ``out``; return how many they are."""
    found = _copy(out, 0, state)
    if tables.sizes[5] and _first(out[0], tables):
        return 1
    for end in range(len(tables.jobs)):
        if _hand_over(out[found], tables, end):
            found = _copy(out, found + 1, state)
        if _begin(out[found], tables, end):
            found = _copy(out, found + 1, state)
        if _take(out[found], tables, end):
            found = _copy(out, found + 1, state)
    for flow in range(len(tables.ends)):
        if _send(out[found], tables, flow):
            found = _copy(out, found + 1, state)
    for link in range(tables.sizes[0]):
        if _move(out[found], tables, link):
            found = _copy(out, found + 1, state)
    return found


@numba.njit(cache=True)
def first_state(tables: Any, started: Any) -> Any:
    """Return the state before the first step; endpoints in ``started`` are in a descriptor."""
    length = _queue_place(tables, tables.sizes[0])
    state = np.zeros(-(-length // 8) * 8, np.uint8)
    for end in started:
        state[3 * end] = 1
    return state


@numba.njit(cache=True)
def _slot(row: Any, rows: Any, table: Any) -> int:
    """Return where a row is in the hash table, or the empty place where it would be."""
    mixed = np.uint64(0x9E3779B97F4A7C15)
    for word in row:
        mixed = (mixed ^ word) * np.uint64(0xFF51AFD7ED558CCD)
        mixed ^= mixed >> np.uint64(32)
    mask = np.uint64(len(table) - 1)
    slot = mixed & mask
    while table[slot] >= 0:
        same = True
        for k in range(len(row)):
            if rows[table[slot], k] != row[k]:
                same = False
                break
        if same:
            break
        slot = (slot + np.uint64(1)) & mask
    return slot


@numba.njit(cache=True)
def _larger(array: Any) -> Any:
    grown = np.empty((2 * array.shape[0], array.shape[1]), array.dtype)
    grown[: array.shape[0]] = array
    return grown


@numba.njit(cache=True)
def _explore(tables: Any, first: Any) -> Any:
    """Return all states that can be reached, as 64-bit words, and the steps between them."""
    most = 1 + 3 * len(tables.jobs) + len(tables.ends) + tables.sizes[0]
    out = np.zeros((most, len(first)), np.uint8)
    words = out.view(np.uint64)
    rows = np.empty((1024, words.shape[1]), np.uint64)
    steps = np.empty((4096, 2), np.int32)
    table = np.full(4096, -1, np.int32)
    out[0] = first
    rows[0] = words[0]
    table[_slot(words[0], rows, table)] = 0
    states, count, state = 1, 0, 0
    while state < states:
        found = _after(rows[state].view(np.uint8), tables, out)
        for k in range(found):
            slot = _slot(words[k], rows, table)
            if table[slot] < 0:
                if states == len(rows):
                    rows = _larger(rows)
                rows[states] = words[k]
                table[slot] = states
                states += 1
                if 2 * states > len(table):
                    table = np.full(2 * len(table), -1, np.int32)
                    for one in range(states):
                        table[_slot(rows[one], rows, table)] = one
                    slot = _slot(words[k], rows, table)
            if count == len(steps):
                steps = _larger(steps)
            steps[count, 0], steps[count, 1] = state, table[slot]
            count += 1
        state += 1
    return rows[:states], steps[:count]


@numba.njit(cache=True)
def every_state(tables: Any, first: Any) -> Any:
    """Return all states that can be reached, and for each whether all descriptors can end."""
    rows, steps = _explore(tables, first)
    starts = np.zeros(len(rows) + 1, np.int64)
    for step in range(len(steps)):
        starts[steps[step, 1] + 1] += 1
    starts = np.cumsum(starts)
    before, filled = np.empty(len(steps), np.int32), starts[:-1].copy()
    for step in range(len(steps)):
        to = steps[step, 1]
        before[filled[to]] = steps[step, 0]
        filled[to] += 1
    good, waiting = np.zeros(len(rows), np.bool_), np.empty(len(rows), np.int32)
    left = 0
    for state in range(len(rows)):
        if _all_over(rows[state].view(np.uint8), tables):
            good[state] = True
            waiting[left] = state
            left += 1
    while left:
        left -= 1
        state = waiting[left]
        for k in range(starts[state], starts[state + 1]):
            one = before[k]
            if not good[one]:
                good[one] = True
                waiting[left] = one
                left += 1
    return rows, good
