"""Every public unit of fred_hw has a contract, and tests of it.

- The docstring has the sections Parameters and Timing; Timing says Latency, Throughput, Paths and
  Reset.
- Each declaration of a member has a description, and the type of the member.
- ``tests/fred_hw/<folder>/test_<module>.py`` makes the unit, or ``arith/test_units.py`` one of that
  space without a file of its own, and for each of Latency, Throughput and Reset that is not "none"
  there is a test whose name says it.
- A unit that is made of a specification takes nothing else for one.
"""

import ast
import inspect
import re
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import pytest
from amaranth.hdl import Signal
from amaranth.lib import stream

from docs.generate.catalogue import entry, parts, sizes, units
from fred_hw.arith.lane_unit import LaneUnit
from fred_hw.control.axi_lite import AxiLiteRegisters
from fred_hw.control.events import Counts, Errors
from fred_hw.control.switch_map import switch_map
from fred_hw.datapath.reduction import reduction_unit
from fred_hw.formats.fp16 import FP16
from fred_hw.formats.integers import INT16
from fred_hw.member import Bundle, declared
from fred_hw.operations.operation import fitting
from fred_hw.protocol import ProtocolSpec
from fred_hw.spec import SwitchSpec
from fred_hw.unit import Unit
from tests.fred_hw.specs import LINK, sizes_of_units

HERE = Path(__file__).parent
OTHER = SwitchSpec(
    ports=16,
    middle_switches=7,
    lanes=4,
    format="int8",
    protocol={"phases": 31, "urgency_classes": 4, "buffer_packets": 10},
    endpoint={"fsms": 2, "slots": 4, "chunk_flits": 2048, "read_ports": 2, "schedule_entries": 9},
)
"""Sizes of units that are alike in ``LINK`` are not alike in it."""

LANES = {
    type(unit): unit
    for form in (FP16, INT16)
    for operation in fitting(form)
    for unit in [reduction_unit(form, operation, "saturate", 2)]
}

UNITS = units()
CLASSES = {unit.__name__: unit for unit in UNITS}
EACH = pytest.mark.parametrize("unit", UNITS, ids=[unit.__name__ for unit in UNITS])


def section(thing: object, name: str) -> str:
    """Return a section of a docstring, "" if there is none."""
    text = inspect.getdoc(thing) or ""
    found = re.search(rf"^{name}\n-+\n(.*?)(?=^\w+\n-+\n|\Z)", text, re.MULTILINE | re.DOTALL)
    return found.group(1) if found else ""


@EACH
def test_docstring_has_the_sections_of_a_contract(unit: type[Unit]) -> None:
    assert section(unit, "Parameters")
    for name in ("Latency", "Throughput", "Paths", "Reset"):
        assert entry(unit, name), f"Timing of {unit.__name__} does not say {name}"


@EACH
def test_each_line_of_timing_begins_or_continues_an_entry(unit: type[Unit]) -> None:
    lines = section(unit, "Timing").splitlines()
    assert [line for line in lines if not re.match(r"[A-Z]\w+ : |    |$", line)] == []


def arguments(unit: type[Unit], spec: SwitchSpec) -> dict[str, Any]:
    """Return what makes a unit, not one of a lane."""
    given = sizes_of_units(spec)
    given |= {"registers": switch_map(spec)} if unit is AxiLiteRegisters else {}
    names = inspect.signature(unit).parameters
    unknown = names.keys() - given.keys()
    assert not unknown, f"sizes_of_units has no size for {unknown} of {unit.__name__}"
    return {name: given[name] for name in names}


def made(unit: type[Unit], spec: SwitchSpec = LINK) -> Unit:
    """Return the unit, of a specification or of any lane."""
    return LANES[unit] if issubclass(unit, LaneUnit) else unit(**arguments(unit, spec))


@pytest.mark.parametrize("nothing", [3, None, "small-4"])
@pytest.mark.parametrize(
    "unit", [name for name, one in CLASSES.items() if "spec" in inspect.signature(one).parameters]
)
def test_what_is_no_specification_is_refused(unit: str, nothing: Any) -> None:
    sizes = arguments(CLASSES[unit], LINK) | {"spec": nothing}
    with pytest.raises(TypeError, match=f"^{unit} spec must be a SwitchSpec, not {nothing!r}$"):
        CLASSES[unit](**sizes)


def fits(value: Any, kind: Any) -> bool:
    """Return whether a member has a type; one of a bundle has members that its class declares."""
    if get_origin(kind) is list:
        return isinstance(value, list) and all(fits(one, *get_args(kind)) for one in value)
    if issubclass(kind, Bundle):
        types = get_type_hints(kind)
        names = value.signature.members.keys() & declared(kind).keys()
        assert names or issubclass(kind, Counts | Errors)  # these have one for each of a list
        return all(fits(getattr(value, name), types.get(name, Signal)) for name in names)
    if kind is stream.Interface:
        return set(value.signature.members) == {"payload", "valid", "ready"}
    return isinstance(value, kind)


