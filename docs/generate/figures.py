"""SVG of timing diagrams, cut down to what is drawn."""

import json
from typing import Any
from xml.etree import ElementTree

import wavedrom

__all__ = ["draw_wave"]

SVG = "http://www.w3.org/2000/svg"
HREF = "{http://www.w3.org/1999/xlink}href"


def draw_wave(wave: dict[str, Any]) -> str:
    """Return the SVG of WaveJSON, on white and without the bricks that it does not use."""
    ElementTree.register_namespace("", SVG)
    ElementTree.register_namespace("xlink", "http://www.w3.org/1999/xlink")
    drawn = wavedrom.render(json.dumps(wave))
    if drawn is None:
        raise ValueError(f"wave must be WaveJSON, not {wave!r}")
    root = ElementTree.fromstring(drawn.tostring())
    used = {one.get(HREF, "")[1:] for one in root.iter(f"{{{SVG}}}use")}
    for definitions in root.iter(f"{{{SVG}}}defs"):
        for brick in list(definitions):
            if brick.tag == f"{{{SVG}}}g" and brick.get("id") not in used:
                definitions.remove(brick)
    for style in root.iter(f"{{{SVG}}}style"):
        style.text = " ".join((style.text or "").split())
    white = {"width": "100%", "height": "100%", "fill": "white"}
    root.insert(0, ElementTree.Element(f"{{{SVG}}}rect", white))
    return ElementTree.tostring(root, encoding="unicode") + "\n"
