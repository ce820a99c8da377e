"""Tests of fred_cli.drawings.interconnect."""

import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Sequence

import pytest

from fred_cli.drawings.interconnect import COLOURS, draw_interconnect
from fred_hw.compiler.configuration import Configuration
from fred_hw.compiler.flows import Flow
from fred_hw.compiler.placement import Strategy, phases
from fred_hw.compiler.routing import route
from fred_hw.compiler.shape import split_count

SVG = "{http://www.w3.org/2000/svg}"
IDLE = "#c9ced6"


def drawn(flows: Sequence[Flow], ports: int, middle: int) -> ET.Element:
    routing = route(flows, ports, middle)
    assert routing.configuration is not None
    return ET.fromstring(draw_interconnect(routing.configuration, flows))


def wires(svg: ET.Element) -> Counter[str]:
    """Return how many wires have each colour."""
    return Counter(path.get("stroke", "") for path in svg.iter(f"{SVG}path"))


def wires_of(flow: Flow, ports: int) -> int:
    """Return the wires a flow takes: behind level n, those of 2**n ports have become one."""
    return sum(
        len({port >> level for port in side})
        for side in (flow.inputs, flow.outputs)
        for level in range(split_count(ports) + 1)
    )


def wire_count(ports: int, middle: int) -> int:
    """Return all wires: two a port outside, and two a port of every middle subswitch."""
    if ports == 2:
        return 4
    return 2 * ports + middle * wire_count((ports + 1) // 2, middle)


FLOW_SETS = [
    (2, 3, [Flow((0, 1), (0, 1))]),
    (2, 2, [Flow((0,), (1,)), Flow((1,), (0,))]),
    (3, 2, [Flow((0, 1, 2), (2,))]),
    (5, 3, [Flow((4,), (0, 1, 2, 3, 4))]),
    (5, 3, [Flow((0, 4), (0, 4)), Flow((1, 2, 3), (1, 2, 3))]),
    (7, 4, [Flow((p,), ((p + 3) % 7,)) for p in range(7)]),
    (8, 3, [Flow((0,), (0,)), Flow((1, 2), (2,)), Flow((3,), (1, 3))]),
    (8, 3, list(phases(Strategy(2, 2, 2))["mp_all_reduce"])),
    (12, 3, list(phases(Strategy(3, 4, 1))["dp_all_reduce"])),
]


@pytest.mark.parametrize(
    ("ports", "middle_switches", "flows"),
    FLOW_SETS,
    ids=[f"m{middle}_p{ports}-{len(flows)}" for ports, middle, flows in FLOW_SETS],
)
def test_each_flow_colours_the_wires_that_it_takes(
    ports: int, middle: int, flows: list[Flow]
) -> None:
    colours = wires(drawn(flows, ports, middle))
    for index, flow in enumerate(flows):
        assert colours[COLOURS[index]] == wires_of(flow, ports), str(flow)
    assert set(colours) <= {IDLE, *COLOURS[: len(flows)]}
    assert colours.total() == wire_count(ports, middle)


def test_flows_beyond_the_colours_share_them() -> None:
    flows = [Flow((port,), (port,)) for port in range(len(COLOURS) + 1)]
    colours = wires(drawn(flows, len(flows), 3))
    one = wires_of(flows[0], len(flows))
    assert [colours[colour] for colour in COLOURS] == [2 * one] + [one] * (len(COLOURS) - 1)


@pytest.mark.parametrize("ports", [2, 3, 6, 9])
def test_idle_interconnect_has_grey_wires_only(ports: int) -> None:
    svg = ET.fromstring(draw_interconnect(Configuration.idle(ports, 3), ()))
    assert wires(svg) == {IDLE: wire_count(ports, 3)}


def test_ports_and_microswitches_are_labelled() -> None:
    svg = drawn([Flow((0, 1), (0, 4))], 5, 2)
    labels = Counter(text.text for text in svg.iter(f"{SVG}text"))
    want = Counter([f"{side} {port}" for side in ("in", "out") for port in range(5)])
    # FRED_2(5): two R and a demultiplexer around two FRED_2(3), each one R, one demultiplexer and
    # two RD; and the mirror image.
    want += Counter({"R": 4, "D": 4, "demux": 3, "mux": 3, "RD": 4})
    assert labels == want


def test_what_reduces_and_distributes_is_marked() -> None:
    svg = drawn([Flow((0, 1), (0, 1))], 4, 2)
    titles = Counter(title.text for title in svg.iter(f"{SVG}title"))
    assert titles == {"R: reduces": 1, "D: distributes": 1, "R": 1, "D": 1, "RD": 2}
    crossing = drawn([Flow((0, 1), (0, 1))], 2, 2)
    assert [title.text for title in crossing.iter(f"{SVG}title")] == ["RD: reduces and distributes"]


def test_idle_wires_lie_below_those_in_use() -> None:
    colours = [path.get("stroke") for path in drawn([Flow((0,), (3,))], 4, 3).iter(f"{SVG}path")]
    first = next(n for n, colour in enumerate(colours) if colour != IDLE)
    assert first > 0 and IDLE not in colours[first:]


@pytest.mark.parametrize(("ports", "middle_switches"), [(2, 2), (5, 3), (8, 8), (12, 3)])
def test_everything_is_inside_the_picture(ports: int, middle: int) -> None:
    svg = drawn([Flow(range(ports), range(ports))], ports, middle)
    left, top, width, height = map(float, svg.attrib["viewBox"].split())
    for box in svg.iter(f"{SVG}rect"):
        x, y, w, h = (float(box.attrib[name]) for name in ("x", "y", "width", "height"))
        assert left <= x and x + w <= left + width
        assert top <= y and y + h <= top + height
