"""Tests of clustermodel.file: every key is checked."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from clustermodel.file import load_cluster, resources
from fred_hw.errors import InputError
from tests.documented import documented_keys, read_keys
from tests.written import written

GOOD: dict[str, Any] = {
    "npu": {"peak_flops": 312e12},
    "local": {"capacity_bytes": 80e9, "bytes_per_s": 2e12},
    "networks": [{"fan_in": 8, "bytes_per_s": 300e9, "efficiency": 0.5}],
    "training": {"batch": 8},
}
NUMBER = r"must be a number from \S+ to \S+, not"

BAD = {
    "npu.peak_flops": (0, NUMBER),
    "npu.matmul_efficiency": (1.1, NUMBER),
    "npu.memory_efficiency": (0, NUMBER),
    "npu.buffer_bytes": (0, NUMBER),
    "npu.bogus": (1, "unknown key; allowed are peak_flops, .*"),
    "local.capacity_bytes": (-1, NUMBER),
    "local.bytes_per_s": ("fast", NUMBER),
    "expanded.capacity_bytes": (0, NUMBER),
    "expanded.bytes_per_s": (0, NUMBER),
    "access": ("random", "must be one of serial, striped, not 'random'"),
    "networks": ([], r"must have 1 or more entries, not \[\]"),
    "networks.0.fan_in": (0, "must be an integer from 1 to 1048576, not 0"),
    "networks.0.bytes_per_s": (0, NUMBER),
    "networks.0.efficiency": (2, NUMBER),
    "networks.0.latency_s": (-1, NUMBER),
    "training.batch": (0, "must be an integer from 1 to 1073741824, not 0"),
    "training.microbatch": (0, "must be an integer from 1 to 1073741824, not 0"),
    "training.zero": (4, "must be an integer from 0 to 3, not 4"),
    "training.recompute": ("some", "must be one of none, selective, full, not 'some'"),
    "training.sequence_parallel": (1, "must be a valid boolean, not 1"),
    "training.gradients": ("fp8", "must be one of fp16, fp32, not 'fp8'"),
    "training.pipeline": ([2, 2], "must have each entry once, not 2 twice"),
    "training.interleave": (0, "must be an integer from 1 to 1000, not 0"),
    "training.overlap": ("no", "must be a valid boolean, not 'no'"),
    "vary.compute": ([1, 1], "must have each entry once, not 1.0 twice"),
    "vary.local_bytes": ([], r"must have 1 or more entries, not \[\]"),
    "vary.local_bytes_per_s": (3, "must be a valid list, not 3"),
    "vary.expanded_bytes": ([], r"must have 1 or more entries, not \[\]"),
    "vary.expanded_bytes_per_s": ([], r"must have 1 or more entries, not \[\]"),
    "vary.network": ([], r"must have 1 or more entries, not \[\]"),
}


def put(key: str, value: object) -> dict[str, Any]:
    """Return the good file with another value; what is on the way is made."""
    data = deepcopy(GOOD)
    data["expanded"] = {"capacity_bytes": 1e12, "bytes_per_s": 1e11}
    *way, last = key.split(".")
    place: Any = data
    for part in way:
        place = place[int(part)] if isinstance(place, list) else place.setdefault(part, {})
    place[last] = value
    return data


def load(data: dict[str, Any], folder: Path) -> Any:
    path = written(folder / "c.json", data)
    return load_cluster(path)


@pytest.mark.parametrize("key", BAD)
def test_bad_value_is_named(key: str, tmp_path: Path) -> None:
    value, said = BAD[key]
    field = key if not key.startswith("vary") else rf"{key}(\.0)?"
    with pytest.raises(InputError, match=rf"c\.json: {field}: {said}") as refused:
        load(put(key, value), tmp_path)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"networks": [{"fan_in": 1, "bytes_per_s": 1e9}]}, r"networks: must have 2 .*, not 1$"),
        (
            {"networks": 2 * [{"fan_in": 1 << 20, "bytes_per_s": 1e9}]},
            r"networks: must have 2 to 1048576 NPUs in all, not 1099511627776$",
        ),
        (
            {"vary": {"expanded_bytes": [1e9]}},
            (
                r"vary\.expanded_bytes_per_s: must be given with expanded_bytes "
                r"and no expanded memory$"
            ),
        ),
        (
            {"vary": {"expanded_bytes_per_s": [1e9]}},
            (
                r"vary\.expanded_bytes: must be given with expanded_bytes_per_s "
                r"and no expanded memory$"
            ),
        ),
        (
            {"vary": {"compute": [*range(1, 41)], "network": [*range(1, 41)]}},
            r"vary: must have at most 1000 combinations, not 1600$",
        ),
    ],
)
def test_what_does_not_go_together_is_refused(
    changes: dict[str, Any], said: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=said):
        load({**GOOD, **changes}, tmp_path)


def test_cluster_has_what_the_file_says(tmp_path: Path) -> None:
    file = load(GOOD, tmp_path)
    cluster = file.cluster
    assert (cluster.npus, cluster.expanded, cluster.access) == (8, None, "serial")
    assert cluster.levels[0].bytes_per_s == pytest.approx(150e9)
    assert cluster.npu.matmul_efficiency == 0.75
    assert file.training.stages == [1] and file.training.plan.gradient_bytes == 2
    assert list(resources(file)) == []


def test_every_entry_meets_every_other(tmp_path: Path) -> None:
    vary = {"compute": [1, 2], "expanded_bytes": [1e12], "expanded_bytes_per_s": [1e11, 1e12]}
    vary |= {"network": [2], "local_bytes": [40e9], "local_bytes_per_s": [1e12]}
    found = list(resources(load({**GOOD, "vary": vary}, tmp_path)))
    assert [(one["compute"], one["expanded_bytes_per_s"]) for one, _ in found] == [
        (1, 1e11), (1, 1e12), (2, 1e11), (2, 1e12),
    ]  # fmt: skip
    last = found[-1][1]
    assert last.npu.peak_flops == pytest.approx(624e12)
    assert last.levels[0].bytes_per_s == pytest.approx(300e9)
    assert (last.local.bytes, last.local.bytes_per_s) == (40e9, 1e12)
    assert last.expanded and (last.expanded.bytes, last.expanded.bytes_per_s) == (1e12, 1e12)


def test_ranges_and_defaults_are_those_of_the_reference() -> None:
    assert read_keys("cluster") == documented_keys("cluster") != []
