"""Custom collectives, given as traces of sends, receives and reductions.

As in ASTRA-sim (``CustomAlgorithm.cc``): the trace of a rank is that of its place in the group, all
that can begin does, as no unit of the NPU is asked for, and bytes are those of these traces.
"""

from collections.abc import Callable, Sequence
from functools import partial

from fred_hw.errors import InputError
from perfmodel.clock import Clock
from tracemodel.astra.files.system import SystemFile
from tracemodel.astra.transport import Exchange
from tracemodel.chakra.feeder import Feeder
from tracemodel.chakra.kinds import MESSAGE_NODES, NodeType
from tracemodel.chakra.partners import Partners

from .operation import Operation, add_partners, kind_of, message_ends
from .trace import Trace, load_traces

__all__ = ["CustomRun", "load_custom"]

_WITHIN = (*MESSAGE_NODES, NodeType.COMP_NODE, NodeType.METADATA_NODE, NodeType.INVALID_NODE)


def load_custom(prefix: str, npus: int, *, control: bool = True) -> list[Trace]:
    """Return the traces of a custom collective, files ``PREFIX.PLACE.et``.

    Compute is a reduction, as long as its node says, or 1 ns: no roofline. Control dependencies
    count or not, as in the traces of the workload.

    Raises
    ------
    InputError
        A file is bad, there is not one for each NPU, a node is no message or compute, or a message
        is not sent or not received.
    """
    traces = load_traces(prefix, None, SystemFile(), control=control)
    if len(traces) != npus:
        message = f"must be traces of the {npus} NPUs of the collective, not of {len(traces)}"
        raise InputError(prefix, "", message)
    partners = Partners()
    for place, trace in enumerate(traces):
        for one in trace.operations.values():
            try:
                _check(one)
                add_partners(partners, one, place, npus, one.what.group)
            except InputError as error:
                field = f"node {one.id}: {error.field}"
                raise InputError(trace.source, field, error.message) from None
    partners.check([trace.source for trace in traces], {})
    return traces


def _check(one: Operation) -> None:
    """Fail with the attribute's name if an operation is not allowed in a custom collective."""
    if one.what.type not in _WITHIN:
        message = f"must be compute, a send or a receive in a collective, not {kind_of(one)}"
        raise InputError("", "type", message)


class CustomRun:
    """A custom collective at one NPU, from its trace.

    Parameters
    ----------
    trace : Trace
        Trace of the collective at this NPU.
    place : int
        Position of the NPU.
    npus : sequence of int
        Participants, by position.
    tag : object
        Common key of the messages of all NPUs in this collective.
    exchange, clock : Exchange, Clock
        Exchange of messages, and clock for events.
    ended : callable
        Called when the collective ends.
    """

    def __init__(
        self,
        trace: Trace,
        place: int,
        npus: Sequence[int],
        tag: object,
        exchange: Exchange,
        clock: Clock[int],
        ended: Callable[[], object],
    ) -> None:
        self._operations, self._place = trace.operations, place
        self._npus, self._tag = npus, tag
        self._exchange, self._clock, self._ended = exchange, clock, ended
        self._feeder = Feeder(trace.nodes, trace.source, control=False)

    def go_on(self) -> None:
        """Start every operation that can start now."""
        while (node := self._feeder.ready()) is not None:
            one = self._operations[node.id]
            if one.at_once:
                self._feeder.finish(node.id)
            else:
                self._begin(one, partial(self._end, node.id))
        if self._feeder.done:
            self._ended()

    def _begin(self, one: Operation, ended: Callable[[], object]) -> None:
        if one.what.duration_ns is not None:
            self._clock.at(self._clock.now + one.what.duration_ns, ended)
            return
        source, target = message_ends(one, self._place, len(self._npus))
        key = (self._tag, one.tag), self._npus[source], self._npus[target], one.what.bytes
        if one.what.type == NodeType.COMM_SEND_NODE:
            self._exchange.send(key, ended)
        else:
            self._exchange.receive(key, ended)

    def _end(self, number: int) -> None:
        self._feeder.finish(number)
        self.go_on()
