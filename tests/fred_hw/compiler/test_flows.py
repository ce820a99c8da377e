"""Tests of fred_hw.compiler.flows."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from fred_hw.compiler.flows import Flow, check_flows, read_flows
from fred_hw.errors import InputError
from tests.documented import documented_keys, read_keys

BAD_SIDES = [
    (3, TypeError, "must be a list of port numbers, not 3"),
    ("12", TypeError, "must be a list of port numbers, not '12'"),
    (None, TypeError, "must be a list of port numbers, not None"),
    ([True], TypeError, "must be port numbers, not True"),
    ([1.0], TypeError, "must be port numbers, not 1.0"),
    ([-1], ValueError, "must be port numbers from 0, not -1"),
    ([], ValueError, "must be at least one port, not none"),
    ([2, 1, 2], ValueError, "must be different ports, not [2, 1, 2]"),
]


@pytest.mark.parametrize(("ports", "kind", "message"), BAD_SIDES)
def test_bad_side_is_refused(ports: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=f"^Flow inputs {re.escape(message)}$"):
        Flow(ports, (0,))
    with pytest.raises(kind, match=f"^Flow outputs {re.escape(message)}$"):
        Flow((0,), ports)


def test_ports_are_sorted() -> None:
    flow = Flow([3, 1], {2, 0})
    assert (flow.inputs, flow.outputs) == ((1, 3), (0, 2))
    assert flow == Flow((1, 3), (0, 2)) and hash(flow) == hash(Flow((1, 3), (0, 2)))
    assert str(flow) == "[1, 3] -> [0, 2]"


def test_disjoint_flows_pass() -> None:
    flows = check_flows(iter([Flow((0,), (1,)), Flow((1,), (0,))]), 2)
    assert flows == (Flow((0,), (1,)), Flow((1,), (0,)))


@pytest.mark.parametrize(
    ("flows", "message"),
    [
        (
            [Flow((0,), (0,)), Flow((1,), (4,))],
            "outputs of flow 1 must be ports from 0 to 3, not 4",
        ),
        (
            [Flow((3,), (0,)), Flow((0,), (1,)), Flow((2, 3), (2,))],
            "inputs of flow 2 must be disjoint from those of flow 0, not share port 3",
        ),
        (
            [Flow((0,), (1,)), Flow((1,), (1, 2))],
            "outputs of flow 1 must be disjoint from those of flow 0, not share port 1",
        ),
    ],
)
def test_flows_that_cannot_be_active_at_once_are_refused(flows: list[Flow], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        check_flows(flows, 4)


def test_other_than_a_flow_is_refused() -> None:
    with pytest.raises(TypeError, match=r"^flow 0 must be a Flow, not \(\(0,\), \(1,\)\)$"):
        check_flows([((0,), (1,))], 4)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize("write", [yaml.safe_dump, json.dumps])
def test_flows_are_read_as_written(tmp_path: Path, keyed: bool, write: Any) -> None:
    flows = (Flow((0, 1), (2,)), Flow((2,), (0, 3)))
    data = [flow.to_dict() for flow in flows]
    path = tmp_path / "flows.yaml"
    path.write_text(write({"flows": data} if keyed else data))
    assert read_flows(path, 4) == flows


@pytest.mark.parametrize(
    ("text", "field", "message"),
    [
        ("3", "", "must be a list of flows, not 3"),
        ("flows: 3", "flows", "must be a list of flows, not 3"),
        ("{flows: [], other: 1}", "other", "unknown key; allowed are flows"),
        ("[3]", "0", "must be a mapping of keys to values, not 3"),
        ("[{inputs: [0]}]", "0.outputs", "is required and was not given"),
        (
            "[{inputs: [0], outputs: [1], name: a}]",
            "0.name",
            "unknown key; allowed are inputs, outputs",
        ),
        (
            "flows: [{inputs: [], outputs: [1]}]",
            "flows.0.inputs",
            "must be at least one port, not none",
        ),
        ("[{inputs: [0], outputs: [true]}]", "0.outputs", "must be port numbers, not True"),
        ("[{inputs: [0], outputs: x}]", "0.outputs", "must be a list of port numbers, not 'x'"),
        (
            "flows: [{inputs: [0], outputs: [1]}, {inputs: [8], outputs: [2]}]",
            "flows.1.inputs",
            "must be ports from 0 to 7, not 8",
        ),
        (
            "[{inputs: [0], outputs: [1]}, {inputs: [1], outputs: [1]}]",
            "1.outputs",
            "must be disjoint from those of flow 0, not share port 1",
        ),
    ],
)
def test_bad_file_is_refused_by_field(tmp_path: Path, text: str, field: str, message: str) -> None:
    path = tmp_path / "flows.yaml"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_flows(path, 8)
    assert (caught.value.source, caught.value.field) == (str(path), field)
    assert caught.value.message == message


def test_ranges_and_defaults_are_those_of_the_reference() -> None:
    assert read_keys("flows") == documented_keys("flows") != []
