"""Tests of testbench.stimulus.meshes."""

import pytest

from fred_hw.mesh.spec import MeshSpec
from testbench.stimulus.meshes import PATTERNS

SHAPES = [(4, 4), (5, 4), (4, 1), (1, 4)]

# To where NPUs 0, 1, ... of 4 x 4 send; a dot is nowhere.
FOUR = {
    "transpose": ". 4 8 12 1 . 9 13 2 6 . 14 3 7 11 .",
    "tornado": "1 2 3 0 5 6 7 4 9 10 11 8 13 14 15 12",
    "complement": "15 14 13 12 11 10 9 8 7 6 5 4 3 2 1 0",
    "neighbor": "1 2 3 0 5 6 7 4 9 10 11 8 13 14 15 12",
}


@pytest.mark.parametrize("name", FOUR)
def test_where_npus_send_to(name: str) -> None:
    mesh = MeshSpec(width=4, height=4, lanes=1)
    found = [PATTERNS[name](mesh, source) for source in range(16)]
    assert " ".join("." if one is None else str(one) for one in found) == FOUR[name]


def test_tornado_goes_just_less_than_half_around() -> None:
    mesh = MeshSpec(width=8, height=2, lanes=1)
    assert [PATTERNS["tornado"](mesh, source) for source in (0, 5, 8)] == [3, 0, 11]


@pytest.mark.parametrize(("width", "height"), SHAPES)
@pytest.mark.parametrize("name", PATTERNS)
def test_each_npu_sends_to_another_and_gets_from_one(name: str, width: int, height: int) -> None:
    mesh = MeshSpec(width=width, height=height, lanes=1)
    found = [(source, PATTERNS[name](mesh, source)) for source in range(mesh.routers)]
    ends = [(source, end) for source, end in found if end is not None]
    assert all(end != source and 0 <= end < mesh.routers for source, end in ends)
    assert len({end for _, end in ends}) == len(ends)
