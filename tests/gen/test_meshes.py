"""Tests of meshes and routers: lint, other tools, the same text each time, and files beside."""

import json
import re
from functools import cache
from pathlib import Path

import pytest

from fred_hw.mesh.plan import DIRECTIONS
from fred_hw.mesh.spec import MeshSpec
from gen.design import Design, file_names, generate
from testbench.sim.kept import kept
from testbench.sim.tools import icarus_bin
from tests.gen.tools import icarus, lint

SPECS = {
    "column": MeshSpec(width=1, height=2, lanes=1, format="int8", controllers=False),
    "row with controllers": MeshSpec(width=3, height=1, lanes=1, routing="odd_even"),
    "four kinds of corners": MeshSpec(width=2, height=2, lanes=1, controllers=False),
    "corners that tell": MeshSpec(
        width=2, height=2, lanes=1, controllers=False, routing="odd_even_adaptive"
    ),
    "ring": MeshSpec(width=3, height=1, lanes=1, controllers=False, routing="dateline", wrap=True),
}
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("meshes")]  # each is generated once
each = pytest.mark.parametrize(
    "name",
    [
        "column",
        "row with controllers",
        # Simulated in tests/testbench/cosimulation.
        pytest.param("four kinds of corners", marks=pytest.mark.long),
        "corners that tell",
        "ring",
    ],
)


@cache
def design_of(name: str, level: str = "mesh") -> Design:
    return kept(generate, SPECS[name], level=level)


def written(design: Design, folder: Path) -> dict[str, str]:
    files = design.files()
    for name, text in files.items():
        (folder / name).write_text(text)
    return files


@pytest.mark.sim
@pytest.mark.parametrize("name", list(SPECS))
def test_verilator_finds_nothing(name: str, tmp_path: Path) -> None:
    design = design_of(name)
    written(design, tmp_path)
    files = f"{design.name}.vlt", f"{design.name}.v"
    assert lint(tmp_path, design.name, *files) == (0, "")


@pytest.mark.sim
@pytest.mark.skipif(icarus_bin() is None, reason="Icarus is not installed")
@each
def test_icarus_reads_it(name: str, tmp_path: Path) -> None:
    design = design_of(name)
    written(design, tmp_path)
    assert icarus(tmp_path, f"{design.name}.v") == (0, "")


def test_text_is_the_same_each_time() -> None:
    name = "column"
    assert generate(SPECS[name], level="mesh") == design_of(name)


@each
def test_each_kind_of_router_is_one_module_and_each_router_an_instance(name: str) -> None:
    mesh, design = SPECS[name], design_of(name)
    kinds = {one.directions for one in mesh.plan.units}
    routers = {key: n for key, n in design.modules.items() if key.startswith("mesh_router_")}
    assert (len(routers), sum(routers.values())) == (len(kinds), mesh.routers)
    defined = re.findall(r"^module (\w+)", design.verilog, re.MULTILINE)
    assert sorted(defined) == sorted(design.modules)
    assert defined[-1] == design.name == mesh.name


def test_a_router_alone_has_all_its_ports() -> None:
    design = design_of("column", "router")
    links = {port.split("_")[0] for port, _, _ in design.ports if "_axis_" in port}
    assert links == {f"{letter}{k}" for letter in "sm" for k in range(len(DIRECTIONS))}
    assert design.modules[design.name] == 1


@pytest.mark.parametrize("level", ["mesh", "router"])
def test_files_are_those_that_are_foretold(level: str) -> None:
    design = design_of("column", level)
    assert list(design.files()) == file_names(SPECS["column"], level)


def test_manifest_tells_ports_and_addresses() -> None:
    design = design_of("row with controllers")
    (text,) = (text for file, text in design.files().items() if file.endswith(".json"))
    said = json.loads(text)
    assert said["addresses"][:4] == [
        [0, 0, "local"],
        [1, 0, "local"],
        [2, 0, "local"],
        [0, 0, "north"],
    ]
    assert len(said["addresses"]) == 3 + 8
    widths = {port["name"]: port["width"] for port in said["ports"]}
    assert (widths["s10_axis_tdata"], widths["up"]) == (16, 11)
    assert said["link_digest"] == SPECS["row with controllers"].link.digest
    assert said["replay"]["longest_path"] == {
        "links": 4,
        "units": 3,
        "round_trip_cycles": 4 * 47 + 2 * 3 * 8,
    }


def test_manifest_of_a_router_of_a_torus_has_the_buffers_between_routers() -> None:
    (text,) = (
        text for file, text in design_of("ring", "router").files().items() if file.endswith(".json")
    )
    said = json.loads(text)
    between = said["between_routers"]
    assert said["streams"]["circuits"] == {"mp": 0, "pp": 1, "dp": 2, "control": 15}
    names = ("mp_0", "mp_1", "pp_0", "pp_1", "dp_0", "dp_1")
    assert between["circuits"] == {name: k for k, name in enumerate(names)} | {"control": 15}
    assert between["link_digest"] != said["link_digest"]
    assert "between_routers" not in json.loads(
        next(t for f, t in design_of("column", "router").files().items() if f.endswith(".json"))
    )


def test_other_levels_are_refused() -> None:
    with pytest.raises(TypeError, match=r"^spec of level switch must be a SwitchSpec, not Mesh"):
        generate(SPECS["column"], level="switch")


def test_endpoints_of_two_ports_to_read_change_no_mesh() -> None:
    """They are beside routers, not in them."""
    spec = SPECS["column"]
    endpoint = spec.endpoint.model_copy(update={"read_ports": 2})
    other = kept(generate, spec.with_changes(endpoint=endpoint), level="mesh")
    assert other.verilog == design_of("column").verilog


@pytest.mark.parametrize("level", ["router", "endpoint"])
def test_units_of_a_mesh_whose_sources_choose_ways_say_so(level: str, tmp_path: Path) -> None:
    plain = MeshSpec(width=2, height=2, lanes=1, format="int8", controllers=False)
    said = []
    for mesh in (plain, plain.with_changes(routing="odd_even_adaptive")):
        design = kept(generate, mesh if level == "router" else mesh.link, level=level)
        (text,) = (text for file, text in design.files().items() if file.endswith(".json"))
        said.append(json.loads(text))
        written(design, tmp_path)
        if level == "endpoint":  # other routers are read above
            files = f"{design.name}.vlt", f"{design.name}.v"
            assert lint(tmp_path, design.name, *files) == (0, "")
    assert said[0]["link_digest"] != said[1]["link_digest"]
    assert said[0]["name"] != said[1]["name"]
    assert said[0]["streams"]["tuser"] == said[1]["streams"]["tuser"]
    assert said[1]["streams"]["crowding"]["south"] == [40, 4]
    assert "crowding" not in said[0]["streams"]
