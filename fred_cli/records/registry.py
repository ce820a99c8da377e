"""Registry of all built-in records; a new record is a new entry."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

__all__ = ["ENTRIES", "Entry", "Kind"]

ROOT = Path(__file__).resolve().parents[2]
"""Source checkout, whose ``examples`` some records need; an installation has none."""

_WAFER_STRATEGIES = ("MP2-DP5-PP2", "MP3-DP3-PP2", "MP20-DP1-PP1")
_FLITS = (128, 512, 2048, 8192)
_SAMPLED = {
    "strategies": (
        *("MP5-DP1-PP4", "MP5-DP1-PP3", "MP7-DP2-PP1", "MP7-DP1-PP2", "MP6-DP1-PP3"),
        *("MP4-DP1-PP3", "MP2-DP2-PP4", "MP4-DP1-PP4", "MP10-DP2-PP1", "MP9-DP2-PP1"),
    ),
    "flits": (200, 1500, 2384),
}
"""Parameters that ``tests/studies/sampled.py`` draws with seed 1."""


@dataclass(frozen=True)
class Kind:
    """A kind of records.

    Parameters
    ----------
    by : str
        Simulator, or other source of the measurement.
    of : str
        Hardware whose Verilog is measured.
    inputs : tuple of str
        Other inputs that make a record stale, by the names that ``fred records check`` reports.
    reader : str
        Model of their files: module and class.
    """

    by: str
    of: str
    inputs: tuple[str, ...]
    reader: str


@dataclass(frozen=True)
class Entry:
    """A built-in record.

    Parameters
    ----------
    what : str
        Subject of the measurement.
    minutes : float
        Approximate processor time without cached builds [min].
    kind : Kind
        Its kind.
    measure : callable
        Returns the measurement, and imports the modules for it.
    path : Path, optional
        File of the record, by default among the records of the performance model.
    """

    what: str
    minutes: float
    kind: Kind
    measure: Callable[[], Any]
    path: Path | None = None

    @property
    def model(self) -> Any:
        """Pydantic model of the record's file."""
        module, _, name = self.kind.reader.partition(":")
        return getattr(import_module(module), name)


def _switch(preset: str) -> Callable[[], Any]:
    def measure() -> Any:
        from fred_hw.load import load_spec
        from testbench.characterize import SwitchMeasurement

        return SwitchMeasurement(spec=load_spec(preset))

    return measure


def _endpoint() -> Any:
    from fred_hw.load import load_spec
    from testbench.characterize_endpoint import EndpointMeasurement

    return EndpointMeasurement(spec=load_spec("l1-12"))


def _router() -> Any:
    from fred_hw.mesh.load import load_mesh
    from testbench.characterize_mesh import RouterMeasurement

    return RouterMeasurement(spec=load_mesh(str(ROOT / "examples/mesh-5x4.yaml")))


def _plane(example: str, *more: str, **how: Any) -> Callable[[], Any]:
    def measure() -> Any:
        from fred_hw.wafer.load import load_wafer
        from testbench.characterize_wafer import PlanePhasesMeasurement

        wafer = load_wafer(str(ROOT / f"examples/{example}.yaml"))
        chosen = {"strategies": (*_WAFER_STRATEGIES, *more), "flits": _FLITS}
        return PlanePhasesMeasurement(spec=wafer, **{**chosen, **how})

    return measure


def _mesh_phases() -> Any:
    from fred_hw.mesh.load import load_mesh
    from testbench.characterize_mesh_phases import MeshPhasesMeasurement

    more = ("MP4-DP5-PP1-SP", "MP20-DP1-PP1-SP", "MP2-DP10-PP1-EP2", "MP1-DP20-PP1-EP4")
    mesh, strategies = load_mesh(str(ROOT / "examples/mesh-5x4.yaml")), (*_WAFER_STRATEGIES, *more)
    return MeshPhasesMeasurement(spec=mesh, strategies=strategies, flits=_FLITS)


