"""Every key of a specification at both ends of its range: all of it generates."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest

from fred_hw.ace.scratchpad import AceScratchpad
from fred_hw.files import FileModel
from fred_hw.formats.number_format import FORMATS, wider_formats
from fred_hw.mesh.router import MeshRouter
from fred_hw.spec import SwitchSpec
from fred_hw.unit import Unit
from gen.emitter import VerilogEmitter
from gen.level import LEVELS, UnitLevel
from gen.names import with_names
from gen.wafer_top import units_of

Keys = dict[str, Any]

LINK: Keys = {
    "format": "int8",
    "lanes": 1,
    "protocol": {
        "phases": 1,
        "packet_flits": 1,
        "round_trip_cycles": 1,
        "buffer_packets": 2,
        "ack_interval": 1,
        "window_packets": 4,
    },
    "endpoint": {"fsms": 1, "slots": 1, "chunk_flits": 2, "memory_reads": 2},
}
SWITCH: Keys = {"ports": 2, "middle_switches": 2, **LINK}
WAFER: Keys = {
    "npus": 2,
    "switches": [{"name": "top", "chiplets": 1, "ports": 2, "npus": [0, 1], "middle_switches": 2}],
    **LINK,
}
SMALLEST: dict[str, Keys] = {
    "interconnect": SWITCH,
    "switch": SWITCH,
    "endpoint": SWITCH,
    "mesh": {"width": 1, "height": 2, "controllers": False, **LINK},
    "router": {"width": 1, "height": 2, "controllers": False, **LINK},
    "wafer": WAFER,
}
"""The smallest specification of each level."""

ALONG: dict[tuple[str, Any], Keys] = {
    ("protocol.packet_flits", 16): {"protocol.buffer_packets": 15},
    ("protocol.round_trip_cycles", 255): {
        "protocol.packet_flits": 15,
        "protocol.buffer_packets": 17,
        "protocol.window_packets": 64,
    },
    # An ack is due before the window is full, with a packet under way in each direction.
    ("protocol.ack_interval", 64): {
        "protocol.ack_interval": 61,
        "protocol.window_packets": 64,
    },
    ("protocol.ack_interval", "auto"): {"protocol.window_packets": 64},
    ("protocol.window_packets", 2): {"protocol.window_packets": 4},
    ("endpoint.fsms", 16): {"endpoint.slots": 16},
    ("endpoint.replay_packets", 64): {"protocol.window_packets": 64},
    ("width", 64): {"height": 1},
    ("height", 64): {"width": 1},
    ("height", 1): {"width": 2},
    ("clock_ns", 0.01): {"adder_registers": 1},
    **{
        ("accumulation", wide): {"format": narrow}
        for narrow, one in FORMATS.items()
        for wide in wider_formats(one)
    },
    ("planes", 64): {"switches.0.chiplets": 64},
    ("controllers", "endpoints"): {"switches.0.controllers": 1, "switches.0.ports": 3},
}
"""What else must change with a value; a key of its own stands for the most that is allowed."""

STRUCTURE = ("only", "npus", "switches")
"""Keys that are no range: what an interconnect supports, and the tree of a wafer."""


def ends(described: Keys) -> list[Any]:
    """Return the values at the ends of what a schema allows."""
    options = described.get("anyOf", [described])
    found: list[Any] = []
    for one in options:
        if "enum" in one:
            numbers = all(isinstance(value, int) for value in one["enum"])
            found += [one["enum"][0], one["enum"][-1]] if numbers else one["enum"]
        elif one.get("type") == "boolean":
            found += [False, True]
        elif "const" in one:
            found.append(one["const"])
        elif "minimum" in one:
            found += [one["minimum"], one["maximum"]]
    assert found, described
    return found


def corners(level: str) -> Iterator[tuple[str, Any]]:
    """Yield each key of the specification of a level with both ends of its range."""
    schema = LEVELS[level].model.model_json_schema()
    for key, described in schema["properties"].items():
        if key in STRUCTURE:
            continue
        inner = schema["$defs"][described["$ref"].rpartition("/")[2]] if "$ref" in described else {}
        nested = inner.get("properties", {})
        if nested:
            yield from ((f"{key}.{name}", end) for name in nested for end in ends(nested[name]))
        else:
            yield from ((key, end) for end in ends(described))


def changed(keys: Keys, changes: Keys) -> Keys:
    """Return nested keys with some of them, by dotted names, replaced."""
    result = deepcopy(keys)
    for name, value in changes.items():
        *path, last = name.split(".")
        place: Any = result
        for part in path:
            place = place[int(part)] if part.isdigit() else place.setdefault(part, {})
        place[last] = value
    return result


def spec_at(level: str, key: str, value: Any) -> FileModel:
    """Return the smallest specification of a level with a key at an end of its range."""
    return LEVELS[level].model(
        **changed(SMALLEST[level], {key: value, **ALONG.get((key, value), {})})
    )


def units(level: str, spec: Any) -> list[Unit]:
    """Return the units that the Verilog of a level is made of."""
    what = LEVELS[level]
    if isinstance(what, UnitLevel):
        return [what.top(spec)]
    if level == "mesh":
        return [
            MeshRouter(mesh=spec, directions=kind)
            for kind in dict.fromkeys(one.directions for one in spec.plan.units)
        ]
    return [*units_of(spec).values()]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("level", "keys"),
    [
        ("interconnect", ""),
        ("endpoint", "endpoint."),
        # A minute of CPU or more each, most of it for keys of the link that all levels share.
        *(
            pytest.param(level, "", marks=pytest.mark.long)
            for level in ("endpoint", "router", "switch", "mesh", "wafer")
        ),
    ],
)
def test_both_ends_of_the_range_of_each_key_generate(level: str, keys: str) -> None:
    # Equal names mean equal hardware, so one emitter takes the units of all of them.
    emitter = VerilogEmitter()
    for key, value in corners(level):
        if key.startswith(keys):
            for unit in units(level, spec_at(level, key, value)):
                emitter.add(unit)
    text = emitter.verilog()
    assert text.count("endmodule") == len(emitter.modules)
    assert with_names(text) == text


@pytest.mark.slow
def test_the_largest_scratchpad_generates() -> None:
    # A word of it is chosen among 384 memories.
    most = {"endpoint.slots": 64, "endpoint.read_ports": 2}
    emitter = VerilogEmitter()
    emitter.add(AceScratchpad(spec=SwitchSpec(**changed(SWITCH, most))))
    assert "endmodule" in emitter.verilog()
