"""Schedules of collectives as send and receive operations of each NPU."""

from fred_hw.errors import InputError
from perfmodel.collectives.schedule import Schedule

from .goal import Goal, Operation

__all__ = ["to_goal"]


def to_goal(schedule: Schedule, npus: int) -> Goal:
    """Return the send and receive operations of each NPU; reductions take no time.

    A send waits for the messages that bring its data. Each message has its own tag.

    Parameters
    ----------
    schedule : Schedule
        Built without lockstep, of the bytes that are sent.
    npus : int
        NPUs of the topology. Those that take no part do nothing.

    Raises
    ------
    InputError
        Messages join or fork in the network.
    """
    ranks: list[list[Operation]] = [[] for _ in range(npus)]
    received: dict[tuple[int, int], int] = {}  # index in the rank, by NPU and message
    for number, one in enumerate(schedule.transfers):
        if one.joins:
            message = "must be one with messages between two NPUs each, to export its schedule"
            raise InputError("algorithm", "", f"{message}, not {schedule.algorithm}")
        [source], [target] = one.sources, one.targets
        size = max(1, round(one.payload_bytes))
        waits = {received[source, before] for before in one.after if (source, before) in received}
        label = f"m{number}"
        ranks[source].append(
            Operation(f"{label}_send", "send", size, target, number, requires=tuple(sorted(waits)))
        )
        received[target, number] = len(ranks[target])
        ranks[target].append(Operation(f"{label}_recv", "recv", size, source, number))
    return tuple(map(tuple, ranks))
