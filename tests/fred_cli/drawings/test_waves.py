"""Tests of fred_cli.drawings.waves."""

import xml.etree.ElementTree as ET

from fred_cli.drawings.waves import MOST_PORTS, draw_waves

SVG = "{http://www.w3.org/2000/svg}"


def drawn(ports: int) -> ET.Element:
    inputs = [[f"{port}", "-12.5", None, None] for port in range(ports)]
    outputs = [[None, None, "<3>", None]] * ports
    return ET.fromstring(draw_waves(inputs, outputs, 2, 'a & "b"'))


def test_every_flit_is_a_box_with_its_number_in_its_cycle() -> None:
    svg = drawn(3)
    texts = [(text.text, float(text.attrib["x"])) for text in svg.iter(f"{SVG}text")]
    cycles = dict(texts[:4])
    values = [
        (text.text, float(text.attrib["x"]))
        for text in svg.iter(f"{SVG}text")
        if text.get("class") == "value"
    ]
    assert values[:2] == [("0", cycles["0"]), ("-12.5", cycles["1"])]
    assert values[6:] == [("<3>", cycles["2"])] * 3
    assert sum(1 for _ in svg.iter(f"{SVG}rect")) == 9
    assert svg.attrib["aria-label"] == 'a & "b"'
    assert "2 cycles" in [text for text, _ in texts]


def test_names_are_those_of_the_ports_and_more_than_eight_are_left_out() -> None:
    names = [t.text for t in drawn(9).iter(f"{SVG}text") if t.get("text-anchor") == "end"]
    sides = [f"{side} {port}" for side in ("in", "out") for port in range(MOST_PORTS)]
    assert names == ["clk", *sides]


def test_everything_is_inside_the_picture() -> None:
    svg = drawn(8)
    width, height = map(float, svg.attrib["viewBox"].split()[2:])
    for text in svg.iter(f"{SVG}text"):
        assert 0 < float(text.attrib["x"]) < width and 0 < float(text.attrib["y"]) < height
    for box in svg.iter(f"{SVG}rect"):
        assert float(box.attrib["x"]) + float(box.attrib["width"]) < width
