"""Tests of fred_hw.switch.path_claims, against the links that paths take."""

import random
import re
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import pytest

from fred_hw.compiler.shape import split_count
from fred_hw.switch.path_claims import PathClaims
from tests.fred_hw.simulation import known, simulate, trace
from tests.fred_hw.switch.test_unicast_router import check


def links(ports: int, source: int, end: int) -> Iterator[tuple[int, int, int]]:
    for level in range(1, split_count(ports) + 1):
        yield level, source % (1 << level), end >> level


def clash(ports: int, pairs: dict[int, int]) -> bool:
    """Return whether two paths have a link in common."""
    used = [set(links(ports, *pair)) for pair in pairs.items()]
    return any(one & other for one, other in combinations(used, 2))


def wants(pairs: dict[int, int], name: str = "wants") -> dict[str, int]:
    return {f"{name}[{source}]": 1 << end for source, end in pairs.items()}


def test_throughput_is_all_paths_without_a_common_link_at_once() -> None:
    pairs = {k: (k + 3) % 8 for k in range(8)}
    assert trace(PathClaims(ports=8), [wants(pairs)], ["granted"]) == [255]


def test_a_path_that_is_held_keeps_its_links() -> None:
    cycles = [wants({6: 2, 1: 6}) | wants({0: 3}, "holds")] * 3
    assert trace(PathClaims(ports=8), cycles, ["granted"]) == [1 << 1] * 3


def test_one_that_is_blocked_is_the_first_of_the_next() -> None:
    cycles = [wants({4: 3, 6: 2})] * 3 + [wants({0: 3}, "holds") | wants({6: 2, 4: 4})]
    found = trace(PathClaims(ports=8), [*cycles, wants({4: 3, 6: 2})], ["granted"])
    # In turns, until one is gone; also against one that comes before it by its number.
    assert found[:3] == [1 << 4, 1 << 6, 1 << 4]
    assert found[4] == 1 << 6


def test_three_that_share_a_link_take_it_in_turns() -> None:
    """The one that was first last time is the last to be so again."""
    pairs = {0: 0, 4: 1, 8: 2}
    assert all(clash(12, {a: pairs[a], b: pairs[b]}) for a, b in combinations(pairs, 2))
    found = trace(PathClaims(ports=12), [wants(pairs)] * 9, ["granted"])
    assert found == [1 << 0, 1 << 4, 1 << 8] * 3


@pytest.mark.slow_after_first
@pytest.mark.parametrize("ports", [2, 3, 5, 8, 12])
def test_random_wants_have_paths_and_all_are_granted_in_the_end(ports: int) -> None:
    rng, unit = random.Random(ports), known(PathClaims(ports=ports))
    held: dict[int, int] = {}
    waiting: dict[int, int] = {}
    sets: list[list[int | None]] = []
    age = dict.fromkeys(range(ports), 0)

    async def bench(ctx: Any) -> None:
        for _ in range(300):
            for k in range(ports):
                free = set(range(ports)) - {*held.values(), *waiting.values()}
                if k not in held and k not in waiting and free and rng.random() < 0.7:
                    waiting[k] = rng.choice(sorted(free))
                ctx.set(unit.wants[k], 1 << waiting[k] if k in waiting else 0)
                ctx.set(unit.holds[k], 1 << held[k] if k in held else 0)
            granted = ctx.get(unit.granted)
            new = {k: end for k, end in waiting.items() if granted >> k & 1}
            assert granted == sum(1 << k for k in new)
            assert new or held or not waiting
            assert not clash(ports, held | new)
            held.update(new)
            sets.append([held.get(k) for k in range(ports)])
            for k in range(ports):
                waiting.pop(k, None) if k in new else None
                age[k] = age[k] + 1 if k in waiting else 0
                assert age[k] < 8 * ports
                if k in held and rng.random() < 0.4:
                    del held[k]
            await ctx.tick()

    simulate(unit, bench)
    check(ports, 2, sets[::20])


def test_reset_makes_nobody_the_first() -> None:
    pairs = wants({4: 3, 6: 2})
    found = trace(PathClaims(ports=8), [pairs, {"rst": 1} | pairs, pairs], ["granted"])
    assert found == [1 << 4, 1 << 6, 1 << 4]


@pytest.mark.parametrize(
    ("ports", "text"), [(1, "2 or more, not 1"), (True, "an integer, not True")]
)
def test_wrong_sizes_are_refused(ports: int, text: str) -> None:
    with pytest.raises(
        (TypeError, ValueError), match=f"^{re.escape(f'PathClaims ports must be {text}')}$"
    ):
        PathClaims(ports=ports)
