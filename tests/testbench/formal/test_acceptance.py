"""Every state of a small fabric is searched: from each of them all descriptors can end."""

from collections.abc import Sequence

import pytest

from testbench.formal.acceptance import RULES, Descriptor, Fabric, exchange, ring, search

Work = Sequence[Sequence[Descriptor]]
pytestmark = pytest.mark.slow


def crossing(ahead: int, **sizes: int) -> tuple[Fabric, Work]:
    """Return 0 -> 2 -> 4 and 1 -> 3 -> 5, where 2 and 5 share a link, and 3 and 4.

    Endpoints 2 and 3 send two flits while they receive two, and receive some more behind that.
    """
    paths = {(0, 2): (0,), (2, 4): (1,), (1, 3): (1,), (3, 5): (0,)}
    work = [
        *([exchange(to=to, flits=2 + ahead)] for to in (2, 3)),
        *(
            [exchange(to, source, 2), exchange(source=source, flits=ahead)]
            for to, source in ((4, 0), (5, 1))
        ),
        *([exchange(source=source, flits=2)] for source in (2, 3)),
    ]
    return Fabric(paths, late=(4, 5), **sizes), work


def one_ring(members: int, message: int, links: Sequence[int]) -> tuple[Fabric, Work]:
    """Return a reduce-scatter of two chunks; link ``links[k]`` is on the path to member k."""
    paths = {((k - 1) % members, k): (links[k],) for k in range(members)}
    work = [
        [ring((k + 1) % members, (k - 1) % members, members - 1, message, 2)]
        for k in range(members)
    ]
    return Fabric(paths, link_depth=1), work


CASES = {
    "exchanges that cross": crossing(3, link_depth=1),
    "a ring on one link": one_ring(3, 3, (0, 0, 0)),
    "a ring on two links": one_ring(3, 3, (0, 1, 0)),
}
LARGE = {
    "exchanges on longer queues": crossing(3, link_depth=2),
    "exchanges with two packets out": crossing(3, link_depth=1, window=2),
    "a ring of longer messages": one_ring(3, 4, (0, 0, 0)),
    "a ring of four": one_ring(4, 2, (0, 0, 0, 0)),
}


@pytest.mark.parametrize("case", CASES)
def test_all_descriptors_end_from_every_state(case: str) -> None:
    found = search(*CASES[case])
    assert found.reached > 3_000
    assert found.stuck == 0


@pytest.mark.parametrize("case", CASES)
def test_flits_that_hold_the_link_for_good_end_in_a_deadlock(case: str) -> None:
    assert search(*CASES[case], rule="endless").stuck > 0


@pytest.mark.long
@pytest.mark.parametrize("case", LARGE)
def test_larger_cases(case: str) -> None:
    assert search(*LARGE[case]).stuck == 0
    assert search(*LARGE[case], rule="endless").stuck > 0


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("window", [1, 2])
@pytest.mark.parametrize("case", CASES)
def test_steps_done_at_once_leave_the_result_as_it_is(case: str, window: int, rule: str) -> None:
    fabric, work = CASES[case]
    some, every = (
        search(fabric._replace(window=window), work, rule, reduced=one) for one in (True, False)
    )
    assert some.reached < every.reached
    assert (some.stuck > 0) == (every.stuck > 0)


def test_rule_must_be_known() -> None:
    with pytest.raises(ValueError, match="must be one of bounded, endless"):
        search(*CASES["a ring on one link"], "bonded")


def test_flits_of_an_endpoint_must_fit_in_a_byte() -> None:
    with pytest.raises(ValueError, match="must send at most 255 flits"):
        search(Fabric({(0, 1): (0,)}), [[exchange(1, flits=256)], [exchange(source=0, flits=256)]])
