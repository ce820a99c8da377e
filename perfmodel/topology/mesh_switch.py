"""Mesh-switch hybrids: groups of NPUs around switches, which form a mesh."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated

from fred_hw.errors import InputError
from fred_hw.files import int_range, one_of
from perfmodel import published
from perfmodel.switch_timing.provenance import Provenance
from perfmodel.switch_timing.record import IDEAL_PROTOCOL, SwitchTiming, load_record

from .blocks import MAX_NPUS
from .files import KINDS, Kind, Protocol, Rate, Time, TopologyFile
from .graph import Hops, Link, Node, Topology

__all__ = ["MeshSwitchFile", "MeshSwitchTopology"]

_INSIDE = "switches of a mesh-switch hybrid serve all flows at once; this favours the hybrid"
_TREES = "a flow is joined at the switch in the middle of its groups, along rows first"


class MeshSwitchTopology(Topology):
    """Groups of NPUs on switches, each linked to the switches of the neighbouring groups.

    NPUs are numbered group by group, and groups row by row. I/O controllers are spread evenly.

    Parameters
    ----------
    name : str
        Name given by the user.
    columns, rows : int
        Groups in a row and in a column.
    npus : int
        NPUs of each group.
    io_controllers : int
        I/O controllers of all groups together.
    timing : SwitchTiming
        Timing of each switch.
    npu_bytes_per_s, mesh_bytes_per_s, io_bytes_per_s : float
        Bandwidth of an NPU to its switch, of a link between switches, and of an I/O controller,
        each direction [B/s].
    link_latency_s : float
        Latency of every link in each direction [s].
    in_network : bool
        Whether the switches reduce and multicast, or only route.
    """

    def __init__(
        self,
        *,
        name: str,
        columns: int,
        rows: int,
        npus: int,
        io_controllers: int,
        timing: SwitchTiming,
        npu_bytes_per_s: float,
        mesh_bytes_per_s: float,
        io_bytes_per_s: float,
        link_latency_s: float,
        in_network: bool,
    ) -> None:
        self._columns, self._rows, self._in_network = columns, rows, in_network
        self._mesh_bytes_per_s = mesh_bytes_per_s
        self.multicast = "in-network multicast" if in_network else ""
        groups = columns * rows
        self._first = groups * npus
        nodes = [Node(f"npu_{i}", "npu") for i in range(self._first)]
        cross_s = timing.latency_s, timing.preemption_s, timing.sooner_s
        nodes += [Node(f"l1_{i}", "switch", *cross_s) for i in range(groups)]
        nodes += [Node(f"io_{i}", "io") for i in range(io_controllers)]
        links: list[Link] = []

        def connect(a: int, b: int, bytes_per_s: float) -> None:
            links.append(Link(a, b, bytes_per_s, link_latency_s, timing.efficiency))
            links.append(Link(b, a, bytes_per_s, link_latency_s, timing.efficiency))

        switch_of: dict[int, int] = {}
        for npu in range(self._first):
            switch_of[npu] = self._first + npu // npus
            connect(npu, switch_of[npu], npu_bytes_per_s)
        for number in range(io_controllers):
            io = self._first + groups + number
            switch_of[io] = self._first + number * groups // io_controllers
            connect(io, switch_of[io], io_bytes_per_s)
        for group in range(groups):
            if (group + 1) % columns:
                connect(self._first + group, self._first + group + 1, mesh_bytes_per_s)
            if group + columns < groups:
                connect(self._first + group, self._first + group + columns, mesh_bytes_per_s)
        self.switch_of = switch_of
        super().__init__(name, nodes, links, _provenance(timing), timing.protocol)
        self.inside_cycles = timing.record.latency_cycles
        self.waits_for_acks = timing.switch is not None

    @property
    def in_network(self) -> bool:
        """Whether the switches reduce and multicast."""
        return self._in_network

    def hops(self, sources: Sequence[int], targets: Sequence[int]) -> Hops:
        """Return the links of a flow that reduces over ``sources`` and distributes to ``targets``.

        Flows meet at the switch in the middle of all switches that take part, or at the one of the
        only source or target. They go there along their row, then along the column, and leave in
        the opposite order.

        Raises
        ------
        ValueError
            The flow joins or forks and the switches only route.
        """
        if not self.in_network and len(sources) + len(targets) != 2:
            raise ValueError(f"{self.name} has no in-network collectives")
        joins = dict.fromkeys(self.switch_of[one] for one in sources)
        forks = dict.fromkeys(self.switch_of[one] for one in targets)
        meeting = self._meeting(joins, forks)
        hops: list[tuple[int, tuple[int, ...]]] = []

        def add(here: int, there: int, before: Iterable[int]) -> int:
            hops.append((self.link_index[here, there], tuple(before)))
            return len(hops) - 1

        arrived: dict[int, list[int]] = {}
        for source in sources:
            switch = self.switch_of[source]
            arrived.setdefault(switch, []).append(add(source, switch, ()))
        steps: dict[int, tuple[int, int]] = {}
        for switch in joins:
            path = self._path(switch, meeting)
            for place, (here, there) in enumerate(pairwise(path)):
                steps[here] = (len(path) - place, there)
        # Nodes farthest from the meeting point first, so that all inputs of a switch are known.
        for here, (_, there) in sorted(steps.items(), key=lambda item: -item[1][0]):
            arrived.setdefault(there, []).append(add(here, there, arrived[here]))
        brought: dict[int, Sequence[int]] = {meeting: arrived[meeting]}
        for switch in forks:
            for there, here in reversed([*pairwise(self._path(switch, meeting))]):
                if there not in brought:
                    brought[there] = (add(here, there, brought[here]),)
        for target in targets:
            switch = self.switch_of[target]
            add(switch, target, brought[switch])
        return tuple(hops)

    def _meeting(self, joins: Mapping[int, None], forks: Mapping[int, None]) -> int:
        """Return the switch where flows from some switches meet before they go to others."""
        if len(forks) == 1 or len(joins) == 1:
            return next(iter(forks if len(forks) == 1 else joins))
        places = [self._place(switch) for switch in {**joins, **forks}]
        column, row = (sorted(found)[len(found) // 2] for found in zip(*places, strict=True))
        return self._first + column + self._columns * row

    def _place(self, switch: int) -> tuple[int, int]:
        row, column = divmod(switch - self._first, self._columns)
        return column, row

    def _path(self, source: int, target: int) -> list[int]:
        """Return the switches between two switches, inclusive, along the row first."""
        (x, y), (column, row) = self._place(source), self._place(target)
        found = [source]
        while (x, y) != (column, row):
            if x != column:
                x += 1 if x < column else -1
            else:
                y += 1 if y < row else -1
            found.append(self._first + x + self._columns * y)
        return found

    def layout(self) -> dict[int, tuple[float, float]]:
        """Return node positions in pixels: switches, each with its NPUs and I/O controllers."""
        ends: dict[int, list[int]] = {}
        for end, switch in self.switch_of.items():
            ends.setdefault(switch, []).append(end)
        wide = 60 * max(map(len, ends.values())) + 40
        place: dict[int, tuple[float, float]] = {}
        for switch, own in ends.items():
            column, row = self._place(switch)
            x, y = 60.0 + wide * column, 60.0 + 180 * row
            place[switch] = (x + wide / 2 - 50, y)
            for number, end in enumerate(own):
                place[end] = (x + 60 * number, y + 70)
        return place

    def bisection_bytes_per_s(self) -> float:
        """Return the least bandwidth between the halves of all rows or all columns [B/s]."""
        lines = ((self._rows, self._columns), (self._columns, self._rows))
        return self._mesh_bytes_per_s * min(count for count, along in lines if along > 1)


def _provenance(timing: SwitchTiming) -> Provenance:
    assumptions = (_INSIDE, _TREES)
    if timing.protocol == "ideal":
        assumptions = (*assumptions, IDEAL_PROTOCOL)
    return Provenance((timing.use("switches"),), assumptions)


class MeshSwitchFile(TopologyFile):
    """``kind: mesh_switch``: groups of NPUs around one switch each, and a mesh of the switches.

    Parameters
    ----------
    columns : int
        Groups in a row.
    rows : int
        Groups in a column; at least 2 groups in all.
    npus : int
        NPUs of each group, at most 65536 in all.
    io_controllers : int
        I/O controllers of all groups, spread evenly; no more than NPUs.
    record : str
        Timing record of the switches, a shipped one such as `l1-12` or the path of a JSON file.
        The latency is interpolated for switches of more ports than it has.
    in_network : bool
        Whether the switches reduce and multicast, or only route.
    npu_bytes_per_s : float
        Bandwidth between an NPU and its switch, one direction [B/s].
    mesh_bytes_per_s : float
        Bandwidth between two neighbouring switches, one direction [B/s].
    io_bytes_per_s : float
        Bandwidth of an I/O controller, one direction [B/s].
    link_latency_s : float
        Latency of every link, one direction [s].
    """

    kind: Annotated[str, one_of("mesh_switch")]
    columns: Annotated[int, int_range(1, MAX_NPUS)]
    rows: Annotated[int, int_range(1, MAX_NPUS)]
    npus: Annotated[int, int_range(1, 64)]
    io_controllers: Annotated[int, int_range(0, MAX_NPUS)]
    in_network: bool
    mesh_bytes_per_s: Rate
    record: str = "l1-12"
    npu_bytes_per_s: Rate = published.NPU_L1_BYTES_PER_S
    io_bytes_per_s: Rate = published.IO_BYTES_PER_S
    link_latency_s: Time = published.LINK_LATENCY_S
    protocol: Protocol = "measured"

    def build(self, name: str, base: Path | None = None) -> MeshSwitchTopology:
        groups = self.columns * self.rows
        if groups < 2:
            raise InputError(name, "columns", f"must make 2 or more groups, not {groups}")
        if (npus := groups * self.npus) > MAX_NPUS:
            raise InputError(name, "npus", f"must be at most {MAX_NPUS} in all, not {npus}")
        if self.io_controllers > npus:
            message = f"must be at most {npus}, one for each NPU, not {self.io_controllers}"
            raise InputError(name, "io_controllers", message)
        mesh_ports = min(self.columns - 1, 2) + min(self.rows - 1, 2)
        ports = self.npus + -(-self.io_controllers // groups) + mesh_ports
        timing = load_record(self.record, base, self.protocol, source=name, field="record")
        return MeshSwitchTopology(
            name=name,
            columns=self.columns,
            rows=self.rows,
            npus=self.npus,
            io_controllers=self.io_controllers,
            timing=timing.with_ports(ports),
            npu_bytes_per_s=self.npu_bytes_per_s,
            mesh_bytes_per_s=self.mesh_bytes_per_s,
            io_bytes_per_s=self.io_bytes_per_s,
            link_latency_s=self.link_latency_s,
            in_network=self.in_network,
        )


KINDS.add("mesh_switch", Kind(MeshSwitchFile, (), lambda _text: None), rank=3)
