"""Contract of fred_hw.link.session, cycle by cycle."""

from typing import Any

from fred_hw.link.session import LinkSession
from testbench.models.endpoint import fitting
from tests.fred_hw.simulation import trace
from tests.fred_hw.specs import LINK

TIMEOUT = LINK.protocol.timeout_cycles
SAID = [
    f"link.handshake.payload.{name}"
    for name in ("session_id", "peer_session_id", "peer_known", "up")
]
MINE, THEIRS = 5, 77


def handshake(session_id: int = THEIRS, **fields: int) -> dict[str, int]:
    """Return a handshake that comes."""
    said = {"session_id": session_id, **fitting(LINK), **fields}
    return {"link.came.valid": 1} | {f"link.came.payload.{n}": v for n, v in said.items()}


def run(cycles: list[dict[str, int]], watch: list[str], **rest: int) -> list[Any]:
    rest = {"session_id": MINE} | rest
    always = {"link.empty": 1, "link.handshake.ready": 1}
    return trace(LinkSession(spec=LINK), [always | one for one in cycles], watch, **rest)


def handshakes(cycles: list[dict[str, int]]) -> list[tuple[int, ...]]:
    """Return cycle, session ID, what was heard, whether, and ``up`` of each handshake that goes."""
    seen = run(cycles, ["link.handshake.valid", *SAID])
    return [(cycle, *word[1:]) for cycle, word in enumerate(seen) if word[0]]


HEARD = handshake(peer_known=1, peer_session_id=MINE)


def test_an_end_says_handshake_after_reset_and_two_cycles_more_than_a_timeout_behind_each() -> None:
    cycles = [cycle for cycle, *_ in handshakes([{}] * (2 * TIMEOUT + 6))]
    assert cycles == [1, 1 + (TIMEOUT + 2), 1 + 2 * (TIMEOUT + 2)]
    assert handshakes([{}] * 3)[0][1:] == (MINE, 0, 0, 0)


def test_no_handshake_is_repeated_once_the_link_is_up() -> None:
    up = [{}, handshake(), {}, {}, {}, HEARD]
    assert [cycle for cycle, *_ in handshakes([*up, *[{}] * (2 * TIMEOUT + 6)])] == [1, 5, 7]


def test_a_handshake_of_a_new_session_id_is_answered_when_all_packets_have_left() -> None:
    for left in (0, 4):
        busy = [{"link.empty": 0}] * left
        said = handshakes([{}, {}, handshake(), *busy, *[{}] * 6])
        assert said[1:] == [(6 + max(0, left - 1), MINE, THEIRS, 1, 0)]


def test_latency_from_what_the_other_end_has_heard_to_up_is_a_cycle() -> None:
    seen = run([{}, handshake(), {}, {}, {}, HEARD, {}, {}], ["up", "link.down", "link.closing"])
    assert seen[5:] == [(0, 1, 1), (1, 0, 0), (1, 0, 0)]
    assert seen[1] == (0, 1, 0)


def test_another_session_id_of_either_end_is_not_the_one_that_was_heard() -> None:
    up = [{}, handshake(), {}, {}, {}]
    assert not any(run([*up, handshake(peer_known=1, peer_session_id=MINE + 1), {}, {}], ["up"]))
    seen = run([*up, HEARD, {}, handshake(THEIRS + 1), {}, {}, {}], ["up", "link.begins"])
    assert [one[0] for one in seen[6:]] == [1, 1, 0, 0, 0]
    assert seen[-1] == (0, 1)


def test_a_handshake_that_comes_again_changes_nothing_but_is_answered() -> None:
    cycles = [
        {},
        handshake(),
        {},
        {},
        {},
        HEARD,
        HEARD,
        {},
        {},
        {},
        handshake(peer_known=1, peer_session_id=MINE, up=1),
    ]
    seen = run([*cycles, {}, {}], ["up", "link.begins"])
    assert set(seen[6:]) == {(1, 0)}
    assert [one[-1] for one in handshakes([*cycles, {}, {}, {}])][-1] == 1


def test_an_end_that_does_not_fit_is_refused_and_never_up() -> None:
    strange = HEARD | {"link.came.payload.digest": LINK.digest ^ 1}
    seen = run([{}, handshake(), {}, {}, {}, strange, {}, strange, {}], ["link.refused", "up"])
    assert [one[0] for one in seen] == [0, 0, 0, 0, 0, 1, 0, 1, 0]
    assert not any(one[1] for one in seen)
    # One that was up goes down.
    seen = run([{}, handshake(), {}, {}, {}, HEARD, {}, strange, {}], ["up"])
    assert seen[6:] == [1, 1, 0]


def test_throughput_is_a_handshake_per_cycle() -> None:
    strange = HEARD | {"link.came.payload.digest": LINK.digest ^ 1}
    seen = run([{}, handshake(), {}, {}, {}, strange, strange, strange, {}], ["link.refused"])
    assert seen[5:] == [1, 1, 1, 0]


def test_a_handshake_that_is_offered_stays_as_it_is() -> None:
    cycles = [{}, handshake(), {}, {}, {}, HEARD, {}, {}]
    seen = run(
        [one | {"link.handshake.ready": 0} for one in cycles], ["link.handshake.valid", *SAID]
    )
    assert seen[1:] == [(1, MINE, 0, 0, 0)] * 7


def test_reset_forgets_the_other_end() -> None:
    cycles = [{}, handshake(), {}, {}, {}, HEARD, {}, {"rst": 1}, {}]
    assert run(cycles, ["up", "link.closing"])[-1] == (0, 0)
