"""Tests of gen.replay: longest ways of fabrics, and packets that full rate takes on them."""

from pathlib import Path

import pytest

from fred_hw.mesh.load import load_mesh
from fred_hw.wafer.load import load_wafer
from fred_hw.wafer.spec import WaferSpec
from gen.replay import LongestPath, longest_in_mesh, longest_in_plane, replay_on_path
from tests.fred_hw.wafer.test_plane import THREE_LEVELS

EXAMPLES = Path(__file__).parents[2] / "examples"
WAFER = str(EXAMPLES / "wafer-20.yaml")
MESH = str(EXAMPLES / "mesh-5x4.yaml")


def test_longest_paths() -> None:
    """Switches of 12 and 10 ports take 25 cycles, of four 17, routers 8."""
    assert longest_in_plane(load_wafer(WAFER)) == LongestPath(4, 3, 3 * 25)
    assert longest_in_mesh(load_mesh(MESH)) == LongestPath(9, 8, 8 * 8)
    three = longest_in_plane(WaferSpec.model_validate(THREE_LEVELS))
    assert three == LongestPath(6, 5, 5 * 17)


def uneven(controllers: str) -> WaferSpec:
    """Return a tree with an NPU at the top, one below a switch, and a controller below two."""
    low = {"name": "low", "above": "mid", "chiplets": 1, "ports": 2, "uplinks": 1}
    switches = [
        {"name": "top", "chiplets": 1, "ports": 2, "npus": [0]},
        {"name": "mid", "above": "top", "chiplets": 1, "ports": 3, "uplinks": 1, "npus": [1]},
        {**low, "controllers": 1},
    ]
    return WaferSpec.model_validate(
        {"npus": 2, "lanes": 1, "switches": switches, "controllers": controllers}
    )


@pytest.mark.parametrize(("controllers", "links", "units"), [("links", 5, 4), ("endpoints", 6, 5)])
def test_ways_begin_at_endpoints_and_end_anywhere(controllers: str, links: int, units: int) -> None:
    """Up from the lowest endpoint to the top, and down to the controller, which is lower.

    With an endpoint at the controller its own switch and the one above are crossed twice.
    """
    path = longest_in_plane(uneven(controllers))
    cycles = {"top": 13, "mid": 17, "low": 13}  # interconnects of 3 and 7 cycles, and 10
    up = ["mid"] if controllers == "links" else ["low", "mid"]
    wanted = sum(cycles[one] for one in (*up, "top", "mid", "low"))
    assert (path.links, path.units, path.unit_cycles) == (links, units, wanted)


def test_one_switch_alone_is_two_links() -> None:
    switches = [{"name": "one", "chiplets": 1, "ports": 2, "npus": [0, 1]}]
    wafer = WaferSpec.model_validate({"npus": 2, "lanes": 1, "switches": switches})
    path = longest_in_plane(wafer)
    assert (path.links, path.units) == (2, 1)
    # Of links alone it is what the endpoint's own manifest says.
    assert wafer.protocol.replay_for(2 * 48) == wafer.protocol.replay_needed == 29


def test_packets_of_the_published_fabrics() -> None:
    """16 of an ack, 338 / 8 and 551 / 8 cycles of packets, and one; what does not do is told."""
    wafer, mesh = load_wafer(WAFER), load_mesh(MESH)
    of_wafer = replay_on_path(wafer.link, longest_in_plane(wafer))
    assert of_wafer == {
        "packets": 64,
        "packets_for_full_rate": 60,
        "bytes": 3 * 64 * 8 * 512,
        "window_packets": 64,
        "longest_path": {"links": 4, "units": 3, "round_trip_cycles": 338},
        "bound": None,
    }
    of_mesh = replay_on_path(mesh.link, longest_in_mesh(mesh))
    assert (of_mesh["packets"], of_mesh["packets_for_full_rate"]) == (64, 86)
    assert of_mesh["bound"] == "protocol.window_packets"
    less = load_wafer(WAFER, {"endpoint.replay_packets": 32})
    of_less = replay_on_path(less.link, longest_in_plane(less))
    assert (of_less["packets"], of_less["bound"]) == (32, "endpoint.replay_packets")
    # Where the window is too small more memory would not do.
    window = load_wafer(WAFER, {"endpoint.replay_packets": 16, "protocol.window_packets": 32})
    assert replay_on_path(window.link, longest_in_plane(window))["bound"] == (
        "protocol.window_packets"
    )
