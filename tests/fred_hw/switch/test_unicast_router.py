"""Tests of fred_hw.switch.unicast_router, against the golden model of the interconnect."""

import random
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import permutations, product

import numpy as np
import pytest

from fred_hw.compiler.configuration import Configuration
from fred_hw.spec import SwitchSpec
from fred_hw.switch.unicast_router import UnicastRouter
from testbench.models.golden import deliver
from tests.fred_hw.simulation import trace

Ends = Sequence[int | None]
"""Per source its destination."""


@cache
def heard(word: int, ports: int, middle_switches: int) -> list[int | None]:
    """Return the source that each destination hears under a word of the interconnect."""
    spec = SwitchSpec(ports=ports, middle_switches=middle_switches, lanes=1, format="int8")
    configuration = Configuration.unpack(word, ports, middle_switches)
    arrived = deliver(spec, configuration, [np.array([k], "u1") for k in range(ports)])
    return [None if flit is None else int(flit[0]) for flit in arrived]


def words(ports: int, middle_switches: int, sets: Iterable[Ends]) -> list[int]:
    """Return the words of sets of unicasts."""
    cycles = [
        {f"destination_of[{k}]": 0 if end is None else 1 << end for k, end in enumerate(ends)}
        for ends in sets
    ]
    return trace(
        UnicastRouter(ports=ports, middle_switches=middle_switches), cycles, ["configuration"]
    )


def check(ports: int, middle_switches: int, sets: Sequence[Ends]) -> None:
    for ends, word in zip(sets, words(ports, middle_switches, sets), strict=True):
        want = [ends.index(port) if port in ends else None for port in range(ports)]
        assert heard(word, ports, middle_switches) == want, ends


def some(rng: random.Random, ports: int, share: float) -> list[int | None]:
    """Return random unicasts of a share of the ports."""
    ends = rng.sample(range(ports), ports)
    return [end if rng.random() < share else None for end in ends]


def partial(ports: int) -> Iterator[tuple[int | None, ...]]:
    """Yield every set of unicasts."""
    for order in permutations(range(ports)):
        for kept in product([False, True], repeat=ports):
            yield tuple(end if keep else None for end, keep in zip(order, kept, strict=True))


@pytest.mark.parametrize("middle_switches", [3, 4])
@pytest.mark.parametrize("ports", [2, 3, 4])
def test_every_set_of_unicasts_has_paths(ports: int, middle_switches: int) -> None:
    check(ports, middle_switches, sorted(set(partial(ports)), key=str))


@pytest.mark.slow_after_first
@pytest.mark.parametrize("middle_switches", [3, 5])
@pytest.mark.parametrize("ports", [5, 8, 11, 12])
def test_throughput_is_all_unicasts_of_random_sets_at_once(
    ports: int, middle_switches: int
) -> None:
    rng = random.Random(100 * ports + middle_switches)
    check(ports, middle_switches, [some(rng, ports, share) for share in (1, 1, 0.9, 0.5) * 8])


@pytest.mark.parametrize("ports", [2, 5, 8, 12])
def test_with_two_subswitches_shifts_have_paths(ports: int) -> None:
    even = ports // 2 * 2 if ports > 2 else 2
    size = 1 << (even.bit_length() - 1)
    shifts = [
        [(k + turn) % size if k < size else None for k in range(ports)] for turn in range(size)
    ]
    check(ports, 2, shifts)


def test_micro_switches_without_a_unicast_are_idle() -> None:
    assert words(5, 3, [[None] * 5]) == [0]
    (word,) = words(4, 3, [[3, None, None, None]])
    # Even to odd: by subswitch 1, whose code is 2 at source 0 and destination 3.
    width = 2
    middle_switches = [0, 1 << 2, 0]  # from its input 0 to its output 1
    inner = sum(code << 4 * k for k, code in enumerate(middle_switches))
    assert word == 2 | inner << 4 * width | 2 << 4 * width + 12 + 3 * width


@pytest.mark.parametrize(
    ("ports", "middle_switches", "message"),
    [
        (1, 3, "UnicastRouter ports must be 2 or more, not 1"),
        (4, 1, "UnicastRouter middle_switches must be 2 or more, not 1"),
        (True, 3, "UnicastRouter ports must be an integer, not True"),
    ],
)
def test_wrong_sizes_are_refused(ports: int, middle_switches: int, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=f"^{re.escape(message)}$"):
        UnicastRouter(ports=ports, middle_switches=middle_switches)
