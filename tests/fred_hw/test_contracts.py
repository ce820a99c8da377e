"""Every public unit of fred_hw has a contract, and tests of it.

- The docstring has the sections Parameters, Members and Timing; Timing says Latency, Throughput,
  Paths and Reset.
- Members names each member of the signature, and each is annotated on the class, but for those of
  AXI and of registers.
- Members gives each a shape, and that of the signature, in the names that its module has and those
  of ``words``; of what not all specifications have it says first which ones do.
- The docstring of a function ``..._signature`` has Members likewise, and where there is a class of
  such interfaces it annotates each.
- ``tests/fred_hw/<folder>/test_<module>.py`` makes the unit, or ``arith/test_units.py`` one of that
  space without a file of its own, and for each of Latency, Throughput and Reset that is not "none"
  there is a test whose name says it.
- A unit that is made of a specification takes nothing else for one.
"""

import ast
import inspect
import re
from collections.abc import Callable
from functools import cache
from graphlib import TopologicalSorter
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

import pytest
from amaranth.hdl import Shape
from amaranth.lib.data import ArrayLayout
from amaranth.lib.wiring import In, Member, Out, PureInterface, Signature

import fred_hw
from docs.generate.catalogue import entry, parts, sizes, units
from fred_hw.arith.lane_unit import LaneUnit
from fred_hw.control.axi_lite import AxiLiteRegisters
from fred_hw.control.switch_map import switch_map
from fred_hw.datapath.reduction import reduction_unit
from fred_hw.formats.fp16 import FP16
from fred_hw.formats.integers import INT16
from fred_hw.operations.operation import fitting
from fred_hw.protocol import DATA_CIRCUITS, ProtocolSpec, buffer_names
from fred_hw.spec import SwitchSpec
from fred_hw.unit import Unit
from tests.fred_hw.specs import LINK, sizes_of_units

HERE = Path(__file__).parent
AXI_LITE = "s_axil_awaddr, ... s_axil_rready"
"""How Members tells AXI4-Lite."""

