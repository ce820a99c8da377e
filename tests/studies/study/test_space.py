"""Tests of studies.study.space."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fred_hw.errors import InputError
from studies.study.file import StudyFile
from studies.study.space import Space, read_space
from studies.study.training import TRAINING

BASE: dict[str, Any] = {"topology": ["a", "b"], "workload": "w"}


def space(fields: dict[str, Any], **keys: Any) -> Space:
    return read_space(
        StudyFile.model_validate({"space": {**BASE, **fields}, **keys}),
        "s.yaml",
        ("topology", "workload"),
    )


@settings(max_examples=30)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=4))
def test_every_value_meets_all_others_once(sizes: list[int]) -> None:
    fields = {f"npu.{n}": list(range(size)) for n, size in enumerate(sizes)}
    found = space(fields)
    points = [found[number] for number in range(len(found))]
    assert len({tuple(sorted(point.items())) for point in points}) == len(found)
    expected = 2
    for size in sizes:
        expected *= size
    assert len(found) == expected
    assert [found.number(found.steps(n)) for n in range(expected)] == [*range(expected)]
    assert all(point.keys() == {"topology", "workload", *fields} for point in points)


def test_topologies_change_slowest() -> None:
    found = space({"npu.peak_flops": [1, 2], "topology.l1_l2_bytes_per_s": [3, 4]})
    keys = ("topology", "topology.l1_l2_bytes_per_s", "npu.peak_flops")
    points = [tuple(found[n][key] for key in keys) for n in range(8)]
    assert points == [(t, b, f) for t in "ab" for b in (3, 4) for f in (1, 2)]


def test_fields_of_a_group_are_taken_together() -> None:
    zipped = [["topology", "npu.peak_flops"]]
    found = space({"npu.peak_flops": [1, 2], "strategy.mp": [1, 2, 4]}, zip=zipped)
    pairs = {(found[n]["topology"], found[n]["npu.peak_flops"]) for n in range(len(found))}
    assert len(found) == 6
    assert pairs == {("a", 1), ("b", 2)}


def test_each_value_is_checked_with_the_first_of_the_others() -> None:
    found = space({"npu.peak_flops": list(range(100, 110))})
    assert [one["npu.peak_flops"] for one in found.each_alone(4)][-4:] == [100, 103, 106, 109]
    assert [one["topology"] for one in found.each_alone(4)][:2] == ["a", "b"]


@pytest.mark.parametrize(
    ("fields", "keys", "line"),
    [
        ({}, {"zip": [["topology", "npu"]]}, "zip.0: must name fields of space, not 'npu'"),
        (
            {"npu.a": [1, 2, 3]},
            {"zip": [["topology", "npu.a"]]},
            "zip.0: must have equally many values, not 2 of topology, 3 of npu.a",
        ),
        (
            {"npu.a": [1, 2], "npu.b": [1, 2]},
            {"zip": [["topology", "npu.a"], ["npu.b", "npu.a"]]},
            "zip.1: must not have npu.a, which zip.0 has",
        ),
        (
            {f"npu.{n}": list(range(100)) for n in range(4)},
            {},
            "space: must have at most 10,000,000 points, not 200,000,000",
        ),
    ],
)
def test_bad_spaces_are_refused(fields: dict[str, Any], keys: dict[str, Any], line: str) -> None:
    with pytest.raises(InputError) as refused:
        space(fields, **keys)
    assert str(refused.value) == f"s.yaml: {line}"


@pytest.mark.parametrize("missing", ["topology", "workload"])
def test_a_space_needs_a_topology_and_a_workload(missing: str) -> None:
    fields = {name: one for name, one in BASE.items() if name != missing}
    with pytest.raises(InputError, match=rf"^s\.yaml: space\.{missing}: is required"):
        read_space(StudyFile.model_validate({"space": fields}), "s.yaml", TRAINING.required)
