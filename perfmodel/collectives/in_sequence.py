"""Concatenation of several schedules into one."""

from collections.abc import Sequence
from dataclasses import replace

from .schedule import Part, Schedule
from .transfer import Transfer

__all__ = ["in_sequence"]


def in_sequence(pattern: str, words: str, stages: Sequence[Schedule]) -> Schedule:
    """Return a schedule in which a member starts a stage once all its data has arrived.

    Parameters
    ----------
    pattern, words : str
        Pattern of the whole sequence, and its description.
    stages : sequence of Schedule
        Schedules for the same groups, built without lockstep.
    """
    messages: list[Transfer] = []
    came: dict[int, tuple[int, ...]] = {}
    owners: list[dict[int, int]] = [{} for _ in stages[0].parts]
    receivers: list[dict[int, int]] = [{} for _ in stages[0].parts]
    for stage in stages:
        first, shards = len(messages), sum(map(len, owners))
        for group, part in enumerate(stage.parts):
            owners[group].update({shards + one: npu for one, npu in part.owners.items()})
            receivers[group].update({shards + one: npu for one, npu in part.receivers.items()})
        for one in stage.transfers:
            before = {number for source in one.sources for number in came.get(source, ())}
            messages.append(
                replace(
                    one,
                    after=tuple(sorted(before | {first + number for number in one.after})),
                    shards=tuple(shards + shard for shard in one.shards),
                    step=first + one.step if one.step >= 0 else -1,
                )
            )
        for number, one in enumerate(messages[first:], first):
            for target in one.targets:
                came[target] = (*came.get(target, ()), number)
    members = (part.members for part in stages[0].parts)
    return Schedule(
        pattern,
        words,
        tuple(map(Part, members, owners, receivers)),
        tuple(messages),
        tuple(dict.fromkeys(one for stage in stages for one in stage.assumptions)),
        {name: value for stage in stages for name, value in stage.details.items()},
        tuple(stages),
    )
