"""Schedules as MSCCL algorithms: XML that the MSCCL runtime executes on GPUs.

Each GPU has a thread block for each connection, which sends or receives in the order of the
schedule. A step waits for one step of another thread block; where it waits for several, ``nop``
steps before it wait for the others.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from xml.etree import ElementTree

from fred_hw.errors import InputError

from .schedule import Schedule
from .transfer import Transfer

__all__ = ["msccl_xml"]

_COLLECTIVES = {
    "all_reduce": "allreduce",
    "reduce_scatter": "reduce_scatter",
    "all_gather": "allgather",
    "all_to_all": "alltoall",
    "broadcast": "broadcast",
    "reduce": "reduce",
}

_OUTPUT = ("all_gather", "broadcast")
"""Patterns whose data is in the output buffer; other patterns use the input buffer."""


@dataclass(slots=True)
class _Step:
    """A step of a thread block, and the positions of the data that it reads and writes."""

    kind: str
    source: tuple[str, int]
    target: tuple[str, int]
    waits: list["_Step"]
    block: "_Block"
    place: int = -1


@dataclass(slots=True)
class _Block:
    """A thread block: the GPUs that it sends to and receives from, or -1 for none."""

    send: int
    receive: int
    number: int
    steps: list[_Step] = field(default_factory=list[_Step])


class _Gpu:
    """A GPU: its thread blocks, and the steps that wrote each shard."""

    def __init__(self) -> None:
        self.blocks: dict[tuple[int, int], _Block] = {}
        self.written: dict[int, _Step] = {}
        self.received: dict[tuple[int, int], _Step] = {}

    def step(
        self, ends: tuple[int, int], kind: str, places: tuple[tuple[str, int], ...], *waits: _Step
    ) -> _Step:
        """Add a step to the thread block of a connection."""
        block = self.blocks.setdefault(ends, _Block(*ends, len(self.blocks)))
        others = list({id(one): one for one in waits if one.block is not block}.values())
        one = _Step(kind, places[0], places[-1], others, block)
        block.steps.append(one)
        return one


def msccl_xml(schedule: Schedule) -> str:
    """Return a schedule as an MSCCL algorithm in XML.

    GPUs are numbered by position in the group, in ascending order of NPUs.

    Parameters
    ----------
    schedule : Schedule
        Schedule of one group, built without lockstep, with shards of equal size.

    Raises
    ------
    InputError
        There are several groups or stages, messages join or fork in the network, or shards differ
        in size.
    """
    if schedule.stages:
        message = "must be one of a single stage, to export MSCCL"
        raise InputError("algorithm", "", f"{message}, not {schedule.algorithm}")
    [part, *others] = schedule.parts
    if others or any(one.joins for one in schedule.transfers):
        message = "must be one with messages between two NPUs each, to export its schedule"
        raise InputError("algorithm", "", f"{message}, not {schedule.algorithm}")
    sizes = {round(one.payload_bytes / len(one.shards), 6) for one in schedule.transfers}
    if len(sizes) > 1:
        message = "must be one that cuts the data into equal parts, to export MSCCL"
        raise InputError("algorithm", "", f"{message}, not {schedule.algorithm}")
    gpu_of = {npu: number for number, npu in enumerate(sorted(part.members))}
    buffers = _buffers(schedule, gpu_of)
    gpus = [_Gpu() for _ in gpu_of]
    if schedule.pattern == "all_to_all":
        share = len(part.owners) // (len(gpus) * (len(gpus) - 1))
        for number, gpu in enumerate(gpus):
            for place in range(number * share, (number + 1) * share):
                gpu.step((-1, -1), "cpy", (("i", place), ("o", place)))
    for number, one in enumerate(schedule.transfers):
        _send(schedule, number, one, gpu_of, gpus, buffers)
    return _text(schedule, gpus, buffers)


def _send(
    schedule: Schedule,
    number: int,
    one: Transfer,
    gpu_of: Mapping[int, int],
    gpus: list[_Gpu],
    buffers: Mapping[tuple[int, int], tuple[str, int]],
) -> None:
    """Add the steps of a message, one per shard."""
    source, target = gpu_of[one.sources[0]], gpu_of[one.targets[0]]
    kind = "rrc" if one.action == "reduce" else "r"
    for shard in one.shards:
        brought = (gpus[source].received.get((before, shard)) for before in one.after)
        waits = [step for step in brought if step]
        there = buffers[source, shard]
        gpus[source].step((target, -1), "s", (there,), *waits)
        here = buffers[target, shard]
        # Two reductions of a shard must not overlap, so each waits for the previous one.
        before = gpus[target].written.get(shard)
        waits = [before] if before else []
        received = gpus[target].step((-1, source), kind, (here,), *waits)
        gpus[target].written[shard] = gpus[target].received[number, shard] = received


def _buffers(
    schedule: Schedule, gpu_of: Mapping[int, int]
) -> dict[tuple[int, int], tuple[str, int]]:
    """Return the buffer and the offset of each shard at each GPU."""
    part = schedule.parts[0]
    shards = sorted(part.owners, key=lambda one: (gpu_of[part.owners[one]], one))
    found: dict[tuple[int, int], tuple[str, int]] = {}
    if schedule.pattern != "all_to_all":
        name = "o" if schedule.pattern in _OUTPUT else "i"
        for place, shard in enumerate(shards):
            found.update({(gpu, shard): (name, place) for gpu in gpu_of.values()})
        return found
    pairs: dict[tuple[int, int], int] = {}
    share = len(shards) // (len(gpu_of) * (len(gpu_of) - 1))
    for place, shard in enumerate(shards):
        ends = gpu_of[part.owners[shard]], gpu_of[part.receivers[shard]]
        which = pairs[ends] = pairs.get(ends, -1) + 1
        found.update({(gpu, shard): ("s", place) for gpu in gpu_of.values()})
        found[ends[0], shard] = "i", ends[1] * share + which
        found[ends[1], shard] = "o", ends[0] * share + which
    return found


def _text(
    schedule: Schedule,
    gpus: list[_Gpu],
    buffers: Mapping[tuple[int, int], tuple[str, int]],
) -> str:
    sizes = {
        name: 1 + max((place for one, place in buffers.values() if one == name), default=-1)
        for name in ("i", "o", "s")
    }
    chunks = max(sizes["i"], sizes["o"])
    root = ElementTree.Element(
        "algo",
        name=f"{schedule.algorithm} {schedule.pattern}",
        nchunksperloop=str(chunks),
        nchannels="1",
        proto="Simple",
        ngpus=str(len(gpus)),
        coll=_COLLECTIVES[schedule.pattern],
        inplace=str(int(schedule.pattern != "all_to_all")),
    )
    for number, gpu in enumerate(gpus):
        counts = {f"{name}_chunks": str(count) for name, count in sizes.items()}
        element = ElementTree.SubElement(root, "gpu", {"id": str(number), **counts})
        _add_blocks(element, gpu)
    ElementTree.indent(root, " ")
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def _add_blocks(parent: ElementTree.Element, gpu: _Gpu) -> None:
    """Add the thread blocks of a GPU."""
    waited = set[int]()
    for block in gpu.blocks.values():
        place = 0
        for step in block.steps:
            step.place = place + max(0, len(step.waits) - 1)
            place = step.place + 1
            waited.update(map(id, step.waits))
    for block in gpu.blocks.values():
        ends = {"send": str(block.send), "recv": str(block.receive)}
        element = ElementTree.SubElement(
            parent, "tb", {"id": str(block.number), **ends, "chan": "0"}
        )
        for step in block.steps:
            for early, wait in enumerate(step.waits[1:]):
                _add(element, step.place - len(step.waits) + 1 + early, "nop", ("i", -1), wait)
            wait = step.waits[0] if step.waits else None
            _add(element, step.place, step.kind, step.source, wait, step.target, id(step) in waited)


def _add(
    parent: ElementTree.Element,
    place: int,
    kind: str,
    source: tuple[str, int],
    wait: _Step | None,
    target: tuple[str, int] | None = None,
    waited: bool = False,
) -> None:
    to = target or source
    values: dict[str, object] = {
        "s": place,
        "type": kind,
        "srcbuf": source[0],
        "srcoff": source[1],
        "dstbuf": to[0],
        "dstoff": to[1],
        "cnt": 0 if kind == "nop" else 1,
        "depid": wait.block.number if wait else -1,
        "deps": wait.place if wait else -1,
        "hasdep": int(waited),
    }
    ElementTree.SubElement(parent, "step", {name: str(value) for name, value in values.items()})
