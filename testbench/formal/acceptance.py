"""Exhaustive search of small fabrics whose endpoints accept or drop flits on shared links.

The model has only the parts that can wait for something else: queues of links between switches, the
window of a source, the receive queue of an endpoint, and descriptors that are executed in order. A
packet is a flit. Acks and nacks arrive at once, as they need no credits; memory takes and gives a
flit at any time. A late start is a step that is taken late.

What an endpoint accepts, ``judged``, is compared with ``AceChannel`` for queues of exchanges
(tests/testbench/formal/test_acceptance_rtl.py). The model simplifies the following parts of the
RTL, so they are not compared step by step. Random campaigns of whole fabrics
(``testbench.campaigns``) cover them instead:

* flow control: a packet is one flit, and waits for space instead of credits
* the time until an endpoint drops a flit that holds the link
* rings: state machines and slots start their messages
* virtual channels: the model has one
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

__all__ = ["RULES", "Descriptor", "Fabric", "exchange", "judged", "ring", "stuck_states"]

RULES = ("bounded", "endless")
"""Rules for a flit that the current descriptor cannot take yet.

Both accept the flit if the next descriptor wants it and the receive queue is not full. If the queue
is full the flit holds the link: under ``bounded`` until the endpoint drops it, at any time, and
under ``endless`` until there is space.
"""

State = tuple[tuple[int, ...], ...]


class Descriptor(NamedTuple):
    """A descriptor: flits sent to one endpoint and received from one.

    Each flit that is sent has the number of received flits that it needs, and the other way round.
    """

    to: int = -1
    sends: tuple[int, ...] = ()
    source: int = -1
    receives: tuple[int, ...] = ()


class Fabric(NamedTuple):
    """Paths of flows as queues between switches, and the sizes of all queues in flits.

    Endpoints that are ``late`` begin their first descriptor at any time, all others at once.
    """

    paths: Mapping[tuple[int, int], tuple[int, ...]]
    late: Collection[int] = ()
    link_depth: int = 2
    receive_depth: int = 2
    window: int = 1


def exchange(to: int = -1, source: int = -1, flits: int = 1) -> Descriptor:
    """Return a descriptor that sends, receives, or does both."""
    zeros = (0,) * flits
    return Descriptor(to, zeros if to >= 0 else (), source, zeros if source >= 0 else ())


def ring(to: int, source: int, steps: int, message: int, chunks: int) -> Descriptor:
    """Return a member's descriptor in a ring: successive chunks, each in a number of steps.

    A step sends what the step before received. The next chunk is received when this one is sent.
    """
    sends, receives = list[int](), list[int]()
    for chunk, step in ((c, s) for c in range(chunks) for s in range(steps)):
        sends += [(chunk * steps + step) * message] * message
        receives += [chunk * steps * message] * message
    return Descriptor(to, tuple(sends), source, tuple(receives))


class _Search(NamedTuple):
    """A fabric, the endpoints' descriptors, and the acceptance rule.

    A state has for each endpoint its descriptor, flits handed to the source, and flits taken from
    the receive queue, of this descriptor; for each flow packets handed over, sent, accepted and
    known to be accepted; and for each queue the packets in it, as flow and number.
    """

    fabric: Fabric
    work: Sequence[Sequence[Descriptor]]
    rule: str

    @property
    def flows(self) -> list[tuple[int, int]]:
        return [*self.fabric.paths]

    def first(self) -> State:
        ends = sum(((-1 if k in self.fabric.late else 0, 0, 0) for k in range(len(self.work))), ())
        links = 1 + max(link for path in self.fabric.paths.values() for link in path)
        return (ends, (0,) * (3 * len(self.flows)), *((),) * links)

    def over(self, state: State) -> bool:
        """Return whether all descriptors are complete."""
        return all(
            state[0][3 * k] == len(jobs) - 1 and self._is_over(state, k)
            for k, jobs in enumerate(self.work)
        )

    def _is_over(self, state: State, end: int) -> bool:
        now, sent, taken = state[0][3 * end : 3 * end + 3]
        if now < 0:
            return True
        job = self.work[end][now]
        return sent == len(job.sends) and taken == len(job.receives)

    def after(self, state: State) -> Iterator[State]:
        """Yield successor states: all, or a single one that does not affect the other moves.

        That is so of a flit that is handed over, if no receive depends on it: it has to happen,
        and can before anything else.
        """
        for end in range(len(self.work)):
            for one in self._hand_over(state, end):
                yield one
                if not any(self.work[end][state[0][3 * end]].receives):
                    return
        for end in range(len(self.work)):
            yield from self._begin(state, end)
            yield from self._take(state, end)
        for flow in range(len(self.flows)):
            yield from self._send(state, flow)
        for link in range(2, len(state)):
            yield from self._move(state, link)

    def _begin(self, state: State, end: int) -> Iterator[State]:
        """Start the next descriptor; in another flow only when all flits have been accepted."""
        now = state[0][3 * end]
        if now + 1 == len(self.work[end]) or not self._is_over(state, end):
            return
        to = self.work[end][now + 1].to
        for flow, ends in enumerate(self.flows):
            handed, _, accepted = state[1][3 * flow : 3 * flow + 3]
            if to >= 0 and ends[0] == end and ends[1] != to and handed != accepted:
                return
        yield _with(state, 0, 3 * end, (now + 1, 0, 0))

    def _hand_over(self, state: State, end: int) -> Iterator[State]:
        now, sent, taken = state[0][3 * end : 3 * end + 3]
        if now < 0 or sent == len(self.work[end][now].sends):
            return
        job = self.work[end][now]
        flow = self.flows.index((end, job.to))
        handed, _, accepted = state[1][3 * flow : 3 * flow + 3]
        if job.sends[sent] <= taken and handed - accepted < self.fabric.window:
            after = _with(state, 0, 3 * end + 1, (sent + 1,))
            yield _with(after, 1, 3 * flow, (handed + 1,))

    def _queued(self, state: State, end: int) -> int:
        """Return the flits in a receive queue: accepted in all flows, minus taken by all jobs."""
        came = sum(state[1][3 * flow + 2] for flow, ends in enumerate(self.flows) if ends[1] == end)
        now, _, taken = state[0][3 * end : 3 * end + 3]
        return came - taken - sum(len(job.receives) for job in self.work[end][: max(0, now)])

    def _take(self, state: State, end: int) -> Iterator[State]:
        now, sent, taken = state[0][3 * end : 3 * end + 3]
        if now < 0 or taken == len(self.work[end][now].receives):
            return
        if self._queued(state, end) > 0 and self.work[end][now].receives[taken] <= sent:
            yield _with(state, 0, 3 * end + 2, (taken + 1,))

    def _send(self, state: State, flow: int) -> Iterator[State]:
        handed, sent, _ = state[1][3 * flow : 3 * flow + 3]
        link = self.fabric.paths[self.flows[flow]][0] + 2
        if sent < handed and len(state[link]) < 2 * self.fabric.link_depth:
            after = _with(state, 1, 3 * flow + 1, (sent + 1,))
            yield (*after[:link], (*after[link], flow, sent), *after[link + 1 :])

    def _move(self, state: State, link: int) -> Iterator[State]:
        """Move the first packet of a queue to the next queue, or let its endpoint judge it."""
        if not state[link]:
            return
        flow, number = state[link][:2]
        path = self.fabric.paths[self.flows[flow]]
        here = path.index(link - 2)
        gone = (*state[:link], state[link][2:], *state[link + 1 :])
        if here + 1 < len(path):
            beyond = path[here + 1] + 2
            if len(state[beyond]) < 2 * self.fabric.link_depth:
                yield (*gone[:beyond], (*gone[beyond], flow, number), *gone[beyond + 1 :])
            return
        accepted = state[1][3 * flow + 2]
        if number != accepted:
            yield gone
            return
        judged = self._judged(state, *self.flows[flow])
        if judged == "accept":
            yield _with(gone, 1, 3 * flow + 2, (accepted + 1,))
        elif judged == "drop":
            yield _with(gone, 1, 3 * flow + 1, (accepted,))

    def _judged(self, state: State, source: int, end: int) -> str:
        """Return what an endpoint does with the next flit of a flow."""
        now, sent, taken = state[0][3 * end : 3 * end + 3]
        return judged(
            self.work[end],
            now,
            source,
            sent=sent,
            taken=taken,
            queued=self._queued(state, end),
            depth=self.fabric.receive_depth,
            rule=self.rule,
        )


def judged(
    work: Sequence[Descriptor],
    now: int,
    source: int,
    *,
    sent: int,
    taken: int,
    queued: int,
    depth: int,
    rule: str = "bounded",
) -> str:
    """Return what an endpoint does with the next flit from a source: accept, drop or wait.

    Under ``bounded`` one more space than ``depth`` is kept: for the flit that is dropped, or taken
    by a message in flight.

    Parameters
    ----------
    work : sequence of Descriptor
        Descriptors of the endpoint.
    now : int
        Number of the current descriptor; -1 before the first.
    source : int
        Source of the flit.
    sent, taken : int
        Flits that were handed to the source, and taken from the receive queue, of this descriptor.
    queued, depth : int
        Flits in the receive queue, and those that may wait there for a send.
    rule : str
        One of ``RULES``.
    """
    jobs = work[: now + 1]
    if [job.source for job in jobs if job.source >= 0][-1:] != [source]:
        return "drop"
    job = jobs[-1]
    wanted = len(job.receives) - taken
    following = work[now + 1 : now + 2]
    if following and following[0].source == source:
        wanted += len(following[0].receives)
    if queued >= wanted:
        return "drop"
    # Flits of a message in flight wait only for memory, so the queue soon has space for them.
    stored = sum(needs <= sent for needs in job.receives[taken:])
    if rule == "bounded" and queued >= stored + depth:
        return "drop"
    return "accept" if queued < depth + (rule == "bounded") else "wait"


def _with(state: State, part: int, place: int, values: tuple[int, ...]) -> State:
    old = state[part]
    new = (*old[:place], *values, *old[place + len(values) :])
    return (*state[:part], new, *state[part + 1 :])


def stuck_states(
    fabric: Fabric, work: Sequence[Sequence[Descriptor]], rule: str = "bounded"
) -> tuple[int, list[State]]:
    """Return the number of reachable states, and those from which completion is impossible."""
    search = _Search(fabric, work, rule)
    first = search.first()
    before: dict[State, list[State]] = {first: []}
    waiting, ends = [first], list[State]()
    while waiting:
        state = waiting.pop()
        if search.over(state):
            ends.append(state)
        for one in search.after(state):
            if one not in before:
                before[one] = []
                waiting.append(one)
            before[one].append(state)
    good, waiting = set(ends), ends
    while waiting:
        for one in before[waiting.pop()]:
            if one not in good:
                good.add(one)
                waiting.append(one)
    return len(before), [one for one in before if one not in good]