def _trees(columns: int, entries: int, **how: Any) -> Any:
    from fred_hw.endpoint_spec import EndpointSpec
    from fred_hw.mesh.load import load_mesh
    from fred_hw.mesh.tree_program import TreeEdge
    from perfmodel.collectives.link_graph import graph_of
    from perfmodel.collectives.multitree import grow
    from perfmodel.collectives.single_port import with_single_ports
    from perfmodel.topology.parse import parse_topology
    from testbench.characterize_trees import TreesMeasurement

    mesh = load_mesh(str(ROOT / "examples/mesh-5x4.yaml")).with_changes(
        width=columns, endpoint=EndpointSpec(read_ports=2, schedule_entries=entries)
    )
    topology = parse_topology(f"mesh:{mesh.width}x{mesh.height}", "ideal")
    graph = with_single_ports(graph_of(topology, range(mesh.routers)))
    edges = [
        TreeEdge(root, edge.child, edge.parent, edge.step)
        for root, tree in grow(graph, full_slots=True).trees.items()
        for edge in tree
    ]
    return TreesMeasurement(spec=mesh, edges=edges, **how)


def _iteration(rtl: str, topology: str, algorithm: str = "published") -> Callable[[], Any]:
    def measure() -> Any:
        from fred_cli.records.iteration_record import IterationMeasurement

        return IterationMeasurement(
            root=ROOT,
            topology=f"examples/{topology}.yaml",
            workload="examples/iteration.yaml",
            rtl=f"examples/{rtl}.yaml",
            algorithm=algorithm,
        )

    return measure


def _saturation() -> Any:
    from testbench.characterize_saturation import SaturationMeasurement

    return SaturationMeasurement()


def _areas() -> Any:
    from fred_cli.records.areas import AreasMeasurement

    return AreasMeasurement(root=ROOT)


def _networks() -> Any:
    from fred_cli.records.networks import NetworksMeasurement

    return NetworksMeasurement()


def _adders() -> Any:
    from fred_cli.records.adders import AddersMeasurement

    return AddersMeasurement()


_SPEC = ("spec", "measured_spec", "seed")
_CYCLES = (*_SPEC, "link_cycles", "memory_cycles", "strategy", "phase", "flits")
_CELLS = ("lanes", "library", "libraries", "effort", "target_clock_ns")

_SWITCH = Kind(
    "icarus", "interconnect and switch", _SPEC, "perfmodel.switch_timing.record:TimingRecord"
)
_ROUTER = Kind("icarus", "router", _SPEC, "perfmodel.switch_timing.router:RouterRecord")
_ENDPOINT = Kind("icarus", "endpoint", _SPEC, "perfmodel.switch_timing.endpoint:EndpointRecord")
_OF_PLANE = Kind(
    "verilator",
    "plane",
    (*_CYCLES, "collectives"),
    "studies.rtl_plane:PlaneRecord",
)
_OF_MESH = Kind(
    "verilator",
    "mesh and endpoint",
    (*_CYCLES, "algorithm"),
    "studies.rtl_mesh:MeshRecord",
)
_OF_TREES = Kind(
    "verilator",
    "mesh and endpoint",
    (*_CYCLES, "algorithm", "steps", "step_cycles", "edges_sha256"),
    "studies.rtl_mesh:MeshRecord",
)
_OF_ITERATION = Kind(
    "verilator",
    "plane, or mesh and endpoint",
    (
        *("name", "fabric", "hardware", "changes", "topology", "workload", "strategy"),
        *("placement", "algorithm", "compute", "seed"),
        *("tasks_sha256", "link_cycles", "memory_cycles"),
    ),
    "studies.rtl_iteration:IterationRecord",
)
_OF_LOADS = Kind(
    "verilator",
    "routers",
    ("seed", "warm_cycles", "measured_cycles", "curve"),
    "studies.saturation:SaturationRecord",
)
_OF_AREAS = Kind(
    "yosys",
    "switches, router and endpoint",
    ("format", *_CELLS),
    "perfmodel.switch_timing.areas:AreaRecord",
)
_OF_NETWORKS = Kind(
    "yosys",
    "interconnects, crossbars, Benes networks and meshes",
    ("format", *_CELLS, "seed", "flow_sets", "cycles"),
    "perfmodel.switch_timing.networks:NetworkRecord",
)
_OF_ADDERS = Kind("yosys", "interconnects", ("ports", *_CELLS), "fred_hw.adder_delays:AdderDelays")

