"""The generated tops of the published wafer and mesh, as text: the same wires as simulated ones.

They are too large to simulate as one module. Their units are compiled and joined in C++ instead
(``testbench.collectives``); here each connection of the text is compared with those joints.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest

from fred_hw.fabric_plan import Joint
from fred_hw.link.axis import AXIS_WIRES
from fred_hw.mesh.load import load_mesh
from fred_hw.mesh.plan import DIRECTIONS
from fred_hw.mesh.reducing.plan import ReducingMesh
from fred_hw.mesh.reducing.spec import ReducingMeshSpec
from fred_hw.mesh.router import MeshRouter
from fred_hw.mesh.spec import MeshSpec
from fred_hw.wafer.load import load_wafer
from fred_hw.wafer.plane import Plane
from fred_hw.wafer.spec import WaferSpec
from gen.fabric_units import fabric_units
from gen.mesh_top import mesh_ports, mesh_top
from gen.ports import Port, module_ports
from gen.reducing_mesh_top import reducing_mesh_ports, reducing_mesh_top, switches_of
from gen.wafer_top import modules_of, wafer_ports, wafer_top
from testbench.collectives import compiled
from testbench.collectives.fabric import Sizes
from testbench.collectives.joined import Netlist
from tests.gen.tools import lint

EXAMPLES = Path(__file__).parents[2] / "examples"
WAFER, NARROW = (load_wafer(str(EXAMPLES / f"wafer-20{one}.yaml")) for one in ("", "-narrow"))
MESH = load_mesh(str(EXAMPLES / "mesh-5x4.yaml"))
BARE = MESH.with_changes(controllers=False)
TORUS = BARE.with_changes(wrap=True, routing="dateline")
SHARED = {"clk", "rst", "session_id"}

Pins = Mapping[str, str]
"""What is at each port of an instance."""


class Top(NamedTuple):
    """A top: its name, text and ports, and those of the modules that it has instances of."""

    name: str
    text: str
    ports: Sequence[Port]
    modules: Mapping[str, Sequence[Port]]


def wafer(spec: WaferSpec = WAFER) -> Top:
    plane, modules = Plane(spec), modules_of(spec)
    kinds = {one.name: one.ports for one in modules.values()}
    return Top(spec.name, wafer_top(plane, modules), wafer_ports(plane, modules), kinds)


def mesh(spec: MeshSpec = MESH, *, endpoints: bool = False) -> Top:
    _, endpoint, routers = fabric_units(spec)
    units = [endpoint, *routers] if endpoints else routers
    kinds = {one.unit_name: module_ports(one) for one in units}
    text = mesh_top(spec, endpoints=endpoints)
    return Top(spec.name, text, mesh_ports(spec, endpoints=endpoints), kinds)


def reducing_mesh() -> Top:
    spec = ReducingMeshSpec(width=3, height=2, controllers=False, lanes=1)
    plan = ReducingMesh(spec)
    kinds = {one.unit_name: module_ports(one) for one in switches_of(plan).values()}
    return Top(spec.name, reducing_mesh_top(plan), reducing_mesh_ports(plan), kinds)


TOPS = [
    pytest.param(reducing_mesh, id="reducing mesh"),
    pytest.param(wafer, id="wafer"),
    pytest.param(partial(wafer, NARROW), id="with spare ports"),
    pytest.param(mesh, id="mesh"),
    pytest.param(partial(mesh, BARE), id="mesh without controllers"),
    pytest.param(partial(mesh, endpoints=True), id="mesh with endpoints"),
]


def instances(top: Top) -> dict[str, tuple[str, Pins]]:
    """Return module and pins of each instance of a top, by its name."""
    found: dict[str, tuple[str, Pins]] = {}
    of_one = re.compile(r"^  (\w+) (\w+) \(\n(.*?)\n  \);$", re.MULTILINE | re.DOTALL)
    for module, name, text in of_one.findall(top.text):
        pins = re.findall(r"\.(\w+)\(([^()]*)\)", text)
        assert len(dict(pins)) == len(pins) == text.count("(")
        assert name not in found
        found[name] = (module, dict(pins))
    return found


def joints_of(
    netlist: Callable[..., object], spec: object, monkeypatch: pytest.MonkeyPatch
) -> Netlist:
    """Return what a function of ``testbench.collectives.compiled`` would have joined."""
    found: list[Netlist] = []
    monkeypatch.setattr(compiled, "build_joined", lambda one, _: found.append(one))
    netlist(spec, Sizes())
    return found[0]


def stream(begin: str) -> tuple[str, ...]:
    return tuple(f"{begin}_{wire}" for wire in AXIS_WIRES)


def connections(units: Sequence[tuple[Pins, Sequence[str]]]) -> Iterator[Joint]:
    """Yield the joints between units, by what is at all wires of their streams ("" is ``m_axis``).

    A unit is its pins and what stands for the number of each of its ports, of which spare ones have
    constants.
    """

    def ends(letter: str) -> Iterator[tuple[tuple[str, ...], tuple[int, int]]]:
        for number, (pins, ports) in enumerate(units):
            for port, text in enumerate(ports):
                wires = tuple(pins[pin] for pin in stream(f"{letter}{text}_axis"))
                if not any("'" in wire for wire in wires):
                    yield wires, (number, port)

    takes = dict(ends("s"))
    assert len(takes) == len(list(ends("s")))
    for wires, sender in ends("m"):
        if wires in takes:
            yield Joint(*sender, *takes[wires])


@pytest.mark.parametrize("top", TOPS)
def test_every_pin_is_joined_once_and_every_wire_has_one_driver(top: Callable[[], Top]) -> None:
    """Each wire is that of one output, and of inputs or the outside."""
    made = top()
    drivers, readers = Counter[str](), Counter[str]()
    for module, pins in instances(made).values():
        ports = {name: direction for name, direction, _ in made.modules[module]}
        assert pins.keys() == ports.keys()
        for pin, wire in pins.items():
            (drivers if ports[pin] == "output" else readers)[wire] += 1
    assert {wire for wire, n in readers.items() if n > 1 and "'" not in wire} == SHARED
    drivers.update(name for name, direction, _ in made.ports if direction == "input")
    read = {wire for wire in readers if "'" not in wire}  # constants aside
    read |= {name for name, direction, _ in made.ports if direction == "output"}
    for wire, value in re.findall(r"^  assign (\w+) = ([^;]*);$", made.text, re.MULTILINE):
        drivers[wire] += 1
        read.update(re.findall(r"[a-z]\w*", value))
    assert set(drivers.values()) == {1}
    assert {wire for wire in drivers if "_unused_" not in wire} == read


@pytest.mark.parametrize(("spec", "uplinks"), [(WAFER, 4), (NARROW, 1)])
def test_wires_of_the_wafer_are_those_that_are_simulated(
    spec: WaferSpec, uplinks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    plane, found = Plane(spec), instances(wafer(spec))
    netlist = joints_of(compiled.build_compiled, spec, monkeypatch)
    names = [f"npu{npu}" for npu in range(spec.npus)] + [one.name for one in plane.units]
    assert list(found) == [f"u_{name}" for name in names]
    assert [found[f"u_{name}"][0] for name in names] == [
        one.unit.unit_name for one in netlist.instances
    ]
    ports = [[""]] * spec.npus + [list(map(str, range(one.spec.ports))) for one in plane.units]
    units = [(found[f"u_{name}"][1], own) for name, own in zip(names, ports, strict=True)]
    joints = [one._replace(pace=1) for one in netlist.joints]
    assert sorted(connections(units)) == sorted(joints)
    assert len(joints) == 2 * (20 + 5 * uplinks)  # of NPUs, and of L1s

    # All other ports of switches are those of controllers, each of which has one, or spare.
    joined = {(one.unit, one.port) for one in netlist.joints}
    left = [
        (plane.units[number - spec.npus].ends[port], pins, port)
        for number, (pins, own) in enumerate(units)
        for port in range(len(own))
        if (number, port) not in joined
    ]
    ends = [one for one in left if one[0].kind != "nothing"]
    assert len(left) - len(ends) == sum(spec.switches[one.switch].spare for one in plane.units)
    for _, pins, port in (one for one in left if one[0].kind == "nothing"):
        assert (pins[f"s{port}_axis_tvalid"], pins[f"m{port}_axis_tready"]) == ("1'd0", "1'd1")
    assert sorted(end.number for end, _, _ in ends) == list(range(20, 20 + 18))
    for address, pins, port in ((end.number, pins, port) for end, pins, port in ends):
        for letter in "sm":
            for pin, wire in zip(
                stream(f"{letter}{port}_axis"), stream(f"io{address}_{letter}_axis"), strict=True
            ):
                assert pins[pin] == wire


@pytest.mark.parametrize(
    ("spec", "kinds", "rows_and_columns"),
    [(MESH, 1, 4 * 4 + 5 * 3), (BARE, 9, 4 * 4 + 5 * 3), (TORUS, 1, 4 * 5 + 5 * 4)],
    ids=["mesh", "bare mesh", "torus"],
)
def test_routers_and_wires_of_the_mesh_are_those_that_are_simulated(
    spec: MeshSpec, kinds: int, rows_and_columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = instances(mesh(spec))
    netlist = joints_of(compiled.build_compiled, spec, monkeypatch)
    names = [f"router_{one.x}_{one.y}" for one in spec.plan.places[: spec.routers]]
    assert sorted(found) == sorted(names)
    assert len({module for module, _ in found.values()}) == kinds
    routers = [one.unit for one in netlist.instances[spec.routers :]]
    ports = [list(map(str, one.numbers)) for one in routers if isinstance(one, MeshRouter)]
    units = [(found[name][1], own) for name, own in zip(names, ports, strict=True)]
    between = [
        Joint(one.unit - spec.routers, one.port, one.other - spec.routers, one.entry)
        for one in netlist.joints
        if min(one.unit, one.other) >= spec.routers
    ]
    assert sorted(connections(units)) == sorted(between)
    assert len(between) == 2 * rows_and_columns
    for name, simulated in zip(names, netlist.instances[spec.routers :], strict=True):
        module, pins = found[name]
        assert module == simulated.unit.unit_name
        assert int(pins["position"].partition("'d")[2]) == simulated.pins["position"]

    # Ends are at the ports that no neighbour is at, by their addresses.
    for address, place in enumerate(spec.plan.places):
        pins, port = found[f"router_{place.x}_{place.y}"][1], DIRECTIONS.index(place.direction)
        for letter in "sm":
            for pin, wire in zip(
                stream(f"{letter}{port}_axis"), stream(f"{letter}{address}_axis"), strict=True
            ):
                assert pins[pin] == wire
    own = [one for one in netlist.joints if one.unit < spec.routers]
    local = str(DIRECTIONS.index("local"))
    assert own == [
        Joint(npu, 0, spec.routers + npu, its.index(local)) for npu, its in enumerate(ports)
    ]


@pytest.mark.sim
@pytest.mark.parametrize("top", TOPS)
def test_verilator_finds_nothing_in_a_top_of_empty_units(
    top: Callable[[], Top], tmp_path: Path
) -> None:
    """Widths, names and directions; what is in the units is linted with the small tops."""
    made = top()
    lines = ["/* verilator lint_off UNUSEDSIGNAL */", "/* verilator lint_off UNDRIVEN */"]
    lines.append("/* verilator lint_off DECLFILENAME */")
    for name, ports in made.modules.items():
        lines.append(f"module {name}({', '.join(port for port, _, _ in ports)});")
        lines += [f"  {direction} [{bits - 1}:0] {port};" for port, direction, bits in ports]
        lines.append("endmodule")
    (tmp_path / "units.v").write_text("\n".join(lines) + "\n")
    (tmp_path / f"{made.name}.v").write_text(made.text)
    assert lint(tmp_path, made.name, "units.v", f"{made.name}.v") == (0, "")