OTHER = SwitchSpec(
    ports=10,
    middle_switches=7,
    lanes=4,
    format="int8",
    protocol={"phases": 31, "buffer_packets": 10},
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
    assert section(unit, "Parameters") and section(unit, "Members")
    for name in ("Latency", "Throughput", "Paths", "Reset"):
        assert entry(unit, name), f"Timing of {unit.__name__} does not say {name}"


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


def told(thing: object, spec: SwitchSpec | None = None) -> dict[str, str]:
    """Return the shape that Members tells of each name; all of "a, b : In(1)" have that one.

    What is there "If ``endpoint.<key>`` is <number>", or "<number> or more", is left out for other
    specifications.
    """
    found, only = {}, r"(?:\n    If ``endpoint\.(\w+)`` is (\d+)( or more)?)?"
    lines = re.findall(rf"^([\w<].*?) : (.*){only}", section(thing, "Members"), re.MULTILINE)
    for line, text, key, number, more in lines:
        if spec and key:
            size = getattr(spec.endpoint, key)
            if size < int(number) or (size > int(number) and not more):
                continue
        stream = re.match(r"[sm](<k>)?_axis_(<c>_)?", line)
        first, *others = line.split(", ")
        names = [first, *((stream[0] if stream else "") + name for name in others)]
        shapes = [ast.unparse(one) for one in ast.parse(f"[{text}]", mode="eval").body.elts]
        found |= zip(names, shapes * len(names) if len(shapes) == 1 else shapes, strict=True)
    return found


def line_of(name: str) -> str:
    """Return the name of a member, with <k> as the number of a port and <c> as a channel."""
    name = re.sub(r"^([sm])\d+_", r"\1<k>_", name)
    channels = "|".join(DATA_CIRCUITS)
    return re.sub(rf"^([sm]_axis_|receive_flow_)(?:{channels})(_|$)", r"\1<c>\2", name)


@EACH
def test_members_are_told_and_annotated(unit: type[Unit]) -> None:
    annotated = {name for one in unit.__mro__ for name in inspect.get_annotations(one)}
    names = set(made(unit).signature.members)
    axi_lite = {name for name in names if name.startswith("s_axil_")}
    assert not axi_lite or AXI_LITE in section(unit, "Members")
    names -= axi_lite
    if unit.__name__ == "AxiLiteRegisters":
        names &= annotated
    assert {line_of(name) for name in names} - told(unit).keys() == set(), (
        f"Members of {unit.__name__}"
    )
    # Members of all ports or channels, and the wires of an AXI stream, are no attributes by name.
    several = {name for name in names if line_of(name) != name}
    plain = {name for name in names - several if not re.match(r"[sm]_axis_t\w+$", name)}
    assert plain - annotated == set(), f"annotations of {unit.__name__}"


def words(one: Unit, spec: SwitchSpec) -> dict[str, Any]:
    """Return what shapes in the docstring of a unit are made of."""
    lane = isinstance(one, LaneUnit)
    own = {"inside": one.inside, "storage_bits": one.number_format.storage_bits} if lane else {}
    own |= {} if lane else arguments(type(one), spec)
    own["spec"] = getattr(one, "spec", spec)
    return words_of(type(one).__module__, own)


def words_of(module: str, own: dict[str, Any]) -> dict[str, Any]:
    """Return what shapes in the docstrings of a module are made of, with words of one's ``own``."""
    spec = own["spec"]
    protocol = spec.protocol
    sizes = {"data_width": spec.data_width, "fsms": spec.endpoint.fsms}
    sizes |= {name: getattr(protocol, name) for name in ("phases", "buffer_flits")}
    sizes |= {name: getattr(spec.endpoint, name) for name in ("read_ports", "schedule_entries")}
    sizes |= {
        "P": own.get("ports", spec.ports),
        "B": len(buffer_names(own.get("channels", protocol.channels))),
        "protocol": protocol,
        "m": own.get("middle_switches", spec.middle_switches),
    }
    sizes |= protocol.fields | {"address": protocol.fields["destination"]}
    names = vars(import_module(module))
    return names | {"In": In, "Out": Out, "ArrayLayout": ArrayLayout} | sizes | own


def is_that(told: object, member: Member) -> bool:
    """Return whether a member has a shape that is told, whatever it starts from."""
    if not isinstance(told, Member) or told.flow != member.flow:
        return False
    shapes = [
        (Shape.cast(one.shape) if one.is_port else one.signature, one.dimensions)
        for one in (told, member)
    ]
    return shapes[0] == shapes[1]


def fields(unit: Unit) -> dict[str, dict[str, Any]]:
    """Return what shapes of the members of each field go by, of ``AxiLiteRegisters``."""
    registers = unit.registers.registers if isinstance(unit, AxiLiteRegisters) else ()
    return {
        f"{register.name}_{field.name}".lower(): {
            "access": field.access,
            "bits": register.total_bits or field.width * register.words,
        }
        for register in registers
        for field in register.fields
    }


@EACH
@pytest.mark.parametrize("spec", [LINK, OTHER], ids=["usual", "other"])
def test_members_have_the_shapes_that_are_reported(unit: type[Unit], spec: SwitchSpec) -> None:
    one, shapes, seen, wrong = made(unit, spec), told(unit, spec), set[str](), dict[str, str]()
    known, of_fields = words(one, spec), fields(one)
    for name, member in one.signature.members.items():
        if name.startswith("s_axil_"):
            continue
        line, more = line_of(name), dict[str, Any]()
        field = name if name in of_fields else name.rpartition("_")[0]
        if field in of_fields:
            line, more = name.replace(field, "<register>_<field>"), of_fields[field]
        seen.add(line)
        if not is_that(eval(shapes[line], known | more), member):
            wrong[line] = f"{shapes[line]} is {member}"
    assert wrong == {}
    assert seen == shapes.keys()


MODULES = [import_module(one.name) for one in walk_packages(fred_hw.__path__, "fred_hw.")]
SIGNATURES = [
    value
    for module in MODULES
    for name, value in vars(module).items()
    if name.endswith("_signature") and value.__module__ == module.__name__
    if inspect.signature(value).return_annotation is Signature
]
INTERFACES = [
    value
    for module in MODULES
    for value in vars(module).values()
    if isinstance(value, type) and issubclass(value, PureInterface)
    if value.__module__ == module.__name__
]


def signature(function: Callable[..., Signature], spec: SwitchSpec) -> Signature:
    """Return the signature that a function makes for a specification."""
    sizes = {"spec": spec, "data_width": spec.data_width}
    return function(*(sizes[name] for name in inspect.signature(function).parameters))


def told_of_signature(function: Callable[..., Signature], spec: SwitchSpec) -> dict[str, str]:
    """Return the shape that Members tells of each name; some stand in a list, or elsewhere."""
    found, text = told(function, spec), section(function, "Members")
    names = vars(import_module(function.__module__))
    for line, listed in re.findall(r"^(<.*>) : .*\n    For each of ``(\w+)``", text, re.MULTILINE):
        found |= dict.fromkeys(names[listed], found.pop(line))
    for other in re.findall(r"^<.*>\n    See :func:`(\w+)`\.", text, re.MULTILINE):
        found |= told_of_signature(names[other], spec)
    return found


@pytest.mark.parametrize("function", SIGNATURES, ids=lambda function: function.__name__)
@pytest.mark.parametrize("spec", [LINK, OTHER], ids=["usual", "other"])
def test_members_of_signatures_have_the_shapes_that_are_reported(
    function: Callable[..., Signature], spec: SwitchSpec
) -> None:
    members, shapes = signature(function, spec).members, told_of_signature(function, spec)
    known = words_of(function.__module__, {"spec": spec})
    assert set(members) == shapes.keys()
    wrong = {
        name: f"{shapes[name]} is {member}"
        for name, member in members.items()
        if not is_that(eval(shapes[name], known), member)
    }
    assert wrong == {}


@pytest.mark.parametrize("interface", INTERFACES, ids=lambda interface: interface.__name__)
def test_interfaces_annotate_the_members_of_a_signature(interface: type[PureInterface]) -> None:
    members = [
        set(signature(function, spec).members)
        for spec in (LINK, OTHER)
        for function in SIGNATURES
        if function.__module__ == interface.__module__
    ]
    assert set(inspect.get_annotations(interface)) in members


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
    if name in ("guarded", "outside") and bad is True:  # which they may be
        return
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
