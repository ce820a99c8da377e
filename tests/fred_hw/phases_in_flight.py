"""Exhaustive search for states in which packets of phases wait for each other.

There are queues of a few packets behind links, units that move packets, and NPUs that begin their
parts of phases in one order at any time. Nothing times out, and an NPU takes all that arrives. An
ack comes at once when each destination has begun its part and has the packet.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from fred_hw.fabric_plan import End
from fred_hw.phase_waits import Move, PhaseFlow

__all__ = ["stuck_states"]

Counts = tuple[tuple[int, ...], ...]


class _State(NamedTuple):
    """Packets sent by flow and source, arrived by flow and destination; flows in each queue."""

    sent: Counts
    arrived: Counts
    queues: Counts


class _Search:
    """Flows, and the number of each queue."""

    def __init__(self, flows: Sequence[PhaseFlow], packets: int, depth: int) -> None:
        self._flows, self._packets, self._depth = flows, packets, depth
        names = [*dict.fromkeys(one.phase for one in flows)]
        self._order = [names.index(one.phase) for one in flows]
        keys = sorted({(link, one.circuit) for one in flows for link in one.taken})
        self._queue = {key: number for number, key in enumerate(keys)}
        self.first = _State(
            tuple((0,) * len(one.flow.inputs) for one in flows),
            tuple((0,) * len(one.flow.outputs) for one in flows),
            ((),) * len(keys),
        )

    def over(self, state: _State) -> bool:
        return all(count == self._packets for own in state.arrived for count in own)

    def after(self, state: _State) -> Iterator[_State]:
        """Yield the states after a packet is sent, or moved by a unit."""
        for number, one in enumerate(self._flows):
            for source, npu in enumerate(one.flow.inputs):
                count = state.sent[number][source]
                queue = self._queue[End("npu", npu), one.circuit]
                free = len(state.queues[queue]) < self._depth
                if count < self._packets and free and self._has_begun(state, number, npu):
                    sent = _with(state.sent, number, source, count + 1)
                    queues = _replaced(state.queues, queue, (*state.queues[queue], number))
                    yield state._replace(sent=sent, queues=queues)
            for move in one.moves:
                yield from self._moved(state, number, move)

    def _has_begun(self, state: _State, number: int, npu: int) -> bool:
        """Return whether the parts of an NPU in all earlier phases are over."""
        return all(
            self._is_over(state, other, npu)
            for other, one in enumerate(self._flows)
            if self._order[other] < self._order[number] and npu in one.members
        )

    def _is_over(self, state: _State, number: int, npu: int) -> bool:
        """Return whether an NPU has received all packets, and knows that all that it sent have."""
        flow = self._flows[number].flow
        known = flow.outputs if npu in flow.inputs else (npu,)
        counts = dict(zip(flow.outputs, state.arrived[number], strict=True))
        return all(
            counts[one] == self._packets and self._has_begun(state, number, one) for one in known
        )

    def _moved(self, state: _State, number: int, move: Move) -> Iterator[_State]:
        """Yield the state after a unit has moved a packet of each input, if it can."""
        flow, circuit = self._flows[number].flow, self._flows[number].circuit
        inputs, outputs = (
            [self._queue[link, circuit] for link in side] for side in (move.inputs, move.outputs)
        )
        if any(state.queues[queue][:1] != (number,) for queue in inputs):
            return
        if any(len(state.queues[queue]) == self._depth for queue in outputs):
            return
        queues, arrived = state.queues, state.arrived
        for queue in inputs:
            queues = _replaced(queues, queue, queues[queue][1:])
        for queue in outputs:
            queues = _replaced(queues, queue, (*queues[queue], number))
        for npu in move.npus:
            place = flow.outputs.index(npu)
            arrived = _with(arrived, number, place, arrived[number][place] + 1)
        yield state._replace(queues=queues, arrived=arrived)


def _with(counts: Counts, number: int, place: int, count: int) -> Counts:
    own = counts[number]
    return _replaced(counts, number, (*own[:place], count, *own[place + 1 :]))


def _replaced(counts: Counts, number: int, own: tuple[int, ...]) -> Counts:
    return (*counts[:number], own, *counts[number + 1 :])


def stuck_states(flows: Sequence[PhaseFlow], packets: int, depth: int = 1) -> tuple[int, int]:
    """Return the number of states found, and of those in which nothing can move before the end.

    Parameters
    ----------
    flows : sequence of PhaseFlow
        Flows of all phases, in the order in which each NPU begins them.
    packets, depth : int
        Packets of each source of a flow, and of each queue.
    """
    search = _Search(flows, packets, depth)
    found, waiting, stuck = {search.first}, [search.first], 0
    while waiting:
        state = waiting.pop()
        after = [*search.after(state)]
        stuck += not after and not search.over(state)
        new = {*after} - found
        found |= new
        waiting += new
    return len(found), stuck
