"""Tests of fred_hw.wafer.spec."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from fred_hw.errors import InputError
from fred_hw.files import validate
from fred_hw.protocol import ProtocolSpec
from fred_hw.reading import read_data
from fred_hw.wafer.load import is_wafer, load_wafer
from fred_hw.wafer.spec import WaferSpec
from tests.documented import documented_keys, read_keys

EXAMPLES = Path(__file__).parents[3] / "examples"
SMALL = read_data(EXAMPLES / "wafer-4.yaml")
assert isinstance(SMALL, dict)


def changed(changes: dict[str, Any]) -> dict[str, Any]:
    """Return the small wafer with values replaced, by keys and places with dots between."""
    data: Any = deepcopy(SMALL)
    for path, value in changes.items():
        inner, (*names, last) = data, path.split(".")
        for name in names:
            inner = inner[int(name) if name.isdigit() else name]
        inner[last] = value
    return data


def test_published_wafer_has_the_chiplets_that_add_up_to_its_area() -> None:
    """15 x 685 + 10 x 678 + 10 x 814 mm2 are the published 25,195."""
    wafer = load_wafer(str(EXAMPLES / "wafer-20.yaml"))
    ports = [one.ports for one in wafer.switches for _ in range(one.chiplets)]
    assert {size: ports.count(size) for size in set(ports)} == {10: 10, 12: 15, 11: 10}
    assert 15 * 685 + 10 * 678 + 10 * 814 == 25_195
    assert (wafer.parts(wafer.root), wafer.parts(1)) == (2, 1)
    assert sum(one.controllers for one in wafer.switches) == 18
    assert wafer.phases == 16
    assert wafer.endpoints == 20
    assert wafer.with_changes(controllers="endpoints").endpoints == 38


def test_a_switch_may_have_other_phases_and_times() -> None:
    protocol = {**SMALL["protocol"], "phases": 5, "timeout_cycles": 2000}
    wafer = WaferSpec.model_validate(changed({"switches.1.protocol": protocol}))
    assert wafer.chiplet(1).protocol == ProtocolSpec.model_validate(protocol)
    assert wafer.chiplet(2).protocol == wafer.link.protocol
    assert wafer.phases == 5
    assert len({wafer.chiplet(n).digest for n in range(3)} | {wafer.link.digest}) == 1


def test_endpoints_acknowledge_as_often_as_the_largest_switch_can_take() -> None:
    npus = list(range(24))
    small = {"name": "small", "above": "large", "chiplets": 1, "ports": 2, "uplinks": 1}
    large = {"name": "large", "chiplets": 1, "ports": 24, "uplinks": 0, "controllers": 0}
    switches = [{**small, "npus": npus[:1], "controllers": 0}, {**large, "npus": npus[1:]}]
    wafer = WaferSpec.model_validate({"npus": 24, "switches": switches})
    assert [wafer.chiplet(n).protocol.ack_interval for n in range(2)] == [19, 19]
    assert wafer.link.ports == 2 and wafer.link.protocol.ack_interval == 19


_BARE = {"controllers": 0, "ports": 4}

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "two at the top": (
        {"switches.1.above": None, "switches.1.uplinks": 0, "switches.1.ports": 3},
        "switches.1.above: must be given, as l2 is at the top, not left out",
    ),
    "loop": (
        {"switches.0.above": "l1_0"},
        "switches.0.above: must lead to one switch at the top, not in a loop through l2, l1_0",
    ),
    "itself": (
        {"switches.2.above": "l1_1"},
        "switches.2.above: must lead to one switch at the top, not in a loop through l1_1",
    ),
    "nowhere": (
        {"switches.1.above": "l3"},
        "switches.1.above: must be the name of a switch, not 'l3'",
    ),
    "name twice": (
        {"switches.2.name": "l1_0"},
        "switches.2.name: must be another than those before, not 'l1_0'",
    ),
    "built-in name": (
        {"switches.2.name": "npu3"},
        "switches.2.name: must be no name of an NPU, a controller or a chiplet, as 'npu3' is",
    ),
    "NPU on two switches": (
        {"switches.2.npus": [1, 3]},
        "switches.2.npus: must be NPUs that no other switch has, not 1, which l1_0 has",
    ),
    "NPU twice": (
        {"switches.2.npus": [3, 3]},
        "switches.2.npus: must have each NPU once, not 3 twice",
    ),
    "spare ports that are not there": (
        {"switches.1.spare": 1},
        (
            "switches.1.ports: must be 6, the number of its links (2 to NPUs, 1 to controllers, "
            "0 down, 2 up, and 1 spare), not 5"
        ),
    ),
    "no port that is not spare": (
        {"switches.1.spare": 63},
        "switches.1.spare: must be an integer from 0 to 62, not 63",
    ),
    "slow link above the top": (
        {"switches.0.uplink_cycles": 2},
        "switches.0.uplink_cycles: must be 1 at the top, not 2",
    ),
    "link that carries nothing": (
        {"switches.1.uplink_cycles": 0},
        "switches.1.uplink_cycles: must be an integer from 1 to 64, not 0",
    ),
    "nothing on a switch": (
        {
            "switches.1.npus": [0, 1, 2, 3],
            "switches.1.ports": 7,
            "switches.2.npus": [],
            "switches.2.controllers": 0,
            "switches.2.ports": 2,
        },
        "switches.2.npus: must be one or more, or controllers, where no switch is below, not none",
    ),
    "NPU nowhere": ({"npus": 5}, "npus: must each be connected to a switch, but NPU 4 is not"),
    "NPU beyond": ({"npus": 3}, "switches.2.npus: must be numbers from 0 to 2, not 3"),
    "ports": (
        {"switches.1.ports": 6},
        (
            "switches.1.ports: must be 5, the number of its links (2 to NPUs, 1 to controllers, "
            "0 down, 2 up), not 6"
        ),
    ),
    "ports above": (
        {"switches.1.uplinks": 1, "switches.1.ports": 4},
        (
            "switches.0.ports: must be 3, the number of its links (0 to NPUs, 0 to controllers, "
            "3 down, 0 up), not 4"
        ),
    ),
    "planes": ({"planes": 2}, "switches.0.chiplets: must be a multiple of the 2 planes, not 1"),
    "chiplets with NPUs": (
        {"switches.1.chiplets": 2},
        "switches.1.chiplets: must be 1 with NPUs or controllers, one in each plane, not 2",
    ),
    "links to chiplets": (
        {"switches.0.chiplets": 3},
        "switches.1.uplinks: must be a multiple of 3, the chiplets of l2 in a plane, not 2",
    ),
    "links above the top": (
        {"switches.0.uplinks": 1},
        "switches.0.uplinks: must be 0 at the top, not 1",
    ),
    "no link": (
        {"switches.1.uplinks": 0},
        "switches.1.uplinks: must be a multiple of 1, the chiplets of l2 in a plane, not 0",
    ),
    "headers": (
        {"switches.1.protocol": {**SMALL["protocol"], "packet_flits": 8}},
        "switches.1.protocol.packet_flits: must be 4, as all ends of links have it, not 8",
    ),
    "addresses": (
        {
            "switches.1.controllers": 61,
            "switches.1.ports": 64,
            "switches.1.uplinks": 1,
            "switches.2.controllers": 62,
            "switches.2.ports": 64,
            "switches.2.npus": [3],
            "switches.1.npus": [0, 2],
            "npus": 4,
        },
        "npus: must each be connected to a switch, but NPU 1 is not",
    ),
    "flits": ({"lanes": 3}, "lanes: must make flits of 1, 2, 4, ... bytes, not of 6"),
    "controllers of another kind": (
        {"controllers": "memories"},
        "controllers: must be one of links, endpoints, not 'memories'",
    ),
    "endpoints at no controllers": (
        {
            "controllers": "endpoints",
            **{f"switches.{n}.{key}": value for n in (1, 2) for key, value in _BARE.items()},
        },
        "controllers: must be links where no switch has I/O controllers, not 'endpoints'",
    ),
    "replay": (
        {"endpoint.replay_packets": 64},
        "endpoint.replay_packets: must be 0 or at most window_packets 32, not 64",
    ),
}


@pytest.mark.parametrize(("changes", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_wafer_is_refused_in_a_line(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as refused:
        validate(WaferSpec, changed(changes), "file")
    said = refused.value
    assert ": ".join(filter(None, (said.field, said.message))) == message


def test_too_many_controllers_are_refused() -> None:
    ends = {
        f"switches.{n}.{key}": value
        for n in (1, 2)
        for key, value in {"controllers": 60, "ports": 64}.items()
    }
    ends["switches.1.controllers"], ends["switches.1.ports"] = 60, 64
    extra = {"name": "l1_2", "above": "l2", "chiplets": 1, "ports": 9, "uplinks": 2}
    data = changed({**ends, "switches.0.ports": 6})
    data["switches"].append({**extra, "controllers": 7})
    with pytest.raises(InputError, match=r"npus: must be at most 128 with .*, not 131$"):
        validate(WaferSpec, data, "file")


def test_names_tell_wafers_apart_but_not_planes() -> None:
    wafers = [
        WaferSpec.model_validate(changed(changes))
        for changes in (
            {},
            {"lanes": 2},
            {"switches.1.npus": [0, 2], "switches.2.npus": [1, 3]},
            {"switches.0.middle_switches": 2},
            {"switches.1.uplink_cycles": 2},
            {"switches.1.uplink_cycles": 2, "switches.2.uplink_cycles": 2},
            {"switches.1.spare": 1, "switches.1.ports": 6},
            {"controllers": "endpoints"},
        )
    ]
    assert len({one.name for one in wafers}) == len(wafers)
    twice = {f"switches.{n}.chiplets": 2 for n in range(3)}
    assert WaferSpec.model_validate(changed({"planes": 2, **twice})).name == wafers[0].name


def test_a_wafer_is_told_by_its_switches(tmp_path: Path) -> None:
    assert is_wafer(str(EXAMPLES / "wafer-4.yaml"))
    assert not is_wafer(str(EXAMPLES / "mesh-5x4.yaml"))
    assert not is_wafer(str(tmp_path / "missing.yaml"))


def test_ranges_and_defaults_are_those_of_the_reference() -> None:
    assert read_keys("wafer") == documented_keys("wafer") != []
