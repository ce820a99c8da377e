"""Every state of a small fabric is searched: from each of them all descriptors can end."""

import random
from collections.abc import Iterator, Sequence
from itertools import product

import pytest

from testbench.formal.acceptance import Descriptor, Fabric, exchange, ring, stuck_states

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
    reached, stuck = stuck_states(*CASES[case])
    assert reached > 30_000
    assert stuck == []


@pytest.mark.parametrize("case", CASES)
def test_flits_that_hold_the_link_for_good_end_in_a_deadlock(case: str) -> None:
    assert stuck_states(*CASES[case], rule="endless")[1] != []


@pytest.mark.long
@pytest.mark.parametrize("case", LARGE)
def test_larger_cases(case: str) -> None:
    assert stuck_states(*LARGE[case])[1] == []
    assert stuck_states(*LARGE[case], rule="endless")[1] != []


def can_end(work: Work) -> bool:
    """Return whether all ends where a flit goes from one descriptor under way to another."""
    now = [0] * len(work)
    left = {(k, n, way): 3 for k in range(len(work)) for n in range(2) for way in "sr"}

    def wants(end: int, way: str, peer: int) -> bool:
        if now[end] == len(work[end]) or not left[end, now[end], way]:
            return False
        job = work[end][now[end]]
        return peer == (job.to if way == "s" else job.source)

    moved = True
    while moved:
        moved = False
        for end, other in product(range(len(work)), repeat=2):
            while wants(end, "s", other) and wants(other, "r", end):
                left[end, now[end], "s"] -= 1
                left[other, now[other], "r"] -= 1
                moved = True
        for end, jobs in enumerate(work):
            if now[end] < len(jobs):
                job = jobs[now[end]]
                paths = [way for way, peer in (("s", job.to), ("r", job.source)) if peer >= 0]
                if not any(left[end, now[end], way] for way in paths):
                    now[end] += 1
                    moved = True
    return all(done == len(jobs) for done, jobs in zip(now, work, strict=True))


def queues() -> Iterator[Work]:
    """Yield all queues of up to two descriptors of four endpoints, two on each of two switches."""
    options = []
    for end in range(4):
        others = (-1, 2, 3) if end < 2 else (-1, 0, 1)
        ones = [exchange(a, b, 3) for a, b in product(others, others) if (a, b) != (-1, -1)]
        options.append([(), *((one,) for one in ones), *product(ones, ones)])

    def count(end: int, jobs: Sequence[Descriptor]) -> tuple[int, ...]:
        others = (2, 3) if end < 2 else (0, 1)
        return tuple(
            sum(peer == other for peer in peers)
            for peers in ([job.to for job in jobs], [job.source for job in jobs])
            for other in others
        )

    wanted: dict[tuple[int, ...], list[tuple[Sequence[Descriptor], ...]]] = {}
    for pair in product(options[2], options[3]):
        (s0, s1, r0, r1), (t0, t1, q0, q1) = count(2, pair[0]), count(3, pair[1])
        wanted.setdefault((r0, q0, s0, t0, r1, q1, s1, t1), []).append(pair)
    for pair in product(options[0], options[1]):
        for other in wanted.get((*count(0, pair[0]), *count(1, pair[1])), []):
            yield (*pair, *other)


@pytest.mark.long
def test_queues_of_two_descriptors_end_if_they_can_without_shared_links() -> None:
    """Of four endpoints, all of which may be late, which share a link in each direction."""
    paths = {(a, b): (int(b > 1),) for a, b in product(range(4), repeat=2) if (a < 2) != (b < 2)}
    fabric = Fabric(paths, link_depth=1, late=range(4))
    every = [work for work in queues() if any(work) and can_end(work)]
    for work in random.Random(1).sample(every, 60):
        assert stuck_states(fabric, work)[1] == [], work
