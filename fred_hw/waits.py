"""What waits for what in a fabric, and a cycle of waits if there is one.

Nodes are what can be full or unfinished: queues of links, receive queues, sends, and packets
without an ack. An edge leads from a node to one that must make progress first, whatever the
traffic. The graph is taken from the plan of a fabric, so it has the routes that hardware takes.

Two kinds of waits are not in it. A descriptor may wait for a message of another endpoint: all
descriptors of a legal program would end on links of their own. A packet of a reduction may wait for
those of other sources: ``fred_hw.phase_waits`` adds the phases that are in flight together.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise, permutations
from typing import Any, NamedTuple

from .checks import check_choice
from .compiler.flows import Flow
from .fabric_plan import End, FabricPlan

__all__ = ["ACCEPTANCE", "Dependency", "Wait", "WaitGraph", "wait_graph"]

ACCEPTANCE = ("bounded", "endless")
"""Rules of an endpoint for a flit that it cannot take yet.

Under ``bounded`` it holds the link for a bounded time, then drops the flit, as the hardware does.
Under ``endless`` it holds the link until there is space.
"""


class Wait(NamedTuple):
    """Something that can wait.

    Parameters
    ----------
    kind : str
        "link queue": flits behind a link; "receive queue": flits of an endpoint that wait for its
        own send; "send": of an endpoint; "ack": packets of a source that wait for an ack.
    place : End or int
        Sender of the link, or address of the endpoint.
    channel : int, optional
        Virtual channel of a link queue, by number in its urgency class. Where there are phases, it
        is the number of the buffer.
    phase : str, optional
        Phase of the first packet in a link queue; empty for any unicast.
    """

    kind: str
    place: End | int
    channel: int = 0
    phase: str = ""


class Dependency(NamedTuple):
    """A wait of a cycle, and the message that causes it, as a flow between addresses."""

    wait: Wait
    message: Flow


class WaitGraph(NamedTuple):
    """All waits of a fabric.

    Parameters
    ----------
    edges : mapping
        For each wait those that it needs, and a message that does, as a flow between addresses.
    """

    edges: Mapping[Wait, Mapping[Wait, Flow]]

    @property
    def counts(self) -> Counter[str]:
        """Number of nodes of each kind."""
        nodes = {*self.edges, *(one for needed in self.edges.values() for one in needed)}
        return Counter(node.kind for node in nodes)

    def cycle(self) -> Sequence[Dependency]:
        """Return waits each of which needs the next, and the last the first; empty if none do."""
        try:
            TopologicalSorter(self.edges).prepare()
        except CycleError as error:
            # Each node of the list is needed by the one after it; the first comes again at the end.
            found = error.args[1][::-1]
            return [Dependency(one, self.edges[one][needed]) for one, needed in pairwise(found)]
        return []


def wait_graph(plan: FabricPlan[Any], acceptance: str = "bounded") -> WaitGraph:
    """Return what waits for what in a fabric, in one urgency class.

    All classes are alike, and no wait leads from one to another.

    Parameters
    ----------
    plan : FabricPlan
        The fabric.
    acceptance : str
        One of ``ACCEPTANCE``.

    Raises
    ------
    ValueError
        ``acceptance`` is not one of them.
    """
    check_choice("wait_graph acceptance", acceptance, ACCEPTANCE)
    edges: dict[Wait, dict[Wait, Flow]] = {}
    for source, destination in permutations(range(plan.addresses), 2):
        message = Flow((source,), (destination,))
        for wait, needed in _of_message(plan, source, destination, acceptance):
            edges.setdefault(wait, {}).setdefault(needed, message)
    return WaitGraph(edges)


def _of_message(
    plan: FabricPlan[Any], source: int, destination: int, acceptance: str
) -> Iterator[tuple[Wait, Wait]]:
    """Yield the waits of packets from a source to a destination."""
    unit, port = plan.homes[source]
    first = Wait("link queue", plan.units[unit].ends[port])
    send, ack = Wait("send", source), Wait("ack", source)
    yield send, first
    yield send, ack
    yield ack, first
    received = Wait("receive queue", destination)
    for one, following in plan.hops(source, destination):
        queue = Wait("link queue", following.link, following.channel)
        yield Wait("link queue", one.link, one.channel), queue
        if acceptance == "endless" and following.link == _last(plan, destination):
            yield queue, received
    if acceptance == "endless" and destination < plan.endpoints:
        yield received, Wait("send", destination)


def _last(plan: FabricPlan[Any], destination: int) -> End | None:
    """Return the link to an endpoint, by its sender; None of a controller without an endpoint."""
    return End("unit", *plan.homes[destination]) if destination < plan.endpoints else None
