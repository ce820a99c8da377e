"""Tests of perfmodel.collectives.select."""

import re
from pathlib import Path

import pytest

from fred_hw.errors import InputError
from perfmodel.collectives.algorithm import ALGORITHMS
from perfmodel.collectives.schedule import PATTERNS
from perfmodel.collectives.select import LEAST_CHUNK_BYTES, MAX_CHUNKS, build_schedule, chunk_bytes
from perfmodel.topology.parse import parse_topology


@pytest.mark.parametrize(
    ("size_bytes", "piece"),
    [
        (1, 1),
        (LEAST_CHUNK_BYTES, LEAST_CHUNK_BYTES),
        (3.5 * LEAST_CHUNK_BYTES, LEAST_CHUNK_BYTES),
        (MAX_CHUNKS * LEAST_CHUNK_BYTES, LEAST_CHUNK_BYTES),
        (1e15, 1e15 / MAX_CHUNKS),
    ],
)
def test_chunk_rule(size_bytes: float, piece: float) -> None:
    assert chunk_bytes(size_bytes) == piece


@pytest.mark.parametrize(
    ("topology", "pattern", "groups", "algorithm"),
    [
        ("mesh:5x4", "all_reduce", [range(20)], "hierarchical 2D"),
        ("mesh:5x4", "all_reduce", [list(reversed(range(20)))], "hierarchical 2D"),
        ("mesh:5x4", "all_reduce", [range(19)], "ring"),
        ("mesh:5x4", "broadcast", [range(20)], "X-Y multicast tree"),
        ("fred-a", "all_reduce", [range(20)], "two-level ring"),
        ("fred-c", "all_gather", [[0, 1, 4, 5]], "two-level ring"),
        ("fred-c", "all_reduce", [[0, 1, 4]], "ring"),
        ("fred-c", "all_reduce", [[0, 1, 2, 3]], "ring"),
        ("fred-c", "all_reduce", [[0, 4, 8]], "ring"),
        ("fred-c", "all_reduce", [[0, 1, 4, 5], [2, 3]], "two-level ring and ring"),
        ("fred-a", "broadcast", [range(20)], "in-network multicast"),
        ("fred-b", "all_reduce", [range(20)], "in-network"),
        ("fred-d", "broadcast", [[3, 9]], "in-network multicast"),
        ("fred-d", "reduce", [range(20)], "in-network"),
        ("fred-a", "reduce", [range(20)], "chain"),
        ("mesh:5x4", "reduce", [range(20)], "chain"),
        ("mesh:5x4", "all_to_all", [range(20)], "direct"),
        ("fred-d", "all_to_all", [range(20)], "direct"),
    ],
)
def test_published_choice(
    topology: str, pattern: str, groups: list[list[int]], algorithm: str
) -> None:
    assert build_schedule(parse_topology(topology), pattern, groups, 1.0).algorithm == algorithm


@pytest.mark.parametrize(
    ("pattern", "groups", "message"),
    [
        ("gossip", [range(20)], f"pattern: must be one of {', '.join(PATTERNS)}, not 'gossip'"),
        ("all_reduce", [[3]], "group: must have 2 or more NPUs, not 1"),
        ("all_reduce", [[]], "group: must have 2 or more NPUs, not 0"),
        ("all_reduce", [], "group: must be given, not an empty list"),
        ("all_reduce", [[0, 20]], "group: must hold NPUs 0 to 19 of fred-d, not 20"),
        ("all_reduce", [[0, -1]], "group: must hold NPUs 0 to 19 of fred-d, not -1"),
        ("all_reduce", [[0, 1, 0]], "group: must hold each NPU once, not 0 twice"),
        ("all_reduce", [[0, 1], [1, 2]], "group: must hold each NPU once, not 1 twice"),
        ("broadcast", [[0, 1, 1]], "group: must hold each NPU once, not 1 twice"),
        ("broadcast", [[0, 1, 0]], "group: must hold each NPU once, not 0 twice"),
        ("broadcast", [[0, 1], [0, 2]], "group: must hold each NPU once, not 0 twice"),
        ("reduce", [[0, 2], [1, 2]], "group: must hold each NPU once, not 2 twice"),
    ],
)
def test_bad_request_is_refused(pattern: str, groups: list[list[int]], message: str) -> None:
    with pytest.raises(InputError, match=rf"^{re.escape(message)}$"):
        build_schedule(parse_topology("fred-d"), pattern, groups, 1.0)


@pytest.mark.parametrize("pattern", ["broadcast", "reduce"])
@pytest.mark.parametrize("topology", ["fred-a", "fred-d", "mesh:5x4"])
def test_a_root_may_be_a_member_of_another_group(topology: str, pattern: str) -> None:
    """As in a pipeline of three stages: NPU 8 receives from NPU 0 and sends to NPU 16."""
    one = parse_topology(topology)
    chain = build_schedule(one, pattern, [[0, 8, 9], [8, 16, 17]], 1.0)
    alone = [build_schedule(one, pattern, [group], 1.0) for group in ([0, 8, 9], [8, 16, 17])]
    assert [part.members for part in chain.parts] == [(0, 8, 9), (8, 16, 17)]
    assert len(chain.messages) == sum(len(part.messages) for part in alone)
    first = len(alone[0].messages)
    assert all(after >= first for item in chain.messages[first:] for after in item.after)


@pytest.mark.parametrize(
    ("topology", "pattern", "algorithm", "members", "message"),
    [
        (
            "fred-d",
            "all_reduce",
            "gossip",
            20,
            (
                f"algorithm: must be one of the {len(ALGORITHMS) + 2} names that "
                "'fred collective --help' lists, not 'gossip'"
            ),
        ),
        (
            "fred-d",
            "all_to_all",
            "multicast",
            20,
            "pattern: must be one of broadcast with multicast, not 'all_to_all'",
        ),
        (
            "mesh:5x4",
            "all_reduce",
            "hierarchical_2d",
            19,
            (
                "algorithm: must have all NPUs at which some rows and columns of a mesh cross, "
                "not hierarchical_2d for 19 NPUs of mesh:5x4"
            ),
        ),
        (
            "fred-a",
            "all_reduce",
            "two_level_ring",
            5,
            (
                "algorithm: must have a group with 2 or more NPUs, equally many, on each of "
                "several L1 switches, not two_level_ring for 5 NPUs of fred-a"
            ),
        ),
        (
            "fred-a",
            "all_reduce",
            "in_network",
            20,
            (
                "algorithm: must have switches with in-network collectives, "
                "not in_network for 20 NPUs of fred-a"
            ),
        ),
        (
            "mesh:32x32",
            "all_to_all",
            "direct",
            257,
            (
                "algorithm: must have at most 256 NPUs, as each sends to every other, "
                "not direct for 257 NPUs of mesh:32x32"
            ),
        ),
    ],
)
def test_algorithm_that_does_not_fit_is_refused(
    topology: str, pattern: str, algorithm: str, members: int, message: str
) -> None:
    with pytest.raises(InputError, match=rf"^{re.escape(message)}$"):
        build_schedule(parse_topology(topology), pattern, [range(members)], 1.0, algorithm)


def test_multicast_is_refused_where_nothing_forks() -> None:
    torus = parse_topology(str(Path(__file__).parents[3] / "examples/torus-64.yaml"))
    message = "must have a mesh or switches that fork multicasts, not multicast for 20 NPUs of"
    with pytest.raises(InputError, match=message):
        build_schedule(torus, "broadcast", [range(20)], 1.0, "multicast")
