"""Tests of tracemodel.astra.files.system."""

from pathlib import Path
from typing import Any

import pytest

from fred_hw.errors import InputError, InputWarning
from tests.written import written
from tracemodel.astra.files.system import SystemFile, load_system


def test_what_is_not_said_has_a_default(tmp_path: Path) -> None:
    found = load_system(written(tmp_path / "sys.json", {}))
    assert (found.splits, found.active_chunks, found.endpoint_delay) == (1, 1, 10)
    assert (found.all_reduce, found.local_mem_bw, found.roofline_enabled) == (None, None, 0)


@pytest.mark.parametrize(
    ("data", "line"),
    [
        ({"preferred-dataset-splits": 0}, "preferred-dataset-splits: .* from 1 to 1024, not 0"),
        ({"splits": 4}, "splits: unknown key; allowed are scheduling-policy, collective-.*"),
        ({"scheduling-policy": "SJF"}, "scheduling-policy: must be one of LIFO, .*, not 'SJF'"),
        (
            {"inter-dimension-scheduling": "Themes"},
            "inter-dimension-scheduling: must be one of baseline, .*; did you mean 'themis'[?]",
        ),
        ({"intra-dimension-scheduling": "LCF"}, "intra-.*: must be one of FIFO, SCF, not 'LCF'.*"),
        ({"gap-denominator": 0}, "gap-denominator: must be an integer from 1 .*, not 0"),
        (
            {"all-reduce-implementation": ["ring", "tree"]},
            "all-reduce-implementation.1: must be one of ring, .* direct4, not 'tree'",
        ),
        (
            {"all-reduce-implementation": ["direct0"]},
            "all-reduce-implementation.0: must be one of ring, .* direct4, not 'direct0'",
        ),
        ({"all-reduce-implementation": "ring"}, "all-reduce-implementation: .* list, not 'ring'"),
        ({"all-reduce-implementation": []}, ".*: must have 1 or more entries, not .*"),
        ({"model-shared-bus": 1}, "model-shared-bus: must be 0, not 1"),
        (
            {"roofline-enabled": 1, "peak-perf": 1},
            "local-mem-bw: must be given and above 0 with roofline-enabled 1",
        ),
        (
            {"roofline-enabled": 1, "peak-perf": 1, "local-mem-bw": 0},
            "local-mem-bw: must be given and above 0 with roofline-enabled 1",
        ),
        (
            {"roofline-enabled": 1, "local-mem-bw": 1},
            "peak-perf: must be given and above 0 with roofline-enabled 1",
        ),
        ({"local-mem-bw": -1}, "local-mem-bw: must be a number from 1e-06 .*, not -1"),
        ({"local-mem-bw": False}, "local-mem-bw: must be a number from 1e-06 .*, not False"),
        ({"peak-pref": 1}, ".*unknown key; allowed are .*; did you mean 'peak-perf'[?]"),
        ({"track-local-mem": "m"}, "track-local-mem: must be an integer from 0 to 1, not 'm'"),
        ({"endpoint-delay": -1}, "endpoint-delay: must be an integer from 0 .*, not -1"),
    ],
)
def test_bad_file_is_refused(data: Any, line: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=rf"sys\.json: {line}$"):
        load_system(written(tmp_path / "sys.json", data))


def test_local_memory_of_bandwidth_0_is_not_modelled(tmp_path: Path) -> None:
    for value in (0, 0.0):
        path = written(tmp_path / "sys.json", {"local-mem-bw": value})
        assert load_system(path).local_mem_bw is None


@pytest.mark.parametrize(
    ("operations", "moved_bytes", "duration_ns"),
    [
        (0, 5, 0),
        (1_000_000, 1_000, 500),  # at the peak
        (1_000, 100_000, 1_000),  # at the bandwidth of the memory
        (40_000, 2_000, 20),  # at both
        (3_999, 1, 1),  # of a nanosecond that has begun nothing counts
    ],
)
def test_compute_takes_as_long_as_the_roofline_says(
    operations: int, moved_bytes: int, duration_ns: int
) -> None:
    system = SystemFile.model_validate(
        {"roofline-enabled": 1, "local-mem-bw": 100, "peak-perf": 2}  # GB/s, TFLOP/s
    )
    assert system.roofline_ns(operations, moved_bytes) == duration_ns


def test_keys_that_ask_for_what_is_not_modelled_are_one_warning(tmp_path: Path) -> None:
    tracked = {"track-local-mem": 1, "local-mem-trace-filename": "m", "boost-mode": 0}
    with pytest.warns(InputWarning) as warned:
        load_system(written(tmp_path / "sys.json", tracked))
    (one,) = warned
    line = "sys.json: track-local-mem, local-mem-trace-filename: have no effect"
    assert str(one.message) == f"{tmp_path}/{line}"
    with pytest.warns(InputWarning, match=r"sys\.json: G: has no effect$"):
        load_system(written(tmp_path / "sys.json", {"G": 0.1}))


def test_keys_without_effect_that_ask_for_nothing_are_no_warning(tmp_path: Path) -> None:
    idle = {"track-local-mem": 0, "trace-enabled": 0, "boost-mode": 0, "L": 0, "G": 0.0}
    load_system(written(tmp_path / "sys.json", idle))


@pytest.mark.parametrize(
    ("given", "collective", "sizes", "line"),
    [
        (None, "all_reduce", [4], "is required by the workload and was not given"),
        (["ring"], "all_reduce", [4, 2], r"must have an entry for .* 2 dimensions, not \['ring'\]"),
        (["oneRing", "ring"], "all_reduce", [4, 2], "must be 'oneRing' alone, or one .*"),
        (["ring", "oneRing"], "all_reduce", [4, 2], "must be 'ring' alone, or one .*"),
        (["halvingDoubling"], "all_reduce", [20], ".* power of two of NPUs for halv.*, not on 20"),
        (["oneHalvingDoubling"], "all_gather", [4, 5], ".* a power of two .*, not on 20"),
        (["doubleBinaryTree"], "all_reduce", [20], "must be on a power of two .*, not on 20"),
        (["doubleBinaryTree"], "all_gather", [4], "doubleBinaryTree must be for all-reduces, .*"),
        (["doubleBinaryTree", "ring"], "all_reduce", [4, 2], "doubleBinaryTree must be for .*"),
        (["halvingDoubling"], "all_to_all", [4], "must be ring or direct, not halvingDoubling"),
    ],
)
def test_algorithm_fits_the_network_where_it_is_used(
    given: list[str] | None, collective: str, sizes: list[int], line: str
) -> None:
    key = f"{collective.replace('_', '-')}-implementation"
    data = {"collective-optimization": "localBWAware"} | ({key: given} if given else {})
    system = SystemFile.model_validate(data)
    with pytest.raises(InputError, match=rf"^s: {key}(\.\d)?: {line}$"):
        system.implementation(collective, sizes, "s")


def test_algorithms_are_those_of_the_dimensions_or_of_all_npus() -> None:
    names = {"all-reduce-implementation": ["Ring", "DIRECT4"]}
    system = SystemFile.model_validate(names | {"all-gather-implementation": ["onedirect"]})
    assert system.implementation("all_reduce", [5, 3], "s") == ["ring", "direct4"]
    assert system.implementation("all_gather", [5, 3], "s") == ["oneDirect"]
