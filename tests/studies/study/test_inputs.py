"""Tests of studies.study.inputs."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from fred_hw.errors import InputError
from perfmodel.switch_timing.record import RECORDS
from perfmodel.topology.files import load_topology
from studies.study.inputs import (
    CombinationError,
    Inputs,
    TrainingResolver,
    options_of,
    topology_of,
)
from studies.study.training import TRAINING
from tests.documented import documented_keys, read_keys
from tests.written import written

EXAMPLES = Path(__file__).parents[3] / "examples"
BASE: dict[str, Any] = {"topology": "fred-d", "workload": "resnet-152"}


def inputs(folder: Path = Path(), **changes: Any) -> Inputs:
    given = {name.replace("__", "."): value for name, value in changes.items()}
    return TrainingResolver(folder / "s.yaml").inputs({**BASE, **given})


def key(one: Inputs) -> str:
    return TRAINING.key(one, "1")


def test_keys_follow_from_all_inputs_and_the_version() -> None:
    changes: list[dict[str, Any]] = [
        {},
        {"topology": "fred-c"},
        {"topology__l1_l2_bytes_per_s": 1e12},
        {"topology__l1__0__io_controllers": 2},
        {"topology__protocol": "ideal"},
        {"workload": "resnet-50"},
        {"workload__microbatches": 2},
        {"strategy": "MP1-DP2-PP1"},
        {"strategy__pp": 2},
        {"npu__peak_flops": 2e15},
        {"npu__efficiency__matmul": 0.5},
        {"algorithm": "auto"},
        {"placement": "linear"},
        {"network_model": "packet"},
        {"compute": "scaled:2"},
    ]
    found = [inputs(**one) for one in changes]
    assert len({key(one) for one in found}) == len(changes)
    assert key(found[0]) != TRAINING.key(found[0], "2")
    assert key(inputs(**changes[2])) == key(found[2])


def test_equal_inputs_have_one_key_however_they_are_written() -> None:
    one = inputs(topology="FRED-D", topology__protocol="measured", npu__peak_flops=2e15)
    other = inputs(npu__peak_flops="2.0e+15", algorithm="published", strategy=None)
    assert key(one) == key(other)


def test_null_leaves_a_field_as_its_file_has_it() -> None:
    assert key(inputs(topology__l1_l2_bytes_per_s=None)) == key(inputs())


def test_a_record_that_changes_changes_the_key(tmp_path: Path) -> None:
    record = (RECORDS / "l1-12.json").read_bytes()
    fabric = {"kind": "fred", "l1": [{"npus": 4, "io_controllers": 1, "record": "r.json"}] * 2}
    fabric |= {"l2_record": "l2-10", "l1_l2_bytes_per_s": 1e12, "in_network": True}
    written(tmp_path / "f.yaml", yaml.safe_dump(fabric))
    keys: list[str] = []
    for text in (record, record + b"\n"):
        written(tmp_path / "r.json", text)
        keys.append(key(inputs(tmp_path, topology="f.yaml")))
    assert keys[0] != keys[1]


@pytest.mark.parametrize(
    ("option", "value", "example", "old", "new"),
    [
        ("energy", "a.yaml", "energy.yaml", "operation_pj: 0.6", "operation_pj: 0.7"),
        ("endpoint", "core-driven:a.yaml", "endpoint.yaml", "cores: 4}", "cores: 5}"),
        ("endpoint", "ace:a.yaml", "endpoint.yaml", "cores: 4}", "cores: 5}"),
    ],
)
def test_a_file_of_an_option_that_changes_changes_the_key(
    tmp_path: Path, option: str, value: str, example: str, old: str, new: str
) -> None:
    text = (EXAMPLES / example).read_text()
    found: list[Inputs] = []
    for content in (text, text.replace(old, new)):
        written(tmp_path / "a.yaml", content)
        found.append(inputs(tmp_path, **{option: value}))
    assert key(found[0]) != key(found[1])
    assert [one.fields()[option] for one in found] == [value, value]
    path = value.replace("a.yaml", str(tmp_path / "a.yaml"))
    assert options_of(found[0].options)[option] == path


def test_the_key_has_what_a_file_of_an_option_says_and_no_comments(tmp_path: Path) -> None:
    text = (EXAMPLES / "energy.yaml").read_text()
    keys: set[str] = set()
    for content in (text, f"# A comment.\n{text}"):
        written(tmp_path / "a.yaml", content)
        keys.add(key(inputs(tmp_path, energy="a.yaml")))
    assert len(keys) == 1


@pytest.mark.parametrize(
    ("option", "value", "problem"),
    [
        ("energy", "none.yaml", r"none\.yaml: must be an existing file"),
        ("energy", "bad.yaml", r"bad\.yaml: operation_pj: is required"),
        (
            "energy",
            "none",
            r"must be one of wafer, measured, cluster or a path ending in \.yaml, not 'none'",
        ),
        ("endpoint", "ace:none.yaml", r"none\.yaml: must be an existing file"),
        ("endpoint", "core-driven:bad.yaml", r"bad\.yaml: npu: is required"),
        ("endpoint", "core:none.yaml", r"must be one of .*, not 'core:none\.yaml'"),
    ],
)
def test_a_bad_value_of_an_option_is_refused(
    tmp_path: Path, option: str, value: str, problem: str
) -> None:
    written(tmp_path / "bad.yaml", {"watts": 1})
    with pytest.raises(InputError, match=rf"s\.yaml: space\.{option}: {problem}"):
        inputs(tmp_path, **{option: value})


@pytest.mark.parametrize("topology", ["outer.yaml", "wafers:2xinner.yaml"])
def test_a_file_of_one_wafer_that_changes_changes_the_key(tmp_path: Path, topology: str) -> None:
    written(tmp_path / "outer.yaml", {"kind": "wafers", "wafers": 2, "wafer": "inner.yaml"})
    found: list[tuple[str, int]] = []
    for columns in (4, 2):
        mesh = {"kind": "mesh", "columns": columns, "rows": 4}
        written(tmp_path / "inner.yaml", mesh)
        one = inputs(tmp_path, topology=topology)
        found.append((key(one), topology_of(one.topology).npus))
    assert found[0][0] != found[1][0]
    assert [npus for _, npus in found] == [32, 16]


def test_files_of_a_linked_topology_are_those_of_an_estimate(tmp_path: Path) -> None:
    """Relative paths in a file start from the folder of the link to the file."""
    (tmp_path / "real").mkdir()
    outer = {"kind": "wafers", "wafers": 2, "wafer": "inner.yaml"}
    written(tmp_path / "real/outer.yaml", outer)
    written(tmp_path / "real/inner.yaml", {"kind": "mesh", "columns": 2, "rows": 2})
    written(tmp_path / "inner.yaml", {"kind": "mesh", "columns": 4, "rows": 2})
    (tmp_path / "link.yaml").symlink_to("real/outer.yaml")
    found = topology_of(inputs(tmp_path, topology="link.yaml").topology)
    assert found.npus == load_topology(tmp_path / "link.yaml").npus == 16


def test_a_topology_of_ns3_is_found_from_any_folder(tmp_path: Path) -> None:
    links = "0 2 100Gbps 0.001ms 0\n1 2 {rate}00Gbps 0.001ms 0\n"
    keys: list[str] = []
    for rate in (1, 2):
        written(tmp_path / "net.txt", "3 1 2\n2\n" + links.format(rate=rate))
        one = inputs(tmp_path, topology="net.txt")
        assert (one.topology.name, topology_of(one.topology).npus) == ("net.txt", 2)
        keys.append(key(one))
    assert keys[0] != keys[1]
    with pytest.raises(InputError, match=r"s\.yaml: space\.topology: none\.txt: must be an exist"):
        inputs(tmp_path, topology="none.txt")


def infragraph(gigabits: int) -> str:
    """Return two hosts of two NPUs at a switch."""
    rate = {"choice": "gigabits_per_second", "gigabits_per_second": gigabits}
    physical = {"bandwidth": rate, "latency": {"choice": "us", "us": 2}}
    components = [{"name": "xpu", "type": "xpu", "count": 2}, {"name": "nic", "type": "nic"}]
    node = {
        "name": "node",
        "components": components,
        "links": [{"name": "pcie"}],
        "connections": ["xpu.0.pcie.nic.0", "xpu.1.pcie.nic.0"],
    }
    instances = [
        {"name": "host", "device": "node", "count": 2},
        {"name": "leaf", "device": "generic-switch"},
    ]
    graph = {
        "devices": [node],
        "instances": instances,
        "links": [{"name": "eth", "physical": physical}],
        "connections": [f"host.{n}.nic.0.eth.leaf.0.port.{n}" for n in range(2)],
    }
    return json.dumps({"infrastructure": graph})


def test_a_topology_of_infragraph_is_that_of_an_estimate(tmp_path: Path) -> None:
    keys: list[str] = []
    for gigabits in (400, 800):
        path = written(tmp_path / "net.json", infragraph(gigabits))
        one = inputs(tmp_path, topology="net.json")
        assert topology_of(one.topology).links == load_topology(path).links
        keys.append(key(one))
    assert keys[0] != keys[1]
    changed = inputs(tmp_path, topology="net.json", topology__links__0__bytes_per_s=1e9)
    assert topology_of(changed.topology).links != load_topology(tmp_path / "net.json").links


def test_a_malformed_file_in_a_topology_is_refused(tmp_path: Path) -> None:
    written(tmp_path / "outer.yaml", {"kind": "wafers", "wafers": 2, "wafer": "inner.yaml"})
    written(tmp_path / "inner.yaml", "kind: [")
    line = r"s\.yaml: space\.topology: outer\.yaml: inner\.yaml: must be YAML"
    with pytest.raises(InputError, match=line):
        inputs(tmp_path, topology="outer.yaml")


def test_fields_have_dotted_paths() -> None:
    fields = inputs(strategy__dp=3, topology__l1__1__npus=2).fields()
    said = {name: fields[name] for name in ("dp", "pp", "workers", "topology.l1.1.npus")}
    assert said == {"dp": 3, "pp": 1, "workers": 3, "topology.l1.1.npus": 2}
    assert (fields["topology"], fields["workload.mode"]) == ("fred-d", "stationary")


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        (
            {"topolgy__l2": 1},
            "topolgy.l2: must begin with one of topology, .*; did you mean 'topology'",
        ),
        (
            {"topology__l1_l2_bytes": 1},
            "topology.l1_l2_bytes: unknown key; .*did you mean 'l1_l2_bytes_per_s'",
        ),
        (
            {"topology__l1_l2_bytes_per_s": -1},
            "topology.l1_l2_bytes_per_s: must be a number from 1 to 1e\\+24, not -1",
        ),
        ({"topology__l1__9__npus": 1}, "topology.l1.9.npus: must have an index below 2, not '9'"),
        ({"topology": "fred-x"}, "topology: must be one of .*; did you mean 'fred-"),
        ({"topology": "no.yaml"}, "topology: .*no.yaml: must be an existing file"),
        ({"topology": "a\0b/c.yaml"}, "topology: .*c.yaml: must be the name of a file"),
        ({"topology": 3}, "topology: must be a name or a file, not 3"),
        ({"workload": "resnet-15"}, "workload: must be one of .*did you mean 'resnet-152'"),
        ({"workload__microbatch": 1}, "workload.microbatch: unknown key; .*'microbatches'"),
        ({"strategy": "MP2"}, "strategy: must be like MP2-DP5-PP2, not 'MP2'"),
        ({"strategy__mp": 0}, "strategy.mp: must be 1 or more, not 0"),
        ({"strategy__mp": 1.5}, "strategy.mp: must be an integer, not 1.5"),
        ({"strategy__sp": 1}, "strategy.sp: must be true or false, not 1"),
        ({"strategy__tp": 1}, "strategy.tp: must be one of mp, dp, pp, cp, ep, sp"),
        ({"npu": "h100"}, "npu: must have fields such as npu.peak_flops, not 'h100'"),
        ({"npu__peak": 1}, "npu.peak: unknown key; .*did you mean 'peak_flops'"),
        ({"algorithm": "x"}, "algorithm: must be one of"),
        ({"algorithm__x": "auto"}, "algorithm.x: must begin with one of"),
        ({"remote_memory": "pool"}, "remote_memory: must be none, or a path ending in .yaml"),
        ({"remote_memory__num-nodes": 2}, "remote_memory.num-nodes: must have a file to change"),
    ],
)
def test_bad_fields_are_refused(changes: dict[str, Any], line: str) -> None:
    with pytest.raises(InputError, match=rf"^s\.yaml: space\.{line}"):
        inputs(**changes)


def test_values_that_do_not_go_together_are_told_apart() -> None:
    with pytest.raises(CombinationError, match="must have an EP that divides DP"):
        inputs(strategy="MP1-DP4-PP1", strategy__ep=3)


def test_ranges_and_defaults_are_those_of_the_reference() -> None:
    assert read_keys("study") == documented_keys("study") != []
