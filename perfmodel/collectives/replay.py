"""Symbolic check: replay of a schedule on sets of contributions instead of numbers."""

from collections.abc import Sequence
from itertools import groupby, islice

from fred_hw.progress import track

from .guidelines import sequences
from .schedule import REDUCTIONS, Part, Schedule
from .transfer import Transfer

__all__ = ["replay"]


class _State:
    """Contributions to each shard that each NPU holds: contributing NPUs as bits of an integer."""

    def __init__(self) -> None:
        self.held: dict[tuple[int, int], int] = {}
        self.brought_by: dict[tuple[int, int], set[int]] = {}

    def apply(self, step: Sequence[tuple[int, Transfer]]) -> None:
        """Deliver the messages of a step, each with what its sources held before the step."""
        came = [
            (number, transfer, shard, self._message(number, transfer, shard))
            for number, transfer in step
            for shard in transfer.shards
        ]
        for number, transfer, shard, message in came:
            for target in transfer.targets:
                self._receive(number, transfer, target, shard, message)

    def _message(self, number: int, transfer: Transfer, shard: int) -> int:
        message = 0
        for source in transfer.sources:
            held = self.held.get((source, shard), 0)
            late = self.brought_by.get((source, shard), set()) - set(transfer.after)
            if not held or late or held & message:
                problem = "sends nothing" if not held else "adds a contribution twice"
                if late:
                    problem = f"does not wait for {sorted(late)}"
                raise ValueError(
                    f"transfer {number} must send complete data, "
                    f"but {problem} at NPU {source}, shard {shard}"
                )
            message |= held
        return message

    def _receive(
        self, number: int, transfer: Transfer, target: int, shard: int, message: int
    ) -> None:
        key = (target, shard)
        if transfer.action == "copy":
            self.held[key], self.brought_by[key] = message, {number}
            return
        if self.held.get(key, 0) & message:
            raise ValueError(
                f"transfer {number} must add each contribution once, "
                f"but NPU {target} has some of shard {shard} already"
            )
        self.held[key] = self.held.get(key, 0) | message
        self.brought_by.setdefault(key, set()).add(number)


def replay(schedule: Schedule) -> None:
    """Check that every member ends with the data that the pattern requires.

    Each NPU starts with its own contribution to every shard (in an all-gather, an all-to-all or a
    broadcast only the owner of a shard has one). In the end each member must hold, for every shard
    (after a reduce-scatter or a reduce for those it owns, after an all-to-all for those meant for
    it), each contribution exactly once. A transfer may only send data that transfers in its
    ``after`` have delivered, so the result holds for any timing; data that a source receives from
    others in its step is kept separate until it has sent.

    In a schedule of several stages each stage must meet the requirement of its own pattern, wait
    for all data from earlier stages, and belong to a sequence that implements the pattern
    (``guidelines``).

    Raises
    ------
    ValueError
        The schedule breaks one of these rules; the message names the transfer or the NPU.
    """
    if schedule.stages:
        _check_stages(schedule)
        return
    state = _State()
    for part in schedule.parts:
        for shard, owner in part.owners.items():
            for npu in part.members if schedule.pattern in REDUCTIONS else (owner,):
                state.held[npu, shard] = 1 << npu
    messages = enumerate(track(schedule.transfers, "messages"))
    # A message without a step is a step of its own.
    for _, step in groupby(messages, lambda one: (one[1].step, one[1].step < 0 and one[0])):
        state.apply(list(step))
    for part in schedule.parts:
        _check_end(schedule, part, state)


def _check_stages(schedule: Schedule) -> None:
    done = [stage.pattern for stage in schedule.stages]
    if done not in ([one.pattern for one in some] for some in sequences(schedule.pattern)):
        raise ValueError(f"stages must do {schedule.pattern}, not {', '.join(done)}")
    messages, came = iter(enumerate(schedule.transfers)), dict[int, set[int]]()
    for stage in schedule.stages:
        replay(stage)
        brought: list[tuple[int, int]] = []
        for number, transfer in islice(messages, len(stage.messages)):
            for source in transfer.sources:
                late = came.get(source, set[int]()) - set(transfer.after)
                if late:
                    raise ValueError(f"transfer {number} must wait for {sorted(late)}")
            brought += ((target, number) for target in transfer.targets)
        for target, number in brought:
            came.setdefault(target, set()).add(number)


def _check_end(schedule: Schedule, part: Part, state: _State) -> None:
    everyone = sum(1 << npu for npu in part.members)
    for shard, owner in part.owners.items():
        wanted = everyone if schedule.pattern in REDUCTIONS else 1 << owner
        ends = part.members
        if schedule.pattern in ("reduce_scatter", "reduce"):
            ends = (owner,)
        elif schedule.pattern == "all_to_all":
            ends = (part.receivers[shard],)
        for npu in ends:
            held = state.held.get((npu, shard), 0)
            if held != wanted:
                missing = [i for i in part.members if (wanted & ~held) >> i & 1]
                raise ValueError(f"NPU {npu} must end with all of shard {shard}; misses {missing}")
