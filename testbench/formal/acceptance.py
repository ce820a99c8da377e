"""Exhaustive search of small fabrics whose endpoints accept or drop flits on shared links.

The model has only the parts that can wait for something else: queues of links between switches, the
window of a source, the receive queue of an endpoint, and descriptors that are executed in order. A
packet is a flit. Acks and nacks arrive at once, as they need no credits; memory takes and gives a
flit at any time. A late endpoint begins its first descriptor after any number of steps.

When an endpoint drops flits of its current flow, by ``judged``, is compared with ``AceChannel`` for
queues of receives (tests/testbench/formal/test_acceptance_rtl.py). The model simplifies the
following parts of the RTL, so they are not compared step by step. Random campaigns of whole fabrics
(``testbench.campaigns``) cover them instead:

* flow control: a packet is one flit, and waits for space instead of credits
* the time until an endpoint drops a flit that holds the link
* rings: state machines and slots start their messages
* virtual channels: the model has one
"""

from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fred_hw.checks import check_choice
from testbench.formal.acceptance_steps import OUTCOMES, Tables, every_state, first_state, judge

__all__ = ["RULES", "Descriptor", "Fabric", "Searched", "exchange", "judged", "ring", "search"]

RULES = ("bounded", "endless")
"""Rules for a flit that arrives while the receive queue is full of flits that wait for a send.

Flits of the current descriptor are accepted while there is space, and those of the next one if it
has the same source. If the queue is full the flit holds the link: under ``bounded`` until the
endpoint drops it, after any time, and under ``endless`` until there is space. Flits that wait only
for memory are never dropped.
"""

_MOST_FLITS = 255
"""Most flits that an endpoint sends: numbers of the search are bytes."""


class Descriptor(NamedTuple):
    """A descriptor: flits sent to one endpoint and received from one.

    ``sends[k]`` is the number of received flits that the sent flit k needs, and ``receives[k]`` is
    the number of sent flits that the received flit k needs.
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

    Each step sends the message that the previous step received. The next chunk is received when
    this one is sent.
    """
    sends, receives = list[int](), list[int]()
    for chunk, step in ((c, s) for c in range(chunks) for s in range(steps)):
        sends += [(chunk * steps + step) * message] * message
        receives += [chunk * steps * message] * message
    return Descriptor(to, tuple(sends), source, tuple(receives))


class Searched(NamedTuple):
    """Number of states that can be reached, and of those from which completion is impossible."""

    reached: int
    stuck: int


def _tables(
    fabric: Fabric, work: Sequence[Sequence[Descriptor]], rule: str, *, reduced: bool
) -> Tables:
    """Return the arrays of the compiled search. They have the flows of the descriptors only."""
    jobs = [(end, place, job) for end, one in enumerate(work) for place, job in enumerate(one)]
    wanted = {(end, job.to) for end, _, job in jobs if job.sends}
    flows = [flow for flow in fabric.paths if flow in wanted]
    hops = max((len(fabric.paths[flow]) for flow in flows), default=0)
    flits = max((max(len(job.sends), len(job.receives)) for *_, job in jobs), default=0)
    shape = (len(work), max((len(one) for one in work), default=0))
    to, source = (np.full(shape, -1) for _ in range(2))
    sends, receives = (np.zeros(shape, np.int64) for _ in range(2))
    send_needs, receive_needs = (np.zeros((*shape, flits), np.int64) for _ in range(2))
    for end, place, job in jobs:
        to[end, place], source[end, place] = job.to, job.source
        sends[end, place], receives[end, place] = len(job.sends), len(job.receives)
        send_needs[end, place, : len(job.sends)] = job.sends
        receive_needs[end, place, : len(job.receives)] = job.receives
    path = np.full((len(flows), hops), -1)
    for row, flow in zip(path, flows, strict=True):
        row[: len(fabric.paths[flow])] = fabric.paths[flow]
    queues = 1 + max((link for links in fabric.paths.values() for link in links), default=-1)
    sizes = (queues, fabric.link_depth, fabric.receive_depth, fabric.window)
    return Tables(
        jobs=np.array([len(one) for one in work]),
        to=to,
        source=source,
        sends=sends,
        receives=receives,
        send_needs=send_needs,
        receive_needs=receive_needs,
        ends=np.array(flows, np.int64).reshape(-1, 2),
        path=path,
        alone=_alone([fabric.paths[flow] for flow in flows], queues),
        sizes=np.array((*sizes, rule == "bounded", reduced)),
    )


def _alone(paths: Sequence[Sequence[int]], queues: int) -> NDArray[np.bool_]:
    """Return for each queue whether the queues behind it have packets from no other one."""
    steps = {step for path in paths for step in pairwise((-1, *path))}
    return np.array(
        [
            all(
                other == queue
                for one, to in steps
                if one == queue
                for other, at in steps
                if at == to
            )
            for queue in range(queues)
        ]
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
    tables = _tables(Fabric({}, receive_depth=depth), [work], rule, reduced=False)
    return OUTCOMES[judge(tables, 0, now, source, sent, taken, queued)]


def search(
    fabric: Fabric,
    work: Sequence[Sequence[Descriptor]],
    rule: str = "bounded",
    *,
    reduced: bool = True,
) -> Searched:
    """Return what a search of all states finds.

    Parameters
    ----------
    fabric : Fabric
        The fabric.
    work : sequence of sequences of Descriptor
        Descriptors of each endpoint.
    rule : str
        One of ``RULES``.
    reduced : bool
        Whether a step is done at once if it stays possible until it is done, prevents no other
        step, and changes what none of them does. Fewer states are reached then; whether some are
        stuck is the same.

    Raises
    ------
    ValueError
        If the rule is not known, or an endpoint sends more than 255 flits.
    """
    check_choice("search rule", rule, RULES)
    tables = _tables(fabric, work, rule, reduced=reduced)
    if tables.sends.sum(axis=1).max(initial=0) > _MOST_FLITS:
        raise ValueError(f"an endpoint of a search must send at most {_MOST_FLITS} flits")
    on_time = [end for end, jobs in enumerate(work) if jobs and end not in fabric.late]
    rows, good = every_state(tables, first_state(tables, np.array(on_time, np.int64)))
    return Searched(len(rows), int(len(rows) - good.sum()))
