"""Tests of gen.design and gen.emitter: what is generated, and that tools accept it."""

import json
import re
import subprocess
import sys
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
import yaml

from fred_hw.compiler.shape import configuration_width, microswitch_counts
from fred_hw.load import PRESETS, load_spec
from fred_hw.progress import listening
from fred_hw.spec import SwitchSpec
from gen.companions.companion import COMPANIONS, Companion
from gen.companions.core import core_file
from gen.design import Design, generate
from gen.write import write_files
from tests.gen.tools import check_icarus, check_lint

GOLDEN = Path(__file__).parent / "golden"
SMALL = ("tiny-2", "small-4", "odd-5", "demo-8")
LARGE = tuple(name for name in PRESETS if name not in SMALL)
MOST_LANES = 2  # the chiplets' 256 lanes are 256 equal instances
LARGEST = pytest.mark.xdist_group("64 ports")  # which one process generates
ALL = [
    *SMALL,
    *(
        pytest.param(name, marks=[pytest.mark.slow, *((LARGEST,) if name == "big-64" else ())])
        for name in LARGE
    ),
]
QUICK = ("tiny-2", "odd-5")
LINTED = [
    *QUICK,
    *(
        pytest.param(preset, marks=pytest.mark.long if preset == "big-64" else pytest.mark.slow)
        for preset in PRESETS
        if preset not in QUICK
    ),
]
KINDS = {
    "R": "r_microswitch_",
    "D": "d_microswitch_",
    "RD": "rd_microswitch_",
    "mux": "multiplexer_",
    "demux": "demultiplexer_",
}


@cache
def design_of(preset: str, most_lanes: int = MOST_LANES) -> Design:
    spec = load_spec(preset)
    return generate(spec.with_changes(lanes=min(spec.lanes, most_lanes)))


@pytest.mark.slow_after_first
@pytest.mark.parametrize("preset", ALL)
def test_each_distinct_module_stands_once(preset: str) -> None:
    design = design_of(preset)
    names = re.findall(r"^module (\S+?)\(", design.verilog, re.MULTILINE)
    assert sorted(names) == sorted(design.modules)
    assert all(re.fullmatch(r"[a-z][a-z0-9_]*", name) for name in names)


@pytest.mark.parametrize("preset", SMALL)
def test_instances_are_as_many_as_the_paper_has_microswitches(preset: str) -> None:
    design = design_of(preset)
    counts = {
        kind: sum(n for name, n in design.modules.items() if name.startswith(prefix))
        for kind, prefix in KINDS.items()
    }
    assert counts == microswitch_counts(design.spec.ports, design.spec.middle_switches)


@pytest.mark.slow
@LARGEST
def test_64_ports_of_16_lanes_stay_under_2_mb() -> None:
    design = design_of("big-64", 16)
    assert design.manifest["verilog_bytes"] < 2_000_000
    assert design.modules["fp16_add_a2"] == 16 * (422 + 243)


@pytest.mark.parametrize("preset", SMALL)
def test_manifest_tells_the_ports_of_the_verilog(preset: str) -> None:
    design = design_of(preset)
    top = re.search(rf"^module {design.name}\(.*?^endmodule", design.verilog, re.M | re.S)
    assert top is not None
    found = {
        (name, direction, int(high or 0) + 1)
        for direction, high, name in re.findall(
            r"^  (input|output) (?:\[(\d+):0\] )?(\w+);", top[0], re.MULTILINE
        )
    }
    listed = {(p["name"], p["direction"], p["width"]) for p in design.manifest["ports"]}
    assert listed == found
    assert ("i__0__valid", "input", 1) in listed
    assert ("o__1__data", "output", design.spec.data_width) in listed


@pytest.mark.parametrize("preset", SMALL)
def test_manifest_lays_the_configuration_out_without_gaps(preset: str) -> None:
    configuration = design_of(preset).manifest["configuration"]
    end = 0
    for place in configuration["fields"]:
        assert place["offset"] == end
        end += place["width"]
    assert end == configuration["width"]


@pytest.mark.slow
@pytest.mark.parametrize("hash_seed", ["0", "1"])
def test_text_does_not_depend_on_the_process(hash_seed: str) -> None:
    code = "from gen.design import generate; from fred_hw.load import load_spec; import sys; "
    code += "sys.stdout.write(generate(load_spec('odd-5')).verilog)"
    said = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONHASHSEED": hash_seed, "PATH": "/usr/bin:/bin"},
    )
    assert said.stdout == design_of("odd-5").verilog