ENTRIES = {
    "l1-12": Entry(
        "switch of 12 ports: interconnect and whole switch",
        5,
        _SWITCH,
        _switch("l1-12"),
    ),
    "l1-11": Entry("the same with 11 ports", 4, _SWITCH, _switch("l1-11")),
    "l2-10": Entry("the same with 10 ports", 4, _SWITCH, _switch("l2-10")),
    "mesh-5x4": Entry("router of a mesh", 0.2, _ROUTER, _router),
    "endpoint": Entry(
        "collective endpoint",
        0.6,
        _ENDPOINT,
        _endpoint,
    ),
    "wafer-20": Entry(
        "phases of seven strategies on a plane of FRED-D, collectives by switches and by endpoints",
        60,
        _OF_PLANE,
        _plane(
            "wafer-20", "MP4-DP5-PP1-SP", "MP3-DP3-PP2-SP", "MP2-DP10-PP1-EP2", "MP4-DP4-PP1-EP4"
        ),
    ),
    "wafer-20-sampled": Entry(
        "phases of ten strategies drawn at random on a plane of FRED-C and D",
        6,
        _OF_PLANE,
        _plane("wafer-20", **_SAMPLED),
    ),
    "wafer-20-controllers": Entry(
        "loads and stores of a plane with endpoints at I/O controllers",
        30,
        _OF_PLANE,
        _plane(
            "wafer-20-controllers",
            "MP1-DP20-PP1",
            collectives=("in-network",),
            phases=("load_0", "store_0"),
        ),
    ),
    "wafer-20-a": Entry(
        "phases on a plane of FRED-A, collectives by endpoints",
        30,
        _OF_PLANE,
        _plane("wafer-20-narrow", collectives=("ring",)),
    ),
    "wafer-20-b": Entry(
        "phases on a plane of FRED-B, collectives by switches",
        30,
        _OF_PLANE,
        _plane("wafer-20-narrow", collectives=("in-network",)),
    ),
    "mesh-5x4-phases": Entry(
        "phases of seven strategies on a mesh with endpoints",
        30,
        _OF_MESH,
        _mesh_phases,
    ),
    "mesh-5x4-trees": Entry(
        "all-reduces along the trees of MultiTree on a mesh, by schedule tables of endpoints",
        3,
        _OF_TREES,
        partial(_trees, 5, 96, flits=_FLITS),
    ),
    "mesh-4x4-trees": Entry(
        "the same on a mesh of 4 x 4, with two estimates of a step",
        3,
        _OF_TREES,
        partial(_trees, 4, 64, flits=(128, 1024, 8192), setups=(280, 220)),
    ),
    "iteration-wafer-20": Entry(
        "an iteration on a plane of FRED-D",
        6,
        _OF_ITERATION,
        _iteration("wafer-20", "fred-d-endpoints"),
    ),
    "iteration-mesh-5x4": Entry(
        "an iteration on a mesh with endpoints",
        4,
        _OF_ITERATION,
        _iteration("mesh-5x4", "mesh-5x4-endpoints", algorithm="bidirectional_ring"),
    ),
    "mesh-8x8-saturation": Entry(
        "latency against load of 8 x 8 routers",
        10,
        _OF_LOADS,
        _saturation,
    ),
    "areas-int8x1": Entry(
        "area and clock of switches, router and endpoint, by synthesis",
        60,
        _OF_AREAS,
        _areas,
    ),
    "networks-fp16x1": Entry(
        "area, clock, power, latency and routing of FRED, its baselines and meshes",
        15,
        _OF_NETWORKS,
        _networks,
    ),
    "adders": Entry(
        "clock of adders by operation, format and depth, which clock_ns follows",
        10,
        _OF_ADDERS,
        _adders,
        ROOT / "fred_hw/adder_delays.json",
    ),
}
"""Records, keyed by file name."""
