"""Tests of perfmodel.topology.files."""

import re
from pathlib import Path

import pytest

from fred_hw.errors import InputError
from perfmodel.topology.files import KINDS, EfficiencyEntry, load_topology
from perfmodel.topology.fred import FredTopology
from perfmodel.topology.mesh import MeshTopology
from perfmodel.training.compute import EFFICIENCY, npu_of
from perfmodel.workloads.layers import KINDS as OPERATORS
from tests.documented import documented_keys, read_keys
from tests.records import shipped
from tests.written import written

MESH = "kind: mesh\ncolumns: 3\nrows: 2\n"
FRED = """\
kind: fred
l1:
  - {count: 2, npus: 4, io_controllers: 4, record: l1-12}
  - {npus: 3, io_controllers: 0, record: l1-11}
l2_record: l2-10
l1_l2_bytes_per_s: 6e12
in_network: true
"""


def levels(entry: str) -> str:
    """Return the fabric with a level of switches in the place of its L2."""
    kept = [line for line in FRED.splitlines() if not line.startswith(("l2_", "l1_l2"))]
    return "\n".join([*kept, *(["levels:", f"  - {entry}"] if entry else []), ""])


def test_mesh_file_has_published_defaults(tmp_path: Path) -> None:
    wafer = load_topology(written(tmp_path / "wafer.yaml", MESH + "link_bytes_per_s: 1e12\n"))
    assert isinstance(wafer, MeshTopology)
    assert (wafer.npus, wafer.io_controllers) == (6, 10)
    assert {link.bytes_per_s for link in wafer.links} == {1e12, 128e9}


def test_fred_file_counts_switches(tmp_path: Path) -> None:
    wafer = load_topology(written(tmp_path / "wafer.yaml", FRED))
    assert isinstance(wafer, FredTopology)
    assert (wafer.npus, wafer.io_controllers, len(wafer.l1_nodes)) == (11, 8, 3)
    assert wafer.bisection_bytes_per_s() == 9e12
    assert wafer.in_network


def test_endpoints_take_time_if_they_have_a_record(tmp_path: Path) -> None:
    def wafer(more: str = "") -> FredTopology:
        found = load_topology(written(tmp_path / "wafer.yaml", FRED + more))
        assert isinstance(found, FredTopology)
        return found

    assert wafer().endpoint is None
    with_it = wafer("endpoint_record: endpoint\nmemory_latency_s: 34e-9\n")
    assert with_it.endpoint is not None
    assert any("endpoint" in str(one) for one in with_it.provenance.records)
    # With an ideal protocol endpoints take no time either, as switches.
    assert wafer("endpoint_record: endpoint\nprotocol: ideal\n").endpoint is None
    for text, message in {
        "memory_latency_s: 1e-9\n": r"memory_latency_s: must be given with endpoint_record",
        "endpoint_record: nowhere\n": r"endpoint_record: must be .*endpoint.*, not 'nowhere'",
    }.items():
        with pytest.raises(InputError, match=message):
            wafer(text)


