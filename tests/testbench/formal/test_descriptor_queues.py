"""Short queues of descriptors on two L1 switches and one L2 switch."""

import json
import random

import pytest

from testbench.evidence.summary import DEADLOCKS, read
from testbench.formal.acceptance import RULES, search
from testbench.formal.descriptor_queues import KINDS, Queues, can_end, classes, fabric, work_of

pytestmark = pytest.mark.slow


CROSSING = (
    (((0, 2),), ((0, 2), (2, 0))),
    (((1, 3), (3, 1)), ((3, 1),)),
    (((0, 2), (2, 0)), ((0, 2),)),
    (((3, 1),), ((1, 3), (3, 1))),
)
"""0 and 2 work together, as do 1 and 3. Each of 1 and 2 receives two messages and sends one first.

That one may wait behind flits of the second message to the other one of 1 and 2.
"""


@pytest.fixture(scope="module", params=KINDS)
def drawn(request: pytest.FixtureRequest) -> list[Queues]:
    return random.Random(1).sample(sorted(classes(request.param)), 40)


def test_of_drawn_queues_all_descriptors_can_end_from_every_state(drawn: list[Queues]) -> None:
    for queues in drawn:
        assert search(fabric(window=1), work_of(queues)).stuck == 0, queues


def test_steps_done_at_once_leave_the_result_as_it_is(drawn: list[Queues]) -> None:
    """Also of queues that cannot end, as an endpoint has one descriptor fewer."""
    for queues in drawn[:3]:
        for some in (queues, (queues[0][1:], *queues[1:])):
            few, every = (search(fabric(1, 1), work_of(some), reduced=one) for one in (True, False))
            assert few.reached < every.reached
            assert (few.stuck > 0) == (every.stuck > 0) == (not can_end(some))


@pytest.mark.parametrize("window", [1, 2])
def test_crossing_messages_stop_only_if_flits_may_hold_links_forever(window: int) -> None:
    assert can_end(CROSSING)
    bounded, endless = (search(fabric(window=window), work_of(CROSSING), rule) for rule in RULES)
    assert bounded.stuck == 0
    assert endless.stuck > 0


def test_record_is_of_these_queues() -> None:
    rows = read()[DEADLOCKS]["rows"]
    counts = {kind: classes(kind) for kind in KINDS}
    for row in rows:
        own = counts[row["kind"]]
        assert (row["classes"], row["queues"]) == (len(own), own.total())
        assert (row["stuck"] > 0) == (row["rule"] == "endless")
        if row["stuck"]:
            [first] = [
                queues for queues in own if json.loads(json.dumps(queues)) == row["first stuck"]
            ]
            assert search(fabric(window=row["window"]), work_of(first), row["rule"]).stuck > 0
