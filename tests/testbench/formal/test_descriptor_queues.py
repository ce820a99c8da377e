"""Short queues of descriptors on two L1 switches and one L2 switch."""

import json
import random

import pytest

from testbench.evidence.summary import DEADLOCKS, read
from testbench.formal.acceptance import RULES, search
from testbench.formal.descriptor_queues import (
    KINDS,
    Queues,
    Row,
    can_end,
    classes,
    fabric,
    is_expected,
    main,
    row_of,
    work_of,
)

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


@pytest.mark.parametrize("rule", RULES)
def test_row_counts_all_queues_of_a_class(rule: str) -> None:
    alone = ((((0, 1),),), (((0, 1),),), (), ())
    found = row_of(Row("messages", 1, rule), {alone: 4, CROSSING: 8}, processes=1)
    assert (found["classes"], found["queues"]) == (2, 12)
    assert found["stuck"] == (8 if rule == "endless" else 0)
    assert found["first stuck"] == (CROSSING if rule == "endless" else None)
    assert found["most states"] == search(fabric(window=1), work_of(CROSSING), rule).reached
    assert found["states"] > found["most states"]
    assert is_expected([found])
    assert not is_expected([found | {"stuck": 1 - bool(found["stuck"])}])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("--processes 0", "--processes: must be an integer of 1 or more, not '0'"),
        ("--processes two", "--processes: must be an integer of 1 or more, not 'two'"),
        ("--window 3", "unrecognized arguments: --window 3"),
    ],
)
def test_wrong_arguments_are_refused_before_the_search(
    given: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(given.split())
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err


def test_record_is_of_these_queues() -> None:
    rows = read()[DEADLOCKS]["rows"]
    assert is_expected(rows)
    counts = {kind: classes(kind) for kind in KINDS}
    for row in rows:
        own = counts[row["kind"]]
        assert (row["classes"], row["queues"]) == (len(own), own.total())
        if row["stuck"]:
            [first] = [
                queues for queues in own if json.loads(json.dumps(queues)) == row["first stuck"]
            ]
            assert search(fabric(window=row["window"]), work_of(first), row["rule"]).stuck > 0