def test_record_beside_the_file_is_found(tmp_path: Path) -> None:
    record = shipped("l1-12")
    record |= {"throughput_flits_per_cycle": 0.5, "switch": None}
    written(tmp_path / "mine.json", record)
    text = FRED.replace("l1-12", "mine.json") + "protocol: ideal\n"
    wafer = load_topology(written(tmp_path / "wafer.yaml", text))
    name = {wafer.link_name(i): link for i, link in enumerate(wafer.links)}
    assert name["npu_0 -> l1_0"].payload_bytes_per_s == 1.5e12
    assert name["l1_0 -> l2"].payload_bytes_per_s == 3e12
    assert name["npu_10 -> l1_2"].payload_bytes_per_s == 3e12


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kind: none\n", f"kind: must be one of {', '.join(KINDS)}, not 'none'"),
        ("columns: 3\n", "kind: is required and was not given"),
        (MESH + "depth: 2\n", "depth: unknown key; allowed are kind, npu, columns, rows, .*"),
        (MESH.replace("3", "0"), "columns: must be an integer from 1 to 256, not 0"),
        (MESH + "link_bytes_per_s: 0\n", "link_bytes_per_s: must be a number from 1 to .*, not 0"),
        (MESH + f"link_latency_s: 0x{2000 * 'f'}\n", "must be YAML, .* line 4: a number .*"),
        (MESH + "link_latency_s: !!int ''\n", "must be YAML, .* line 4: '' must .*"),
        (MESH + 'link_record: "x\\0.json"\n', r"link_record: must be .*, not 'x\\x00\.json'"),
        (MESH + "link_bytes_per_s: fast\n", "link_bytes_per_s: must be .* 1e.24, not 'fast'"),
        (MESH + "link_bytes_per_s: .inf\n", "link_bytes_per_s: must be .* 1e.24, not inf"),
        (MESH + "link_latency_s: '1_0'\n", "link_latency_s: must be .* 1e.06, not '1_0'"),
        (
            MESH + f"link_latency_s: 1{400 * '0'}\n",
            "link_latency_s: must be a .* 1e.06, not 10+\\.\\.\\.0+",
        ),
        (MESH + "1: 2\n", "1: unknown key; keys must be text, not 1"),
        (MESH + "link_latency_s: -1\n", "link_latency_s: must be a number from 0 to .*, not -1"),
        (
            MESH + "link_latency_s: true\n",
            "link_latency_s: must be a number from 0 to .*, not True",
        ),
        (MESH + "protocol: free\n", "protocol: must be one of measured, ideal, not 'free'"),
        (FRED + "protocol: true\n", "protocol: must be one of measured, ideal, not True"),
        ("kind: mesh\ncolumns: 1\nrows: 1\n", "must have 2 or more NPUs, not 1"),
        (FRED.replace("in_network: true\n", ""), "in_network: is required and was not given"),
        (
            FRED.replace("npus: 4", "npus: 0"),
            r"l1\.0\.npus: must be an integer from 1 to 64, not 0",
        ),
        (
            FRED.replace("count: 2, npus: 4", "count: 1025, npus: 64"),
            "l1: must have 2 to 65536 NPUs .*",
        ),
        (
            FRED.replace("count: 2, npus: 4", "count: 2, npus: 8"),
            r"l1\.0\.record: must be of a switch with 13 or more ports, .*, not .l1-12. with 12;.*",
        ),
        (
            FRED.replace("count: 2, npus: 4", "count: 10, npus: 4"),
            "l2_record: must be of a switch with 11 or more ports, .*, not 'l2-10' with 10; .*",
        ),
        (
            FRED + "levels: [{fan_in: 2, bytes_per_s: 1e12, record: l2-10}]\n",
            "l2_record: must not be given together with levels, not 'l2-10'",
        ),
        (FRED.replace("l2_record: l2-10\n", ""), "l2_record: is required .* given; or levels"),
        (
            FRED.replace("l1_l2_bytes_per_s: 6e12\n", ""),
            "l1_l2_bytes_per_s: is required .* given; or levels",
        ),
        (
            levels("{fan_in: 2, bytes_per_s: 1e12, record: l2-10}"),
            "levels: must join 3 L1 switches to one, not leave 2",
        ),
        (
            levels("{fan_in: 2, bytes_per_s: 1e12, record: l2-10}") + "  - {fan_in: 1}\n",
            r"levels\.1\.fan_in: must be an integer from 2 to 65536, not 1",
        ),
        (
            levels("{fan_in: 2, bytes_per_s: 0, record: l2-10}"),
            r"levels\.0\.bytes_per_s: must be a number from 1 to .*, not 0",
        ),
        (
            levels("{fan_in: 4, record: l2-10}"),
            r"levels\.0\.bytes_per_s: is required and was not given",
        ),
        (levels("") + "levels: []\n", r"levels: must have 1 or more entries, not \[\]"),
        (FRED + "interpolate: 1\n", "interpolate: must be a valid boolean, not 1"),
        (FRED.replace("l2-10", "l9"), "l2_record: must .*, not 'l9'"),
        (FRED.replace("l1-11", "l9"), r"l1\.1\.record: must .*, not 'l9'"),
        (
            levels("{fan_in: 4, bytes_per_s: 1e12, record: l9}"),
            r"levels\.0\.record: must .*, not 'l9'",
        ),
        (MESH + "link_record: l9\n", "link_record: must .*, not 'l9'"),
    ],
)
def test_bad_file_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = written(tmp_path / "wafer.yaml", text)
    with pytest.raises(InputError, match=rf"^{re.escape(str(path))}: {message}$"):
        load_topology(path)


@pytest.mark.parametrize("text", [MESH, FRED], ids=["mesh", "fred"])
def test_protocol_is_that_asked_for_then_that_of_the_file_then_measured(
    tmp_path: Path, text: str
) -> None:
    path = written(tmp_path / "wafer.yaml", text)
    assert [load_topology(path, one).protocol for one in (None, "ideal")] == ["measured", "ideal"]
    path = written(tmp_path / "wafer.yaml", text + "protocol: ideal\n")
    assert [load_topology(path, one).protocol for one in (None, "measured")] == [
        "ideal",
        "measured",
    ]


def test_efficiency_of_an_npu_has_every_kind_of_operator() -> None:
    assert tuple(sorted(EfficiencyEntry.model_fields)) == tuple(sorted(OPERATORS))


def test_rates_of_a_file_and_of_options_add_up(tmp_path: Path) -> None:
    path = tmp_path / "mesh.yaml"
    npu = "{hbm_bytes: 1e11, peak_flops: 1e15, efficiency: {matmul: 0.5, attention: 0.25}}"
    path.write_text(f"kind: mesh\ncolumns: 2\nrows: 2\nnpu: {npu}\n")
    wafer = load_topology(path)
    changed = wafer.with_npu({"peak_flops": 2e15, "efficiency": {"matmul": 0.75}})
    found = npu_of(changed.npu_rates)
    assert (found.peak_flops, found.hbm_bytes) == (2e15, 1e11)
    assert found.efficiency == {**EFFICIENCY, "matmul": 0.75, "attention": 0.25}
    assert npu_of(wafer.npu_rates).efficiency["matmul"] == 0.5
    assert wafer.with_npu({}) is wafer


def test_ranges_and_defaults_are_those_of_the_reference() -> None:
    assert read_keys("topology") == documented_keys("topology") != []
