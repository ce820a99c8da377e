"""Contract of fred_hw.switch.message_queue, cycle by cycle."""

import random
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from amaranth.lib import data

from fred_hw.link.message import message_layout
from fred_hw.protocol import Kind
from fred_hw.switch.message_queue import MessageQueue
from tests.fred_hw.simulation import trace
from tests.fred_hw.specs import LINK

QUEUED = 8
"""Messages in a queue: an ack and a nack per urgency class, and two."""

FIELDS = ("kind", "phase", "sequence", "generation")
Said = tuple[int, int, int, int]


def says(said: Said) -> dict[str, int]:
    values = dict(zip(FIELDS, said, strict=True))
    return {"i.valid": 1} | {f"i.payload.{name}": value for name, value in values.items()}


def run(inputs: Sequence[Mapping[str, int]]) -> list[Any]:
    """Return ``lost`` and what is offered, or None, of each cycle."""
    watch = ["lost", "o.valid", *(f"o.payload.{name}" for name in FIELDS)]
    seen = trace(MessageQueue(layout=message_layout(LINK)), inputs, watch)
    return [(lost, tuple(said) if valid else None) for lost, valid, *said in seen]


def taken(queued: Sequence[Said]) -> list[Said | None]:
    """Return what comes out of a queue that is only read when all has come."""
    inputs = [*map(says, queued), {}, *[{"o.ready": 1}] * (QUEUED + 1)]
    return [said for _, said in run(inputs)[len(queued) + 1 :]]


def test_latency_is_a_cycle_and_throughput_a_message_per_cycle() -> None:
    said = [(int(Kind.ACK), k % 4, k, 0) for k in range(20)]
    seen = run([says(one) | {"o.ready": 1} for one in said] + [{"o.ready": 1}])
    assert seen == [(0, None), *((0, one) for one in said)]


def test_the_newest_number_takes_the_place_of_one_that_waits() -> None:
    ack, nack = int(Kind.ACK), int(Kind.NACK)
    first, old, other = (ack, 0, 1, 0), (ack, 1, 2, 0), (nack, 1, 2, 0)
    assert taken([first, old, other, (ack, 1, 5, 0)])[:4] == [first, (ack, 1, 5, 0), other, None]


@pytest.mark.parametrize("field", ["kind", "phase", "generation"])
def test_what_is_said_of_something_else_stays(field: str) -> None:
    first, old = (1, 0, 0, 0), (1, 2, 3, 4)
    values = dict(zip(FIELDS, old, strict=True))
    new = tuple((values | {field: values[field] ^ 3}).values())
    assert taken([first, old, new])[:4] == [first, old, new, None]


def test_what_is_offered_stays_until_it_is_taken() -> None:
    old, new = (1, 2, 3, 0), (1, 2, 4, 0)
    seen = run([says(old), says(new), {}, {"o.ready": 1}, {"o.ready": 1}, {}])
    assert [said for _, said in seen] == [None, old, old, old, new, None]


def test_only_a_message_beyond_all_places_is_lost_and_told() -> None:
    said: list[Said] = [(1, k % 4, 0, k // 4) for k in range(QUEUED + 1)]
    seen = run([*map(says, said), {}, {}, {}])
    assert [lost for lost, _ in seen] == [*[0] * (QUEUED + 2), 1, 0]
    assert taken(said) == [*said[:-1], None]
    # There is space again if one goes in the cycle behind it.
    seen = run([*map(says, said), {"o.ready": 1}, {}, {}])
    assert not any(lost for lost, _ in seen)


@pytest.mark.parametrize("seed", range(2))
def test_of_each_flow_the_newest_comes_last_and_none_is_lost(seed: int) -> None:
    rng, inputs, newest = random.Random(seed), [], {}
    for number in range(400):
        # As many as an NPU says: an ack and a nack of three flows.
        about = rng.choice([Kind.ACK, Kind.NACK]), rng.randrange(3)
        come = rng.random() < 0.8
        newest |= {about: number % 32} if come else {}
        said = says((int(about[0]), about[1], number % 32, 0)) if come else {}
        inputs.append(said | {"o.ready": int(rng.random() < 0.2)})
    seen = run([*inputs, *[{"o.ready": 1}] * (QUEUED + 1)])
    assert not any(lost for lost, _ in seen)
    last = {}
    for cycle, (_, said) in enumerate(seen):
        if said and (cycle >= len(inputs) or inputs[cycle]["o.ready"]):
            last[Kind(said[0]), said[1]] = said[2]
    assert last == newest and len(newest) == 6


def test_a_layout_without_a_number_is_refused() -> None:
    with pytest.raises(
        ValueError, match=r"^MessageQueue layout must have a field named sequence, not "
    ):
        MessageQueue(layout=data.StructLayout({"kind": 3}))


def test_reset_forgets_all_messages() -> None:
    seen = run([says((1, 1, 1, 0)), {"rst": 1}, {}, {}])
    assert [said for _, said in seen] == [None, (1, 1, 1, 0), None, None]
