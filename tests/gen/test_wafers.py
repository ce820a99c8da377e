"""Tests of planes of wafers: lint, text that is the same for more planes, and what lies beside."""

import json
import re
from functools import cache
from pathlib import Path

import pytest

from fred_hw.reading import read_data
from fred_hw.wafer.plane import Plane
from fred_hw.wafer.spec import WaferSpec
from gen.design import Design, file_names, generate
from gen.wafer_top import modules_of, wafer_ports, wafer_top
from testbench.sim.kept import kept
from testbench.sim.tools import icarus_bin
from tests.gen.tools import icarus, lint, with_ports_alone

EXAMPLE = Path(__file__).parents[2] / "examples/wafer-4.yaml"
SIZES = "f8_k4_r24_b6_a4_w32"
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("wafer")]


def wafer(planes: int = 1) -> WaferSpec:
    data = read_data(EXAMPLE)
    assert isinstance(data, dict)
    switches = [{**one, "chiplets": planes} for one in data["switches"]]
    changes = {"planes": planes, "switches": switches}
    return WaferSpec.model_validate({**data, **changes})


@cache
def design() -> Design:
    return kept(generate, wafer(), level="wafer")


def written(folder: Path) -> str:
    for name, text in design().files().items():
        (folder / name).write_text(text)
    return design().name


def alone(folder: Path, made: Design) -> tuple[str, list[str]]:
    """Write a design with nothing inside its units; return the top and all files."""
    top, inside = with_ports_alone(made.verilog, made.name)
    (folder / f"{made.name}.v").write_text(top)
    (folder / "inside.v").write_text(inside)
    (folder / "inside.vlt").write_text('`verilator_config\nlint_off -file "*inside.v"\n')
    assert len(re.findall("^module", inside, re.M)) == len(made.modules) - 1
    return top, ["inside.vlt", "inside.v", f"{made.name}.v"]


@pytest.mark.sim
def test_verilator_finds_nothing_in_the_top(tmp_path: Path) -> None:
    top, files = alone(tmp_path, design())
    name = design().name
    assert lint(tmp_path, name, *files) == (0, "")
    wire = re.search(r"\.s0_axis_tdata\((\w+)\)", top)
    assert wire
    (tmp_path / f"{name}.v").write_text(top.replace(wire[0], f".s0_axis_tdata({wire[1]}[0])", 1))
    status, said = lint(tmp_path, name, *files)
    assert status and "WIDTHEXPAND" in said


@pytest.mark.sim
@pytest.mark.slow
def test_verilator_finds_nothing(tmp_path: Path) -> None:
    name = written(tmp_path)
    assert lint(tmp_path, name, f"{name}.vlt", f"{name}.v") == (0, "")


@pytest.mark.sim
@pytest.mark.slow
@pytest.mark.skipif(icarus_bin() is None, reason="Icarus is not installed")
def test_icarus_reads_it(tmp_path: Path) -> None:
    name = written(tmp_path)
    assert icarus(tmp_path, f"{name}.v") == (0, "")


@pytest.mark.sim
def test_endpoints_may_have_two_ports_to_read(tmp_path: Path) -> None:
    """They leave the plane, of each NPU and of each controller that has an endpoint."""
    endpoint = wafer().endpoint.model_copy(update={"read_ports": 2})
    switch = {"name": "only", "chiplets": 1, "ports": 3, "npus": [0, 1], "controllers": 1}
    smaller = {"npus": 2, "switches": [switch], "controllers": "endpoints"}
    made = kept(generate, wafer().with_changes(endpoint=endpoint, **smaller), level="wafer")
    assert lint(tmp_path, made.name, *alone(tmp_path, made)[1]) == (0, "")
    widths = {name: bits for name, _, bits in made.ports}
    for end in ("npu0", "npu1", "io2"):
        assert widths[f"{end}_m_axis_operand_read_tdata"] == 40
        assert widths[f"{end}_s_axis_operand_data_tdata"] == 16


def test_each_distinct_module_is_there_once() -> None:
    made = design()
    defined = re.findall(r"^module (\w+)", made.verilog, re.MULTILINE)
    assert sorted(defined) == sorted(made.modules)
    assert defined[-1] == made.name
    kinds = {f"fred_m3_p{ports}_fp16x1_switch_link_{SIZES}": n for ports, n in ((4, 1), (5, 2))}
    (npu,) = (name for name in made.modules if name.startswith("npu_"))
    assert {name: made.modules[name] for name in (*kinds, npu)} == {**kinds, npu: 4}


def test_a_plane_of_more_planes_is_the_same_text() -> None:
    """No wire joins planes, so each is the module of all."""
    one, four = (wafer(planes) for planes in (1, 4))
    modules = modules_of(one)
    assert modules_of(four) == modules
    assert wafer_top(Plane(one), modules) == wafer_top(Plane(four), modules)
    assert wafer_ports(Plane(four), modules) == list(design().ports)


def test_controllers_may_have_endpoints_too() -> None:
    """Then nothing of a link leaves the plane, and each is joined to its port of the chiplet."""
    one = wafer().with_changes(controllers="endpoints")
    modules = modules_of(one)
    assert modules == modules_of(wafer())
    names = {port[0] for port in wafer_ports(Plane(one), modules)}
    ends = ("npu0", *(f"io{address}" for address in (4, 5)))
    for end in ends:
        assert {f"{end}_m_axis_read_tdata", f"{end}_s_axil_awvalid", f"{end}_irq"} <= names
    assert not {name for name in names if name.startswith(("io4_s_axis_t", "io4_m_axis_t"))}
    top = wafer_top(Plane(one), modules)
    assert top.count(f"  {modules['npu'].name} u_") == 6
    (home,) = re.findall(r"u_l1_1 \(\n(.*?)\n  \);", top, re.DOTALL)
    assert ".s2_axis_tdata(io5_up_tdata)" in home and ".m2_axis_tdata(l1_1_2_tdata)" in home
    (end,) = re.findall(r"u_io5 \(\n(.*?)\n  \);", top, re.DOTALL)
    assert ".m_axis_tdata(io5_up_tdata)" in end and ".s_axis_tdata(l1_1_2_tdata)" in end


def test_manifest_tells_chiplets_and_links() -> None:
    (text,) = (text for file, text in design().files().items() if file.endswith(".json"))
    said = json.loads(text)
    assert list(design().files()) == file_names(wafer(), "wafer")
    assert said["chiplets"]["l2"]["links"] == [["l1_0", 3], ["l1_0", 4], ["l1_1", 3], ["l1_1", 4]]
    assert said["chiplets"]["l1_1"]["links"][:3] == [["npu2", 0], ["npu3", 0], ["io5", 0]]
    widths = {port["name"]: port["width"] for port in said["ports"]}
    assert (widths["io5_s_axis_tdata"], widths["npu3_m_axis_read_tdata"]) == (16, 40)
    assert "l1_0_s_axil_awvalid" in widths and "npu0_s_axis_tdata" not in widths
    assert said["planes"] == 1
    # Four links of 24 cycles there and back, three switches with interconnects of 7, 12 and 7.
    replay = said["replay"]
    assert replay["longest_path"] == {"links": 4, "units": 3, "round_trip_cycles": 214}
    assert (replay["packets"], replay["packets_for_full_rate"]) == (32, 4 + 54 + 1)
    assert replay["bound"] == "protocol.window_packets"
