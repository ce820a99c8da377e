"""Exhaustive search of the repair of a flow: whatever was lost, all packets arrive in the end.

The model has the sources, the switch and the destinations of a flow. In ``after``, any packet or
message may be lost, and timeouts may come at any time. In ``calm``, nothing is lost any more:
sources time out together, and only if nothing else can happen, as ``timeout_cycles`` is longer than
all other steps. What a destination sends without being asked stays optional. A flow is repaired if
all calm runs from all states that losses can reach end with every packet acknowledged.

The model simplifies the RTL:

* a packet is one flit, and an input port of the switch holds one packet of the flow
* a packet that leaves the switch, and the messages that it causes, arrive at once or are lost
* numbers do not wrap; ``testbench.formal.properties.links`` proves the windows at the wrap

What the switch answers is compared with the RTL of the acknowledger
(tests/testbench/formal/test_repair_rtl.py).
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

__all__ = ["Answer", "Case", "Flow", "Reply", "State", "Switch", "answered", "unrepaired"]


class Source(NamedTuple):
    """Window of a source, and the packet that waits at its input port of the switch, or -1.

    Packets before ``oldest`` are acknowledged, and those before ``begun`` were sent. ``following``
    is sent next.
    """

    oldest: int = 0
    begun: int = 0
    following: int = 0
    arrived: int = -1


class Destination(NamedTuple):
    """Packets that a destination has received; whether it had no data for some time."""

    expected: int = 0
    quiet: bool = False


class Switch(NamedTuple):
    """Number that is due at the inputs of the flow, and the last ack of each output."""

    due: int
    acked: tuple[int, ...]


class State(NamedTuple):
    """State of a flow."""

    sources: tuple[Source, ...]
    switch: Switch
    destinations: tuple[Destination, ...]


class Case(NamedTuple):
    """What the acknowledger serves.

    ``kind`` is "ack" or "nack" of an output, with its number; "late" or "early" for a packet before
    or after the one that is due.
    """

    kind: str
    output: int = 0
    number: int = 0


class Reply(NamedTuple):
    """What the acknowledger sends: an ack or a nack to sources, and requests to outputs."""

    ack: int = -1
    nack: int = -1
    asks: tuple[int, ...] = ()


Answer = Callable[[Switch, Case, int], tuple[Switch, Reply]]


class Flow(NamedTuple):
    """Ends of a flow, the window of its sources, and the packets that each of them sends."""

    sources: int
    destinations: int
    window: int
    packets: int


def answered(switch: Switch, case: Case, window: int) -> tuple[Switch, Reply]:
    """Return how a case changes the switch, and the reply.

    The reply goes to all sources if an output is the cause, else to the source of the packet.

    Parameters
    ----------
    switch : Switch
        The switch before.
    case : Case
        The case.
    window : int
        Most packets without an ack.
    """
    due, acked = switch
    lags = [_lag(due, one, window) for one in acked]
    if case.kind == "late":
        asks = tuple(k for k, lag in enumerate(lags) if lag)
        return switch, Reply(ack=due - max(lags), asks=asks)
    if case.kind == "early":
        return switch, Reply(nack=due)
    if case.kind == "nack":
        if 0 < due - case.number <= max(lags):
            return Switch(case.number, acked), Reply(nack=case.number)
        return switch, Reply()
    if not 0 < case.number - acked[case.output] <= window:
        return switch, Reply()
    now = Switch(due, _with(acked, case.output, case.number))
    behind = max(_lag(due, one, window) for one in now.acked)
    return now, Reply(ack=due - behind) if behind < max(lags) else Reply()


def _lag(due: int, acked: int, window: int) -> int:
    """Return how far an ack is behind; one from before a retransmission is not."""
    return due - acked if 0 < due - acked <= window else 0


def _with(row: tuple[Any, ...], place: int, value: Any) -> tuple[Any, ...]:
    return (*row[:place], value, *row[place + 1 :])


class _Steps(NamedTuple):
    """Steps of a flow; without losses if it is ``calm``."""

    flow: Flow
    answer: Answer
    calm: bool

    def after(self, state: State) -> Iterator[State]:
        """Yield successor states."""
        moves = {*self._moves(state)}
        yield from moves
        waiting = [k for k, one in enumerate(state.sources) if one.oldest < one.begun]
        if not self.calm:
            for k in waiting:
                yield _timed_out(state, [k])
            for k, one in enumerate(state.destinations):
                yield _destination(state, k, one._replace(quiet=True))
        elif waiting and not moves:
            for k, one in enumerate(state.destinations):
                state = _destination(state, k, one._replace(quiet=True))
            yield _timed_out(state, waiting)

    def _moves(self, state: State) -> Iterator[State]:
        """Yield states after a packet was sent, judged, or sent on."""
        due, limit = state.switch.due, self.flow.window
        for k, one in enumerate(state.sources):
            if one.arrived == -1 and one.following < min(one.oldest + limit, self.flow.packets):
                number = one.following
                sent = one._replace(begun=max(one.begun, number + 1), following=number + 1)
                yield from self._lost(_source(state, k, sent))
                yield _source(state, k, sent._replace(arrived=number))
            elif one.arrived not in (-1, due):
                gone = _source(state, k, one._replace(arrived=-1))
                yield from self._served(gone, Case("late" if one.arrived < due else "early"), [k])
        if all(one.arrived == due for one in state.sources):
            sources = tuple(one._replace(arrived=-1) for one in state.sources)
            states = [State(sources, state.switch._replace(due=due + 1), state.destinations)]
            for k in range(self.flow.destinations):
                states = [one for before in states for one in self._delivered(before, k, due)]
            yield from states

    def _lost(self, state: State) -> Iterator[State]:
        """Yield the state without what could have arrived, if it may be lost."""
        if not self.calm:
            yield state

    def _delivered(self, state: State, output: int, number: int) -> Iterator[State]:
        """Yield states after a packet was sent to a destination; its answer is optional."""
        yield from self._lost(state)
        expected = state.destinations[output].expected
        due = number == expected
        here = _destination(state, output, Destination(expected + due))
        yield here
        case = Case("nack" if number > expected else "ack", output, expected + due)
        yield from self._served(here, case, range(self.flow.sources))

    def _served(self, state: State, case: Case, to: Iterable[int]) -> Iterator[State]:
        """Yield states after the acknowledger served a case, and replied to some sources."""
        switch, reply = self.answer(state.switch, case, self.flow.window)
        states = [state._replace(switch=switch)]
        for k in to if max(reply.ack, reply.nack) >= 0 else ():
            states = [one for before in states for one in self._told(before, k, reply)]
        for k in reply.asks:
            states = [one for before in states for one in self._asked(before, k)]
        yield from states

    def _told(self, state: State, source: int, reply: Reply) -> Iterator[State]:
        """Yield states after an ack or nack was sent to a source."""
        yield from self._lost(state)
        one = state.sources[source]
        if one.oldest < reply.ack <= one.begun:
            one = one._replace(oldest=reply.ack, following=max(one.following, reply.ack))
        if one.oldest <= reply.nack <= one.begun:
            one = one._replace(following=reply.nack)
        yield _source(state, source, one)

    def _asked(self, state: State, output: int) -> Iterator[State]:
        """Yield states after a request was sent to a destination, which answers."""
        yield from self._lost(state)
        expected, quiet = state.destinations[output]
        states = [state]
        for kind in ("ack", "nack") if quiet else ("ack",):
            case, sources = Case(kind, output, expected), range(self.flow.sources)
            states = [
                one
                for before in states
                for one in (*self._lost(before), *self._served(before, case, sources))
            ]
        yield from states


def _timed_out(state: State, sources: Iterable[int]) -> State:
    for k in sources:
        one = state.sources[k]
        state = _source(state, k, one._replace(following=one.oldest))
    return state


def _source(state: State, place: int, one: Source) -> State:
    return state._replace(sources=_with(state.sources, place, one))


def _destination(state: State, place: int, one: Destination) -> State:
    return state._replace(destinations=_with(state.destinations, place, one))


def unrepaired(flow: Flow, answer: Answer = answered) -> tuple[int, list[State]]:
    """Return the number of states that losses can reach, and those that a calm run may not repair.

    Parameters
    ----------
    flow : Flow
        The flow.
    answer : callable
        What the acknowledger does, as :func:`answered`.
    """
    losing, calm = (_Steps(flow, answer, calm) for calm in (False, True))
    switch = Switch(0, (0,) * flow.destinations)
    first = State((Source(),) * flow.sources, switch, (Destination(),) * flow.destinations)
    before: dict[State, list[State]] = {first: []}
    waiting = [first]
    while waiting:
        for one in losing.after(waiting.pop()):
            if one not in before:
                before[one] = []
                waiting.append(one)
    left = dict.fromkeys(before, 0)
    good = [one for one in before if all(k.oldest == flow.packets for k in one.sources)]
    for state in before.keys() - {*good}:
        for one in {*calm.after(state)}:
            left[state] += 1
            before[one].append(state)
    repaired = set(good)
    while good:
        for one in before[good.pop()]:
            left[one] -= 1
            if left[one] == 0:
                repaired.add(one)
                good.append(one)
    return len(before), [one for one in before if one not in repaired]