@EACH
@pytest.mark.parametrize("spec", [LINK, OTHER], ids=["usual", "other"])
def test_members_have_their_types_and_descriptions(unit: type[Unit], spec: SwitchSpec) -> None:
    one, types = made(unit, spec), get_type_hints(unit)
    wrong: dict[str, Any] = {}
    for name, declaration in declared(unit).items():
        kind, found = types.get(name, Signal), declaration.found(one)
        if not declaration.description or (name in found and not fits(getattr(one, name), kind)):
            wrong[name] = kind
    assert wrong == {}


def right(unit: type[Unit]) -> dict[str, Any]:
    """Return what makes a unit, also one of a lane."""
    if not issubclass(unit, LaneUnit):
        return arguments(unit, LINK)
    return {name: getattr(LANES[unit], name) for name in inspect.signature(unit).parameters}


@pytest.mark.parametrize("bad", [None, "x", 1.5, [], -1, True], ids=repr)
@pytest.mark.parametrize(
    ("unit", "name"),
    [(unit, name) for unit, one in CLASSES.items() for name in inspect.signature(one).parameters],
)
def test_parameter_that_is_none_is_refused_by_name(unit: str, name: str, bad: object) -> None:
    if (name in ("guarded", "outside") and bad is True) or (name, bad) == ("connections", None):
        return  # which they may be
    message = rf"^{unit} {name} must .*not {re.escape(repr(bad))}"
    with pytest.raises((TypeError, ValueError), match=message):
        CLASSES[unit](**right(CLASSES[unit]) | {name: bad})


@EACH
def test_timing_has_tests(unit: type[Unit]) -> None:
    parts = unit.__module__.split(".")[1:]
    path = HERE.joinpath(*parts[:-1], f"test_{parts[-1]}.py")
    if unit.__module__.startswith("fred_hw.arith.") and not path.exists():
        path = HERE / "arith" / "test_units.py"
    assert path.exists(), f"{unit.__name__} has no {path.relative_to(HERE)}"
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    assert unit.__name__ in names, f"{path.relative_to(HERE)} does not make {unit.__name__}"
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    tests = [node.name for node in ast.walk(tree) if isinstance(node, functions)]
    missing = {
        name
        for name in ("Latency", "Throughput", "Reset")
        if not entry(unit, name).startswith("none")
        and not any(test.startswith("test_") and name.lower() in test for test in tests)
    }
    assert missing == set(), path


FILES = sizes()


@cache
def within() -> dict[str, set[str]]:
    """Return the names of what stands in each unit."""
    return {unit.__name__: parts(unit) for unit in UNITS}


@cache
def sources() -> tuple[Path, ...]:
    """Return all files of hardware."""
    return tuple((HERE.parents[1] / "fred_hw").rglob("*.py"))


@cache
def usual_name(unit: type[Unit]) -> str:
    """Return the name of a unit of the usual specification."""
    return made(unit).unit_name


def with_another(name: str) -> SwitchSpec:
    """Return a specification that differs from the usual one in a size of links."""
    usual = getattr(LINK.protocol, name)
    for value in (2 * usual or 1, usual + 1, usual - 1):
        try:
            return LINK.with_changes(protocol={**LINK.protocol.model_dump(), name: value})
        except ValueError:
            continue
    raise AssertionError(f"{name} has no other value")


@pytest.mark.parametrize("name", ProtocolSpec.model_fields)
def test_names_tell_the_sizes_that_units_go_by(name: str) -> None:
    """What is generated has one module of a name: units of equal names must be equal hardware."""
    other = with_another(name)
    follow = [
        one for one in FILES if getattr(LINK.protocol, one, 0) != getattr(other.protocol, one, 0)
    ]
    files = {HERE.parents[1] / "fred_hw" / path for one in follow for path in FILES[one]}
    if name == "urgency_classes":  # which units go by through functions of one module
        files |= {path for path in sources() if "from fred_hw.per_class " in path.read_text()}
    concerned: set[str] = set()
    for unit in TopologicalSorter(within()).static_order():
        home = Path(inspect.getfile(CLASSES[unit]))
        if home in files or within()[unit] & concerned:
            concerned.add(unit)
    assert concerned or name == "round_trip_cycles"
    for unit in sorted(concerned):
        if name == "phases" and "mesh" in inspect.signature(CLASSES[unit]).parameters:
            continue  # routers have none
        assert usual_name(CLASSES[unit]) != made(CLASSES[unit], other).unit_name, unit
