"""Tables that pages have beside the code name all that is there, and nothing else."""

import re

import pytest

from fred_hw.control.switch_map import CAUSES, COUNTERS, PORT_COUNTERS, switch_map
from fred_hw.mesh.load import load_mesh
from fred_hw.protocol import HEADER_FIELDS, SHARED_SIZES
from fred_hw.spec import SwitchSpec
from fred_hw.wafer.load import load_wafer
from gen.replay import LongestPath, longest_in_mesh, longest_in_plane, replay_on_path
from perfmodel.training.compute_model import COMPUTE_MODELS
from synth.classes import CLASSES, UNKNOWN
from tests.records import shipped

from .pages import ROOT

MESH = "examples/mesh-5x4.yaml"


def rows(page: str, heading: str) -> list[list[str]]:
    """Return the cells of the first table behind a line of a page, its head left out."""
    text = (ROOT / page).read_text(encoding="utf-8").partition(f"\n{heading}\n")[2]
    lines = re.search(r"^\|.*\n\| ---.*\n((?:\|.*\n)+)", text, re.MULTILINE)
    assert lines, f"{page} has no table behind {heading}"
    return [[cell.strip() for cell in line[1:-1].split("|")] for line in lines[1].splitlines()]


def names(cell: str) -> list[str]:
    return re.findall(r"`(\w+)`", cell)


def test_driver_page_says_of_every_error_what_to_do() -> None:
    told = rows("docs/how-to/driver.md", "## Interrupts and errors")
    assert sorted(name for cause, *_ in told for name in names(cause)) == sorted(CAUSES)
    assert all(reason and remedy for _, reason, remedy in told)


def test_verification_page_names_the_tests_of_each_rule() -> None:
    told = rows("docs/explanation/verification.md", "## Rules of the switch")
    for rule, tests in told:
        assert names(tests), rule
        linked = re.findall(r"\[`(\w+)`\]\((?:\.\./)+([\w/.]+)\)", tests)
        assert [name for name, _ in linked] == names(tests)
        for name, file in linked:
            assert re.search(rf"^(async )?def {name}\(", (ROOT / file).read_text(), re.MULTILINE), (
                name
            )


def test_synthesis_page_has_every_class_of_area() -> None:
    told = rows("docs/explanation/synthesis.md", "## What is counted where")
    assert [name for name, _ in told] == [*CLASSES, UNKNOWN]
    assert all(hardware for _, hardware in told)


def test_wafer_page_has_every_model_of_compute_but_the_usual_one() -> None:
    told = rows("docs/explanation/wafer-model.md", "### Compute models")
    assert [name.strip("`") for name, *_ in told] == list(COMPUTE_MODELS)[1:]


def test_endpoint_page_has_what_replay_takes_in_fabrics() -> None:
    """As manifests have it, which have what the endpoint keeps beside it."""
    page = (ROOT / "docs/reference/endpoint.md").read_text(encoding="utf-8")
    told = dict(re.findall(r"^\| `(examples/[\w.-]+)` \| (.*) \|$", page, re.MULTILINE))
    wafer, mesh = load_wafer(f"{ROOT}/examples/wafer-20.yaml"), load_mesh(f"{ROOT}/{MESH}")
    ways = {
        "examples/wafer-20.yaml": replay_on_path(wafer.link, longest_in_plane(wafer)),
        MESH: replay_on_path(mesh.link, longest_in_mesh(mesh)),
    }
    assert told.keys() == ways.keys()
    for name, said in ways.items():
        figures = [*said["longest_path"].values(), said["packets_for_full_rate"], said["packets"]]
        bound = f"`{said['bound']}`" if said["bound"] else ""
        cells = [cell.strip() for cell in told[name].split("|")]
        assert cells == [*map(str, figures), bound]
    neighbours = LongestPath(links=3, units=2, unit_cycles=16)
    trip = neighbours.round_trip_cycles(mesh.protocol.round_trip_cycles)
    assert f"where {mesh.protocol.replay_for(trip)} packets suffice" in page
    other = load_mesh(f"{ROOT}/{MESH}", {"protocol.round_trip_cycles": 59})
    said = replay_on_path(other.link, longest_in_mesh(other))
    assert (
        f"the round trip is {said['longest_path']['round_trip_cycles']} cycles and full rate "
        f"takes {said['packets_for_full_rate']} packets" in " ".join(page.split())
    )


def test_page_on_schedules_has_the_cycles_of_the_record_of_trees() -> None:
    """Each row of the page is measured, and is nearly as long as its steps if these suffice."""
    measured: dict[tuple[int, ...], int] = {}
    for row in shipped("mesh-4x4-trees")["rows"]:
        block = row["flits"] // 16
        measured[row["steps"], block, row["step_cycles"] - block] = row["cycles"]
    told = rows("docs/explanation/schedules.md", "The record `mesh-4x4-trees` has all rows:")
    for mesh, *cells in told:
        steps, block, setup, cycles, beyond = (int(one.replace(",", "")) for one in cells)
        assert (mesh, cycles) == ("4 x 4", measured[steps, block, setup])
        assert beyond == cycles - steps * (block + setup)
        assert (beyond <= 150) == (setup == 280)
    assert len(told) == 4


def test_protocol_page_has_the_places_of_all_fields() -> None:
    text = (ROOT / "docs/reference/protocol.md").read_text(encoding="utf-8")
    fields = re.findall(r"^\| (`.*`) \| ([\d:, ]+) \|", text, re.MULTILINE)
    said = {
        name: place
        for cell, places in fields
        for name, place in zip(names(cell), places.split(", "), strict=True)
    }
    [handshakes] = re.findall(r"^The flits of the .*: (`.*)\.$", text, re.MULTILINE)
    said |= dict(re.findall(r"`(\w+)` ([\d:]+)", handshakes))
    assert said == {
        name: f"{low + bits - 1}:{low}" if bits > 1 else f"{low}"
        for name, (low, bits) in HEADER_FIELDS.items()
    }


def test_protocol_page_names_what_both_ends_must_have_alike() -> None:
    text = (ROOT / "docs/reference/protocol.md").read_text(encoding="utf-8")
    [said] = re.findall(r"`digest` is a hash of (.*?)\. ", text, re.DOTALL)
    assert sorted(names(said)) == sorted(SHARED_SIZES)


def test_page_on_registers_names_the_free_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (ROOT / "docs/how-to/extend/register.md").read_text(encoding="utf-8")
    [said] = re.findall(r"^\*\*Free addresses\*\*: (.*?)\. A register", text, re.M | re.S)
    [behind] = re.findall(r"from (0x\w+) on", said)
    single, first, more = (
        range(int(a, 16), int(b, 16) + 1) for a, b in re.findall(r"(0x\w+) to (0x\w+)", said)
    )
    assert (len(first) + len(more)) % 0x100 == 0
    for number in range((len(first) + len(more)) // 0x100 - len(PORT_COUNTERS)):
        monkeypatch.setitem(PORT_COUNTERS, f"new_{number}", "Events")
    largest = switch_map(SwitchSpec(ports=64, middle_switches=8, format="fp32", lanes=256))
    assert max(one.end for one in largest.registers) == int(behind, 16) == more.stop
    for names, spaces in ((COUNTERS, (single,)), (PORT_COUNTERS, (first, more))):
        inside = {
            one.name
            for one in largest.registers
            if any(one.address < space.stop and space.start < one.end for space in spaces)
        }
        assert inside == {name.upper() for name in names}
