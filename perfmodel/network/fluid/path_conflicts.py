"""Path conflicts: groups that delay each other inside switches."""

from collections.abc import Sequence
from itertools import chain, product

from perfmodel.collectives.select import PUBLISHED, build_schedule
from perfmodel.collectives.transfer import RingPass, Transfer
from perfmodel.topology.graph import Topology

from .switch_rounds import switch_rounds

__all__ = ["PathConflicts", "path_conflicts"]

PathConflicts = dict[tuple[int, frozenset[int]], float]
"""Bytes of a group, per byte of its vector, that delay other groups; keyed by switch and by the
numbers of all groups in conflict there, itself included."""


def path_conflicts(
    topology: Topology, pattern: str, groups: Sequence[Sequence[int]], algorithm: str = PUBLISHED
) -> list[PathConflicts]:
    """Return the path conflicts of each group with groups that may run at the same time.

    Rounds are those of :func:`~perfmodel.network.fluid.switch_rounds.switch_rounds` for all groups
    together. Groups of one round do not wait for each other; where there are more than two rounds,
    all do.

    Parameters
    ----------
    topology : Topology
        Topology on which the groups run.
    pattern : str
        Pattern, one of ``schedule.PATTERNS``.
    groups : sequence of sequence of int
        NPUs of each group; groups may have members in common.
    algorithm : str
        Algorithm; see ``build_schedule``.
    """
    found: list[PathConflicts] = [{} for _ in groups]
    if not topology.interconnects or len(groups) < 2:
        return found
    own: list[tuple[int, int, float]] = []  # group, step and bytes of each message
    numbered: list[list[tuple[int, Transfer | RingPass]]] = []
    for number, group in enumerate(groups):
        schedule = build_schedule(topology, pattern, [group], 1.0, algorithm, lockstep=True)
        messages = [one for one in schedule.messages if one.joins]
        numbered.append(list(enumerate(messages, len(own))))
        own += [(number, step, one.payload_bytes) for step, one in enumerate(messages)]
    rounds: dict[tuple[int, int], list[list[int]]] = {}
    for served in switch_rounds(topology, numbered):
        at = served.switch, own[served.messages[0]][1]
        rounds.setdefault(at, []).append([*served.messages])
    for (switch, _), parts in rounds.items():
        every = [[*chain.from_iterable(parts)]] if len(parts) > 2 else product(*parts)
        for messages in every:
            among = switch, frozenset(own[one][0] for one in messages)
            for one in messages:
                number, _, payload_bytes = own[one]
                found[number][among] = found[number].get(among, 0.0) + payload_bytes
    return found
