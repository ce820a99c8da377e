"""Tests of perfmodel.published_routers."""

import ast
import re
from itertools import pairwise
from pathlib import Path

import pytest

from docs.generate.files import PACKAGES
from perfmodel import published_routers
from perfmodel.published_routers import (
    GIVEN_UP_CYCLES,
    PATTERN_CURVES,
    TRANSPOSE_20,
    UNIFORM_CURVES,
    RouterCurve,
)

CURVES = {
    **UNIFORM_CURVES,
    "transpose, 20 flits": TRANSPOSE_20,
    **{f"{one.pattern}, {one.routing}": one for one in PATTERN_CURVES},
}
SOURCE = r"BookSim 2 \(ISPASS 2013\), github\.com/[\w-]+/[\w-]+@[0-9a-f]{40}, \S+"


@pytest.mark.parametrize("name", CURVES)
def test_every_curve_names_work_repository_commit_and_file(name: str) -> None:
    curve = CURVES[name]
    assert re.match(SOURCE, curve.source)
    assert curve.beyond is None or re.match(SOURCE, curve.beyond.source)


@pytest.mark.parametrize("name", CURVES)
def test_loads_ascend_to_where_latency_is_three_times_that_of_the_lowest(name: str) -> None:
    points = CURVES[name].points
    assert all(one[0] < other[0] for one, other in pairwise(points))
    assert points[-1][1] > 3 * points[0][1]


def test_names_of_curves_are_their_sizes() -> None:
    for name, curve in UNIFORM_CURVES.items():
        sizes = (curve.packet_flits, curve.channels, curve.channel_flits)
        assert tuple(map(int, re.findall(r"\d+", name))) == sizes


def test_loads_become_shares_of_the_capacity() -> None:
    curve = RouterCurve(
        source="made up",
        pattern="tornado",
        routing="xy",
        packet_flits=1,
        channels=2,
        channel_flits=3,
        capacity=0.4,
        loads=(0.1, 0.5),
        load_flits=0.5,
        latencies=(10.0, 20.0),
        given_up=0.6,
    )
    assert curve.points == (
        (pytest.approx(0.125), 10),
        (pytest.approx(0.625), 20),
        (pytest.approx(0.75), GIVEN_UP_CYCLES),
    )
    assert curve.buffer_flits == 6


@pytest.mark.parametrize("package", [*PACKAGES, "docs"])
def test_latencies_that_are_published_stand_in_no_other_file(package: str) -> None:
    """What a row of three of them is; a number alone may be anything."""
    root = Path(published_routers.__file__).parents[1]
    rows = [
        {
            f"{one:.1f} {two:.1f} {three:.1f}"
            for one, two, three in zip(v, v[1:], v[2:], strict=False)
        }
        for v in (curve.latencies for curve in CURVES.values())
    ]
    triples = set[str]().union(*rows)
    for path in (root / package).rglob("*.py"):
        if path == Path(published_routers.__file__):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Tuple | ast.List):
                numbers = [
                    f"{one.value:.1f}"
                    for one in node.elts
                    if isinstance(one, ast.Constant) and isinstance(one.value, float)
                ]
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                numbers = re.findall(r"\d+\.\d\b", node.value)
            else:
                continue
            said = {
                " ".join(three) for three in zip(numbers, numbers[1:], numbers[2:], strict=False)
            }
            assert not said & triples, path
