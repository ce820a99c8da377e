"""Lower bound of a collective's duration: bytes that an NPU must send over its link rate."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from perfmodel.collectives.schedule import ROOTED
from tracemodel.astra.collectives.plan import Axis, Phase, Plan
from tracemodel.astra.collectives.program import program_of
from tracemodel.astra.network import Dimension, Network
from tracemodel.chakra.kinds import NodeType

from .operation import message_ends
from .trace import Trace

__all__ = ["Faster", "FasterThanLinks", "injection_bound_ns"]


@dataclass(frozen=True)
class Faster:
    """A collective that ends before its NPUs can have sent their data.

    Parameters
    ----------
    rank, node : int
        A participant, and its node.
    collective : str
        Kind of the collective.
    bytes : int
        Size in the trace.
    time_ns, injection_bound_ns : float
        Time from the arrival of all participants to the end, and least time for its NPUs to send
        their data [ns]; for a custom collective those of one NPU, from its arrival.
    """

    rank: int
    node: int
    collective: str
    bytes: int
    time_ns: float
    injection_bound_ns: float

    @property
    def times(self) -> float:
        """Factor by which the collective is too fast."""
        return self.injection_bound_ns / max(self.time_ns, 1e-9)


@dataclass(frozen=True)
class FasterThanLinks:
    """Count of collectives faster than their links allow, and the worst of them.

    Parameters
    ----------
    collectives : int
        Number of such collectives.
    of : int
        Number of all collectives.
    worst : Faster
        The one that is faster by the largest factor.
    """

    collectives: int
    of: int
    worst: Faster


def injection_bound_ns(plan: Plan, data_bytes: int, network: Network) -> float:
    """Return the least send time of the NPU that sends most [ns].

    In each dimension it sends at the rate of all its links there; none is faster than that.

    Parameters
    ----------
    plan : Plan
        Phases of the collective.
    data_bytes : int
        Bytes of an NPU, as ASTRA-sim counts them.
    network : Network
        Network on which the collective runs.
    """
    sent: dict[Axis, float] = defaultdict(float)
    for phases in plan.chunks(data_bytes):
        for phase in phases:
            sent[phase.axis] += _sent_bytes(phase, plan)
    found = 0.0
    for axis, count in sent.items():
        if axis.listed:
            ends = zip(axis.listed, [*axis.listed[1:], axis.listed[0]], strict=True)
            rate = min(_rate(network.crossing(*pair)[0]) for pair in ends)
        elif axis.count != network.sizes[axis.queue]:  # all NPUs at once, over any link
            rate = sum(map(_rate, network.dimensions))
        else:
            rate = _rate(network.dimensions[axis.queue])
        found = max(found, count / rate)
    return found


def custom_bounds_ns(
    traces: Sequence[Trace], members: Sequence[int], network: Network
) -> list[float]:
    """Return the least send time of each position in a custom collective [ns].

    Each message goes over the first dimension in which its ends differ, as in ASTRA-sim's model
    without congestion.

    Parameters
    ----------
    traces : sequence of Trace
        Trace of each position.
    members : sequence of int
        NPU at each position.
    network : Network
        The network.
    """
    found: list[float] = []
    for place, trace in enumerate(traces):
        sent = [0] * len(network.dimensions)
        for one in trace.operations.values():
            if one.what.type != NodeType.COMM_SEND_NODE:
                continue
            source, target = (members[end] for end in message_ends(one, place, len(members)))
            places = enumerate(zip(network.address(source), network.address(target), strict=True))
            sent[next(number for number, (here, there) in places if here != there)] += (
                one.what.bytes
            )
        rates = map(_rate, network.dimensions)
        found.append(max(count / rate for count, rate in zip(sent, rates, strict=True)))
    return found


def _sent_bytes(phase: Phase, plan: Plan) -> float:
    if phase.axis.algorithm == "double_binary_tree":
        # Once up and twice down, except in a tree of two members.
        return phase.data_bytes * (3 if phase.axis.count > 2 else 1)
    if phase.kind in ROOTED:  # sent once, by the root or by each other member
        return phase.data_bytes
    program = program_of(phase, plan)
    if phase.axis.algorithm == "halving_doubling":
        return sum(map(program.size, range(program.sends)))
    return program.sends * program.size(0)


def _rate(dimension: Dimension) -> float:
    """Return the total rate of an NPU's links along a dimension [bytes per ns]."""
    links = {"ring": min(2, dimension.npus - 1), "switch": 1}
    return dimension.bytes_per_ns * links.get(dimension.kind, dimension.npus - 1)
