"""Tests of fred_cli.drawings.schedule."""

import re
import xml.etree.ElementTree as ET
from collections import Counter
from itertools import pairwise

import pytest

from fred_cli.drawings.schedule import MAX_DRAWN, draw_schedule
from fred_hw.errors import InputError
from perfmodel.collectives.schedule import Schedule
from perfmodel.collectives.select import build_schedule
from perfmodel.topology.parse import parse_topology

SVG = "{http://www.w3.org/2000/svg}"
REDUCE, COPY = "#d55e00", "#0072b2"


def schedule(
    topology: str, pattern: str = "all_reduce", group: range | list[int] | None = None
) -> Schedule:
    wafer = parse_topology(topology)
    return build_schedule(wafer, pattern, [range(wafer.npus) if group is None else group], 1.0)


def drawn(made: Schedule) -> ET.Element:
    return ET.fromstring(draw_schedule(made, "a wafer"))


def labels(svg: ET.Element) -> list[str]:
    return [text.text or "" for text in svg.iter(f"{SVG}text")]


def ways(svg: ET.Element, *, arrows: bool) -> list[tuple[str, list[float]]]:
    """Return colour and ends (x0, y0, x1, y1) of all arrows, or of all lines without a head."""
    return [
        (
            path.attrib["stroke"],
            [float(number) for number in re.findall(r"[\d.]+", path.attrib["d"])],
        )
        for path in svg.iter(f"{SVG}path")
        if "stroke" in path.attrib and ("marker-end" in path.attrib) == arrows
    ]


@pytest.mark.parametrize(
    ("made", "reduces", "copies"),
    [
        # Six members send in 5 steps to reduce and in 5 to gather.
        (schedule("mesh:5x4", group=[0, 1, 2, 7, 6, 5]), 30, 30),
        (schedule("fred-a", "reduce_scatter", range(4)), 12, 0),
        (schedule("fred-a", "broadcast"), 0, 19),
        # Forked on the way: one transfer, an arrow to each of the others.
        (schedule("mesh:5x4", "broadcast"), 0, 19),
        # Joined on the way: lines to the middle, arrows from there.
        (schedule("fred-d"), 0, 20),
        (schedule("fred-d", "all_gather", range(3)), 0, 6),
    ],
    ids=["ring", "reduce-scatter", "chain", "tree", "in-network", "in-network gather"],
)
def test_each_transfer_has_an_arrow_to_each_target(
    made: Schedule, reduces: int, copies: int
) -> None:
    colours = Counter(colour for colour, _ in ways(drawn(made), arrows=True))
    assert colours == Counter({REDUCE: reduces, COPY: copies})


def test_transfer_that_is_joined_has_a_line_from_each_source() -> None:
    lines = ways(drawn(schedule("fred-d")), arrows=False)
    assert [colour for colour, _ in lines] == [REDUCE] * 20


def test_npus_of_the_group_are_lines_in_their_order() -> None:
    svg = drawn(schedule("mesh:5x4", group=[7, 0, 19, 3]))
    names = [text for text in labels(svg) if text.startswith("NPU")]
    assert names == ["NPU 0", "NPU 3", "NPU 7", "NPU 19"]
    heights = [float(line.attrib["y1"]) for line in svg.iter(f"{SVG}line")]
    assert heights == sorted(set(heights)) and len(heights) == 4


@pytest.mark.parametrize(
    ("made", "steps"),
    [
        (schedule("mesh:5x4", group=[0, 1, 2, 7, 6, 5]), 10),
        (schedule("mesh:5x4"), 14),  # 4 + 3, and back
        (schedule("fred-a"), 14),
        (schedule("fred-d"), 1),
        (schedule("fred-d", "all_to_all"), 1),
    ],
    ids=["ring", "hierarchical 2D", "two-level ring", "in-network", "direct"],
)
def test_columns_are_the_steps(made: Schedule, steps: int) -> None:
    svg = drawn(made)
    assert [text for text in labels(svg) if text.isdigit()] == [str(i + 1) for i in range(steps)]
    assert svg.attrib["aria-label"].endswith(f": one chunk, steps: {steps}")


def test_arrows_of_a_step_lie_in_its_column_and_point_to_the_right() -> None:
    svg = drawn(schedule("mesh:5x4", group=[0, 1, 2, 7, 6, 5]))
    ticks = [
        float(text.attrib["x"])
        for text in svg.iter(f"{SVG}text")
        if text.text is not None and text.text.isdigit()
    ]
    column = ticks[1] - ticks[0]
    found = ways(svg, arrows=True)
    assert len(found) == 60
    for number, (_, (x0, _, x1, _)) in enumerate(found):
        left = ticks[number // 6] - 0.4 * column  # six transfers in each step
        assert left <= x0 < x1 <= left + column + 0.1


def test_title_and_legend_are_there() -> None:
    said = labels(drawn(schedule("fred-a", "all_gather", range(4))))
    assert "all_gather on a wafer, ring: one chunk, steps: 3" in said
    assert {"added up", "copied"} <= set(said)


@pytest.mark.parametrize("topology", ["mesh:5x4", "fred-a", "fred-d", "mesh:8x8", "mesh:1x2"])
@pytest.mark.parametrize("pattern", ["all_reduce", "broadcast", "reduce"])
def test_everything_is_inside_the_picture(topology: str, pattern: str) -> None:
    svg = drawn(schedule(topology, pattern))
    width, height = map(float, svg.attrib["viewBox"].split()[2:])
    for _, (x0, y0, x1, y1) in ways(svg, arrows=True) + ways(svg, arrows=False):
        assert 0 < x0 < x1 < width
        assert min(y0, y1) > 0 and max(y0, y1) < height
    for text in svg.iter(f"{SVG}text"):
        assert 0 < float(text.attrib["x"]) < width and 0 < float(text.attrib["y"]) < height


def test_few_steps_fill_the_picture() -> None:
    svg = drawn(schedule("fred-d"))
    assert max(x1 for _, (_, _, x1, _) in ways(svg, arrows=True)) > 280  # half of the width


def test_rows_are_evenly_apart() -> None:
    heights = [float(line.attrib["y1"]) for line in drawn(schedule("mesh:8x8")).iter(f"{SVG}line")]
    assert len(heights) == MAX_DRAWN
    assert {round(below - above, 1) for above, below in pairwise(heights)} == {24.0}


def test_name_of_the_topology_is_text() -> None:
    text = draw_schedule(schedule("fred-d", group=range(2)), '<a & "b">')
    assert ET.fromstring(text).attrib["aria-label"].startswith('all_reduce on <a & "b">, ')


def test_more_npus_than_can_be_told_apart_are_refused() -> None:
    with pytest.raises(InputError, match=r"^--draw: must show at most 64 NPUs, not 65$"):
        draw_schedule(schedule("mesh:5x13", "broadcast"), "mesh:5x13")


def test_controllers_of_several_wafers_have_rows_below_the_npus() -> None:
    wafers = parse_topology("wafers:2xmesh:2x2")
    made = build_schedule(wafers, "all_reduce", [range(8)], 1.0)
    names = [node.name for node in wafers.nodes]
    text = draw_schedule(made, wafers.name, names)
    labels = re.findall(r'text-anchor="end">([^<]*)<', text)
    assert labels[:8] == [f"NPU {npu}" for npu in range(8)]
    assert labels[8:] == [f"wafer{wafer}_io_{io}" for wafer in range(2) for io in range(8)]