def test_golden_verilog_is_unchanged() -> None:
    design = design_of("tiny-2")
    assert design.verilog == (GOLDEN / f"{design.name}.v").read_text()


@pytest.mark.sim
@pytest.mark.parametrize("preset", LINTED)
def test_verilator_finds_nothing_beyond_the_waivers(preset: str, tmp_path: Path) -> None:
    # Verilator looks at every instance, which takes minutes for thousands of equal lanes: of the
    # chiplets two, of 64 ports one.
    lanes = 1 if preset == "big-64" else 2 if preset in LARGE else MOST_LANES
    check_lint(design_of(preset, most_lanes=lanes), tmp_path)


@pytest.mark.sim
@pytest.mark.parametrize("preset", [*SMALL[:-1], pytest.param(SMALL[-1], marks=pytest.mark.slow)])
def test_icarus_accepts_it_as_verilog_2005(preset: str, tmp_path: Path) -> None:
    check_icarus(design_of(preset), tmp_path)


def test_core_file_names_files_that_exist(tmp_path: Path) -> None:
    design = design_of("small-4")
    write_files(design.files(), tmp_path)
    first, _, rest = (tmp_path / f"{design.name}.core").read_text().partition("\n")
    assert first == "CAPI=2:"
    core = yaml.safe_load(rest)
    # A file that is of another type than its fileset is a mapping of its name to that.
    named = [
        file if isinstance(file, str) else next(iter(file))
        for fileset in core["filesets"].values()
        for file in fileset["files"]
    ]
    read = [f"{design.name}{one.ending}" for one in COMPANIONS.values() if one.fileset]
    assert len(read) >= 3
    assert sorted(named) == sorted(read)
    assert {tmp_path / name for name in named} <= {*tmp_path.iterdir()}
    tops = {name: target["toplevel"] for name, target in core["targets"].items()}
    assert tops.pop("sim") == f"{design.name}_tb"
    assert {*tops.values()} == {design.name}


def test_new_companion_joins_the_core_by_its_fileset() -> None:
    xdc = Companion(".xdc", lambda _design: "", fileset="constraints", file_type="xdc")
    tcl = Companion(".tcl", lambda _design: "", fileset="flow", file_type="tclSource")
    with COMPANIONS.lending("newcomer", xdc), COMPANIONS.lending("another", tcl):
        core = yaml.safe_load(core_file("top", "1", "interconnect").partition("\n")[2])
    constraints = core["filesets"]["constraints"]
    assert constraints["file_type"] == "SDC"
    assert constraints["files"][0] == "top.sdc"
    assert constraints["files"][-1] == {"top.xdc": {"file_type": "xdc"}}
    assert core["filesets"]["flow"]["files"][-1] == "top.tcl"
    assert core["targets"]["default"]["filesets"][-1] == "flow"
    assert "lint" not in core["targets"]["default"]["filesets"]


def test_manifest_is_json_with_the_whole_specification() -> None:
    design = design_of("odd-5")
    manifest = json.loads(design.files()[f"{design.name}.json"])
    assert SwitchSpec(**manifest["spec"]) == design.spec


@pytest.mark.slow
@pytest.mark.parametrize("ports", [2, 3, 6, 11, 17, 23, 32, 47, 63])
def test_every_size_generates(ports: int) -> None:
    spec = SwitchSpec(ports=ports, middle_switches=3, format="int8", lanes=1)
    design = generate(spec)
    width = next(bits for name, _, bits in design.ports if name == "configuration")
    assert width == configuration_width(ports, spec.middle_switches)


def test_how_much_there_is_to_do_is_known_before_the_first_module_is_converted() -> None:
    told: list[tuple[str, int, int | None, int]] = []
    with listening(lambda *what: told.append(what)):
        design = generate(load_spec("tiny-2"))
    ((what, total),) = {(what, total) for what, _, total, _ in told}
    assert what == "bits" and total
    assert told[0][1] == 0 and told[-1][1:] == (total, total, 0)
    # One part for each module, two of Yosys, and the end; each begins where that before it ends.
    assert len(told) == len(design.modules) + 3
    assert all(done + size == then[1] for (_, done, _, size), then in pairwise(told))
    # Yosys is less than half of it.
    assert told[-3][1] > total / 2
