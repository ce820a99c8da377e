"""Tests of perfmodel.collectives.select."""

import re

import pytest

from fred_hw.errors import InputError
from perfmodel.collectives.schedule import PATTERNS
from perfmodel.collectives.select import (
    CHUNK_BYTES,
    MAX_CHUNKS,
    MAX_MESSAGES,
    build_schedule,
    chunk_count,
)
from perfmodel.topology.parse import parse_topology


@pytest.mark.parametrize(
    ("size_bytes", "messages", "chunks"),
    [
        (1, 0, 1),
        (CHUNK_BYTES - 1, 0, 1),
        (3.5 * CHUNK_BYTES, 0, 3),
        (1e15, 0, MAX_CHUNKS),
        (1e15, MAX_MESSAGES // 4, 4),
        (1e15, 2 * MAX_MESSAGES, 1),
        (3.5 * CHUNK_BYTES, 1, 3),
    ],
)
def test_chunk_rule(size_bytes: float, messages: int, chunks: int) -> None:
    assert chunk_count(size_bytes, messages) == chunks


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
        ("fred-a", "broadcast", [range(20)], "chain"),
        ("fred-b", "all_reduce", [range(20)], "in-network"),
        ("fred-d", "broadcast", [[3, 9]], "in-network multicast"),
    ],
)
def test_algorithm(topology: str, pattern: str, groups: list[list[int]], algorithm: str) -> None:
    assert build_schedule(parse_topology(topology), pattern, groups, 1.0).algorithm == algorithm


@pytest.mark.parametrize(
    ("pattern", "groups", "message"),
    [
        (
            "all_to_all",
            [range(20)],
            f"pattern: must be one of {', '.join(PATTERNS)}, not 'all_to_all'",
        ),
        ("all_reduce", [[3]], "group: must have 2 or more NPUs, not 1"),
        ("all_reduce", [[]], "group: must have 2 or more NPUs, not 0"),
        ("all_reduce", [], "group: must be given, not an empty list"),
        ("all_reduce", [[0, 20]], "group: must hold NPUs 0 to 19 of fred-d, not 20"),
        ("all_reduce", [[0, -1]], "group: must hold NPUs 0 to 19 of fred-d, not -1"),
        ("all_reduce", [[0, 1, 0]], "group: must hold each NPU once, not 0 twice"),
        ("all_reduce", [[0, 1], [1, 2]], "group: must hold each NPU once, not 1 twice"),
    ],
)
def test_bad_request_is_refused(pattern: str, groups: list[list[int]], message: str) -> None:
    with pytest.raises(InputError, match=rf"^{re.escape(message)}$"):
        build_schedule(parse_topology("fred-d"), pattern, groups, 1.0)
