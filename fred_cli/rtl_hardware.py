"""Hardware for `--rtl` of `fred estimate`: a plane of a wafer, or a mesh."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fred_hw.errors import InputError

from .name_kinds import check_name

__all__ = ["Hardware", "load_hardware"]

_SAME = 1e-6
"""Relative difference up to which rates are equal."""

_SMALLER: dict[str, Any] = {
    "lanes": 1,
    "protocol": {"phases": 8},
    "endpoint": {"fsms": 1, "slots": 2},
}
"""Specification keys that may be smaller in simulation, as cycle counts do not depend on them."""


_FEWER_LANES: dict[str, Any] = {"lanes": 1}
"""The same for a mesh, whose endpoints need all ring state machines as they reduce."""


@dataclass(frozen=True)
class Hardware:
    """Hardware that executes the communication of an iteration.

    Parameters
    ----------
    source, name, words : str
        Its file, its name, and its description.
    npus, planes : int
        Number of NPUs, and of planes that share the bytes of each.
    flit_bytes, full_flit_bytes : int
        Size of a flit in the simulation, and in the represented hardware.
    clock_hz, clock_source : float, str
        Its clock [Hz], and the source of that value.
    changes : mapping
        Keys in which the simulated hardware differs from the file.
    algorithms : Callable
        Returns the names of the all-reduce algorithms that it can run in a group.
    program : Callable
        Compiles a strategy, the bytes of its largest task and an all-reduce algorithm.
    homes : sequence of int
        Switch of each NPU; empty for a mesh.
    cuts : Callable, optional
        Returns the NPUs below each switch that has only some of them, and the bytes that can leave
        them for the others in a cycle; None for a mesh.
    controllers : int
        Number of I/O controllers with endpoints.
    storage : Callable, optional
        Returns, for a strategy and whether weights are streamed, the loads and stores of each
        controller; None without controllers.
    design : Callable
        Returns its Verilog, whose hash is in a record: that of the shipped records of the same
        plane or mesh.
    grid : tuple of int, optional
        Columns and rows of a mesh.
    read_ports : int
        Number of memory read ports of an endpoint.
    """

    source: str
    name: str
    words: str
    npus: int
    planes: int
    flit_bytes: int
    full_flit_bytes: int
    clock_hz: float
    clock_source: str
    changes: Mapping[str, Any]
    algorithms: Callable[[Sequence[int]], Sequence[str]]
    program: Callable[[Any, int, str], Any]
    design: Callable[[], Any]
    grid: tuple[int, int] | None = None
    homes: Sequence[int] = ()
    cuts: Callable[[], Sequence[tuple[Sequence[int], float]]] | None = None
    controllers: int = 0
    storage: Callable[[Any, bool], Any] | None = None
    read_ports: int = 1

    def check(self, fabric: Any) -> None:
        """Fail if a topology does not describe this hardware.

        Raises
        ------
        InputError
            It has other NPUs, links of another rate, other NPUs on its switches, or endpoints whose
            record has other ports to read memory.
        """
        if self.npus != fabric.npus:
            message = f"must have {fabric.npus} NPUs, as {fabric.name}, not {self.npus}"
            raise InputError("--rtl", "", message)
        if self.grid != fabric.grid:
            wanted = "be a mesh of {} x {}".format(*fabric.grid) if fabric.grid else "be no mesh"
            raise InputError("--rtl", "", f"must {wanted}, as {fabric.name}, not {self.name}")
        # The first link of a mesh joins two NPUs; elsewhere an NPU has one link to each plane.
        links = fabric.links[:1] if self.grid else [o for o in fabric.links if o.source == 0]
        rate = sum(one.bytes_per_s for one in links)
        if abs(self.planes * self.full_flit_bytes * self.clock_hz / rate - 1) > _SAME:
            message = (
                f"must have planes and lanes that make {rate / self.clock_hz:g} B per cycle at "
                f"each NPU, as {fabric.name}, not {self.planes} planes of {self.full_flit_bytes} B"
            )
            raise InputError("--rtl", "", message)
        ports = fabric.endpoint.read_ports if fabric.endpoint else self.read_ports
        if ports != self.read_ports:
            message = f"must have endpoint.read_ports {ports}, as the endpoint_record of"
            raise InputError("--rtl", "", f"{message} {fabric.name}, not {self.read_ports}")
        if self.cuts:
            self._check_homes(fabric)
            self._check_cuts(fabric, self.cuts())
        if self.controllers:
            self._check_controllers(fabric)

    def _check_homes(self, fabric: Any) -> None:
        """Fail if a topology attaches other NPUs to a switch."""
        # An NPU without a switch is in a group of its own.
        given = [fabric.switch_of.get(npu, -1 - npu) for npu in range(self.npus)]
        theirs, ours = (
            {tuple(npu for npu, one in enumerate(homes) if one == home) for home in homes}
            for homes in (given, self.homes)
        )
        if theirs != ours:
            one = ", ".join(map(str, min(theirs - ours)))
            message = f"must have a switch with NPUs {one} and no others, as {fabric.name}"
            raise InputError("--rtl", "", f"{message}, not {self.name}")

    def _check_cuts(self, fabric: Any, cuts: Iterable[tuple[Sequence[int], float]]) -> None:
        """Fail if links between switches have another bandwidth or connect others."""
        from perfmodel.topology.cuts import min_cut

        graph, names = fabric.graph(), [node.name for node in fabric.nodes[: fabric.npus]]
        for npus, ours in cuts:
            inside = [names[npu] for npu in npus]
            outside = [name for name in names if name not in inside]
            rate = min_cut(graph, inside, outside, "bytes_per_s") / self.clock_hz
            if abs(ours / rate - 1) > _SAME:
                message = (
                    f"must have {rate:g} B per cycle between NPUs {', '.join(map(str, npus))} and "
                    f"all others, as {fabric.name}, not {ours:g}"
                )
                raise InputError("--rtl", "", message)

    def _check_controllers(self, fabric: Any) -> None:
        """Fail if a topology has other I/O controllers, which determine load times."""
        given = len(fabric.io_nodes)
        if given != self.controllers:
            message = f"must have {given} I/O controllers, as {fabric.name}, not {self.controllers}"
            raise InputError("--rtl", "", message)
        rates = {one.bytes_per_s for one in fabric.links if one.source in fabric.io_nodes}
        rate = self.planes * self.full_flit_bytes * self.clock_hz
        if any(abs(rate / one - 1) > _SAME for one in rates):
            message = (
                f"must have I/O controllers of {min(rates) / self.clock_hz:g} B per cycle, as "
                f"{fabric.name}, not endpoints of {self.planes} planes of {self.full_flit_bytes} B"
            )
            raise InputError("--rtl", "", message)

    def algorithm(self, fabric: Any, groups: Iterable[Sequence[int]], asked: str) -> str:
        """Return the algorithm with which the model estimates all-reduces of groups.

        Raises
        ------
        InputError
            The hardware does not execute this algorithm, or the groups use several algorithms.
        """
        from perfmodel.collectives.select import chosen

        every = [tuple(one) for one in groups]
        taken = {
            one: asked if asked == "auto" else chosen(fabric, "all_reduce", one, asked)
            for one in every
        }
        runs_all = all(name in self.algorithms(one) for one, name in taken.items())
        does = {*taken.values()}
        if not runs_all or len(does) > 1:
            names = sorted({*taken.values()})
            given = asked if names == [asked] else f"{asked} ({', '.join(names)})"
            first = next((o for o in every if taken[o] not in self.algorithms(o)), every[0])
            allowed = " or ".join(self.algorithms(first))
            message = f"must be {allowed} on {self.words} with --rtl, not {given}"
            raise InputError("--algorithm", "", message)
        return does.pop() if does else self.algorithms(())[0]


def load_hardware(source: str) -> Hardware:
    """Return the hardware in a file: a plane of a wafer, or a mesh, which has a width.

    Raises
    ------
    InputError
        The file is bad.
    """
    from fred_hw.mesh.load import is_mesh

    check_name(source, "a wafer or mesh specification")
    return _mesh(source) if is_mesh(source) else _plane(source)


def _plane(source: str) -> Hardware:
    from fred_hw.wafer.load import load_wafer
    from fred_hw.wafer.plane import Plane
    from fred_hw.wafer.program import compile_strategy
    from fred_hw.wafer.storage import storage_ends
    from gen.clock import CLOCK_HZ, CLOCK_SOURCE

    def design() -> Any:
        from testbench.designs import plane_design
        from testbench.measurement import fewer_lanes

        return plane_design(fewer_lanes(whole))

    whole, small = load_wafer(source), load_wafer(source, _SMALLER)

    def storage(strategy: Any, weights: bool) -> Any:
        return storage_ends(Plane(small), strategy, weights=weights)

    controllers = whole.endpoints - whole.npus
    return Hardware(
        source=source,
        name=whole.name,
        words="a plane of switches and endpoints",
        npus=whole.npus,
        planes=whole.planes,
        flit_bytes=small.link.data_width // 8,
        full_flit_bytes=whole.link.data_width // 8,
        clock_hz=CLOCK_HZ,
        clock_source=CLOCK_SOURCE,
        changes=_SMALLER,
        algorithms=lambda _: ("in_network",),
        program=lambda strategy, size, _: compile_strategy(small, strategy, size),
        design=design,
        homes=[_home(Plane(whole), npu) for npu in range(whole.npus)],
        cuts=lambda: _cuts(Plane(whole), whole.planes * whole.link.data_width / 8),
        controllers=controllers,
        read_ports=whole.endpoint.read_ports,
        storage=storage if controllers else None,
    )


def _cuts(plane: Any, flit_bytes: float) -> list[tuple[Sequence[int], float]]:
    """Return the NPUs below each switch, and the bytes per cycle that can leave them."""
    from perfmodel.topology.cuts import digraph, min_cut

    wafer, rates = plane.wafer, dict[tuple[str, str], float]()
    for number, chiplet in enumerate(plane.units):
        for port, end in enumerate(chiplet.ends):
            if end.kind != "nothing":
                own, other = f"unit_{number}", f"{end.kind}_{end.number}"
                rate = flit_bytes / plane.flit_cycles(number, port)
                rates[own, other] = rates.get((own, other), 0) + rate
                if end.kind != "unit":  # links of chiplets are seen from both ends
                    rates[other, own] = rate
    graph = digraph([], [(*pair, {"rate": rate}) for pair, rate in rates.items()])
    found: list[tuple[Sequence[int], float]] = []
    for switch in range(len(wafer.switches)):
        npus = [n for n in range(wafer.npus) if switch in plane.chain(_home(plane, n))]
        others = [f"npu_{n}" for n in range(wafer.npus) if n not in npus]
        if npus and others:
            found.append((npus, min_cut(graph, [f"npu_{n}" for n in npus], others, "rate")))
    return found


def _home(plane: Any, npu: int) -> int:
    """Return the switch that an NPU is attached to."""
    chiplet, _ = plane.homes[npu]
    return plane.units[chiplet].switch


def _mesh(source: str) -> Hardware:
    from fred_hw.compiler.placement import Strategy
    from fred_hw.mesh.algorithm import ALGORITHMS
    from fred_hw.mesh.load import load_mesh
    from fred_hw.mesh.program import compile_for_mesh
    from gen.clock import ROUTER_CLOCK_HZ, ROUTER_CLOCK_SOURCE

    def design() -> Any:
        from testbench.designs import mesh_with_endpoints_design
        from testbench.measurement import fewer_lanes

        return mesh_with_endpoints_design(fewer_lanes(whole))

    whole, small = load_mesh(source), load_mesh(source, _FEWER_LANES)
    if whole.routing != "xy":
        message = f"must be xy, the routing of the model's meshes, not {whole.routing}"
        raise InputError(source, "routing", message)

    def algorithms(group: Sequence[int]) -> Sequence[str]:
        return [name for name, one in ALGORITHMS.items() if one.is_modelled(small, group)]

    return Hardware(
        source=source,
        name=whole.name,
        words="a mesh of routers and endpoints",
        npus=whole.routers,
        planes=1,
        flit_bytes=small.link.data_width // 8,
        full_flit_bytes=whole.link.data_width // 8,
        clock_hz=ROUTER_CLOCK_HZ,
        clock_source=ROUTER_CLOCK_SOURCE,
        changes=_FEWER_LANES,
        # The tasks name all participants, so the program holds only sizes.
        algorithms=algorithms,
        program=lambda _, size, algorithm: compile_for_mesh(
            small, Strategy(1, 1, 1), size, algorithm=algorithm
        ),
        design=design,
        grid=(whole.width, whole.height),
        read_ports=whole.endpoint.read_ports,
    )
