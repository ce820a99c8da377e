"""Tests of docs.generate: what is committed is what the hardware and its docstrings give."""

import inspect
import subprocess
import sys

import pytest

from docs.generate.__main__ import DIAGRAMS, DOCS, WHOLE
from docs.generate.catalogue import parts as told
from docs.generate.catalogue import sizes, units
from docs.generate.files import found_files, says
from docs.generate.pages import PAGES
from fred_hw.datapath.benes import Benes
from fred_hw.datapath.reduction import reduction_unit
from fred_hw.endpoint_spec import EndpointSpec
from fred_hw.formats.number_format import FORMATS
from fred_hw.operations.operation import fitting
from fred_hw.protocol import ProtocolSpec
from fred_hw.spec import SwitchSpec
from fred_hw.unit import Unit
from tests.fred_hw.specs import sizes_of_units

UNITS = {unit.__name__: unit for unit in units()}
LANES: dict[type[Unit], dict[str, str]] = {}
for form in FORMATS:
    for operation in fitting(FORMATS[form]):
        unit = type(reduction_unit(FORMATS[form], operation, "saturate", 0))
        LANES.setdefault(unit, {"format": form, "operation": operation})
SPECS = [  # each unit of a lane in one
    SwitchSpec(ports=3, lanes=1, protocol=ProtocolSpec(phases=2)).with_changes(**lane)
    for lane in LANES.values()
]
SPECS.append(SPECS[0].with_changes(middle_switches=2))  # what only two middle subswitches need
SPECS.append(SPECS[0].with_changes(network="crossbar"))
SPECS.append(SPECS[0].with_changes(format="fp16", operation="sum", accumulation="fp32"))
SPECS.append(SPECS[0].with_changes(endpoint=EndpointSpec(schedule_entries=4)))
SPECS.append(SPECS[0].with_changes(ports=4))  # a power of two, as Benes networks need


@pytest.mark.slow
def test_committed_pages_and_figures_are_fresh() -> None:
    made = [sys.executable, "-m", "docs.generate", "--check"]
    found = subprocess.run(made, cwd=DOCS.parent, capture_output=True, text=True, check=False)
    assert found.returncode == 0, f"make docs writes them:\n{found.stderr}"


def test_every_file_says_what_it_is() -> None:
    found = found_files()
    assert {path.suffix for path in found} == {".py", ".hpp", ".cpp", ".v"}
    assert [path.name for path in found if not says(path)] == []


def parts(unit: type[Unit], spec: SwitchSpec) -> set[str]:
    """Return the classes of the public units that are submodules of a unit."""
    sizes = sizes_of_units(spec)
    taken = {name: sizes[name] for name in inspect.signature(unit).parameters}
    inside = vars(unit(**taken).built())["_named_submodules"].values()
    return {type(one).__name__ for one, *_ in inside if isinstance(one, Unit)} & UNITS.keys()


@pytest.mark.slow
@pytest.mark.parametrize("name", DIAGRAMS)
def test_boxes_are_the_units_inside(name: str) -> None:
    blocks = DIAGRAMS[name]
    found: set[str] = set()
    for unit in map(UNITS.__getitem__, blocks.inside):
        specs = [spec for spec in SPECS if unit is not Benes or spec.ports == 4]
        stand = {part for spec in specs for part in parts(unit, spec)}
        assert stand - {unit.__name__} == told(unit), unit
        found |= stand
    assert found - set(blocks.inside) == blocks.units() - set(blocks.inside)


def test_every_unit_is_drawn() -> None:
    drawn = {unit for blocks in DIAGRAMS.values() for unit in (*blocks.units(), *blocks.inside)}
    assert drawn == set(UNITS)


def test_sizes_lead_to_the_files_that_go_by_them() -> None:
    found = sizes()
    assert "link/deframer.py" in found["packet_timeout_cycles"]
    assert "link/deframer.py" not in found["timeout_cycles"]
    # No hardware goes by it, but for the least number of buffers: the compiler does.
    assert list(found["round_trip_cycles"]) == ["mesh/algorithms/hierarchical.py"]
    assert not ProtocolSpec.model_fields.keys() - found.keys()


def test_every_generated_page_has_its_text() -> None:
    assert sorted(WHOLE) == sorted(PAGES)
