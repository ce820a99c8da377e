"""Tests of fred_hw.file_kinds: each shipped example is known as what it is."""

from collections.abc import Callable
from pathlib import Path

import pytest

from fred_cli.schemas.file_kind import FILES
from fred_hw import file_kinds
from fred_hw.errors import InputError
from fred_hw.file_kinds import file_kind
from fred_hw.load import PRESETS, load_spec, preset_path
from fred_hw.mesh.load import load_mesh
from fred_hw.reading import read_data
from fred_hw.wafer.load import load_wafer

EXAMPLES = Path(__file__).parents[2] / "examples"
KINDS = {
    "specification": file_kinds.SWITCH,
    "mesh": file_kinds.MESH,
    "wafer": file_kinds.WAFER,
    "topology": file_kinds.TOPOLOGY,
    "workload": file_kinds.WORKLOAD,
    "strategies": file_kinds.STRATEGIES,
    "study": file_kinds.STUDY,
    "cluster": file_kinds.CLUSTER,
    "libra": file_kinds.DESIGN,
    "architecture": file_kinds.ARCHITECTURE,
    "endpoint": file_kinds.ENDPOINT,
    "roce": file_kinds.ROCE,
    "astra-network": file_kinds.NETWORK,
    "astra-system": file_kinds.SYSTEM,
    "astra-memory": file_kinds.REMOTE_MEMORY,
}


def kinds_that_read(path: Path) -> set[str]:
    """Return the kinds of files that a file is read as."""
    found = set[str]()
    for name, kind in FILES.items():
        try:
            kind.read(path)
        except InputError:
            continue
        found.add(name)
    return found


@pytest.mark.parametrize(
    "path",
    [*sorted(EXAMPLES.glob("*.yaml")), *map(preset_path, PRESETS)],
    ids=lambda path: path.stem,
)
def test_kind_is_that_of_the_reader(path: Path) -> None:
    [name] = kinds_that_read(path)
    assert file_kind(read_data(path)) == KINDS.get(name)


@pytest.mark.parametrize("data", [None, 3, [], {}, {"kind": "other", "ports": 3}, {"name": "x"}])
def test_other_data_is_of_no_kind(data: object) -> None:
    assert file_kind(data) is None


def test_both_kinds_are_named() -> None:
    mesh = str(EXAMPLES / "mesh-5x4.yaml")
    with pytest.raises(InputError, match=r": must be a wafer .*, not a mesh .*$"):
        load_wafer(mesh)
    with pytest.raises(InputError, match=r"^SMALL-4: must be a mesh .*, not the preset .*$"):
        load_mesh("SMALL-4")


OTHERS = {"a.v": "Verilog", "a.SV": "SystemVerilog", "a.goal": "a schedule in GOAL"}


@pytest.mark.parametrize(("name", "kind"), OTHERS.items())
@pytest.mark.parametrize("load", [load_spec, load_mesh, load_wafer])
def test_files_of_other_suffixes_are_no_specifications(
    tmp_path: Path, load: Callable[[str], object], name: str, kind: str
) -> None:
    (tmp_path / name).write_text("module a; endmodule\n")
    message = rf"{name}: must be a (switch|mesh|wafer) specification, not {kind}$"
    with pytest.raises(InputError, match=message):
        load(str(tmp_path / name))


def test_a_specification_may_have_the_suffix_of_a_text(tmp_path: Path) -> None:
    path = tmp_path / "switch.txt"
    path.write_text("ports: 4\n")
    assert load_spec(str(path)).ports == 4
