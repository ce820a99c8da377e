"""The baseline: a two-dimensional mesh of NPUs with X-Y routing."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Annotated

from pydantic import GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from fred_hw.compiler.mesh_rings import mesh_ring
from fred_hw.errors import InputError
from fred_hw.fabric_plan import End
from fred_hw.files import int_range, one_of
from fred_hw.mesh.plan import DIRECTIONS, MeshPlan
from fred_hw.published import MESH_LINK_BYTES_PER_S
from perfmodel import published
from perfmodel.switch_timing.endpoint import EndpointTiming
from perfmodel.switch_timing.router import LinkTiming, RouterTiming, load_link_record

from . import cuts
from .block import Dimension
from .endpoint_keys import ENDPOINT_KEYS, endpoint_of
from .files import KINDS, Kind, Protocol, Rate, Time, TopologyFile
from .flits import payload_share, protocol_of, provenance
from .graph import Hops, Link, Node, Topology

__all__ = ["MeshFile", "MeshTopology"]

_NO_ROUTER = "mesh routers take no time: no record of a router was taken; this favours the mesh"
_NO_ACKS = "NPUs of the mesh wait for no acks; this favours the mesh"
_SUMS = (
    "in an iteration unicasts on the mesh wait for bytes of links alone, not for buffer space, "
    "windows and acks of its routers; this favours the mesh"
)
_FORKS = "mesh routers copy a multicast at the forks of its X-Y tree"
_IN = (
    "an I/O controller of the mesh broadcasts straight inwards along its row or column and from "
    "there across; routers copy at the forks"
)
_OUT = (
    "sums for an I/O controller take its broadcast tree backwards; NPUs of the mesh add and pass on"
)
_LOCAL = DIRECTIONS.index("local")


def _ends(columns: int, rows: int) -> list[dict[str, End]]:
    """Return the peer on each side of each router, in the order of links and controllers."""
    plan = MeshPlan(width=columns, height=rows, controllers=True, routing="xy")
    sides = [(side, DIRECTIONS.index(side)) for side in ("east", "west", "south", "north")]
    return [{side: one.ends[port] for side, port in sides} for one in plan.units]


class MeshTopology(Topology):
    """A mesh of ``columns`` x ``rows`` NPUs, NPU x + columns * y at column x and row y.

    Each side of an NPU at the edge of the wafer has an I/O controller, so a corner has two; 5 x 4
    has the 18 published ones.

    Parameters
    ----------
    name : str
        Name given by the user.
    columns, rows : int
        NPUs in a row and in a column.
    link_bytes_per_s, io_bytes_per_s : float
        Bandwidth of a link between NPUs and of an I/O controller, each direction [B/s].
    link_latency_s : float
        Latency of every link in each direction [s].
    link_timing : RouterTiming, SwitchTiming or None
        Timing of the routers: every message that crosses one is delayed by its latency, also where
        it starts or ends at an NPU. Or timing of the switch whose flits, headers, CRC and acks the
        links carry, so that the same share of their rate remains for payload if the whole switch
        was measured, and routers take no time. None if the protocol is ideal.
    endpoint : EndpointTiming or None
        Timing of the endpoints of NPUs. Then an NPU is connected to its router by a link, as in
        docs/explanation/mesh.md, and runs at the clock of the routers; otherwise it is at the
        position of its router.

    Raises
    ------
    ValueError
        There are endpoints, but no timing of routers.
    """

    multicast = "X-Y multicast tree"
    fork_assumptions = (_FORKS,)
    stream_assumptions = MappingProxyType({"stream_in": _IN, "stream_out": _OUT})
    neighbours_matter = True

    def __init__(
        self,
        *,
        name: str,
        columns: int,
        rows: int,
        link_bytes_per_s: float,
        io_bytes_per_s: float,
        link_latency_s: float,
        link_timing: LinkTiming | None = None,
        endpoint: EndpointTiming | None = None,
    ) -> None:
        self.columns, self.rows = self.grid = (columns, rows)
        share = payload_share(link_timing)
        count = columns * rows
        routed = isinstance(link_timing, RouterTiming)
        cross_s = (link_timing.latency_s, link_timing.preemption_s) if routed else (0.0, 0.0)
        self.lines_alike = endpoint is None
        self._routers = 0  # index of the first router; without endpoints NPUs stand for routers
        nodes = [Node(f"npu_{i}", "npu", *(() if endpoint else cross_s)) for i in range(count)]
        if endpoint:
            if not isinstance(link_timing, RouterTiming):
                raise ValueError("endpoint must be given with the timing of routers")
            self._routers = count
            self.sooner_cycles, self.message_cycles = link_timing.router_cycles
            self.endpoint = endpoint.with_clock(link_timing.record.clock)
            self.single_ports = self.endpoint.fills(link_bytes_per_s)
            nodes += [Node(f"router_{i}", "switch", *cross_s) for i in range(count)]
            self.switch_of = {i: count + i for i in range(count)}
        links: list[Link] = []
        self._ports: list[int] = []  # by which the flits of each link arrive

        def connect(a: int, b: int, bytes_per_s: float, port: int = _LOCAL) -> None:
            links.append(Link(a, b, bytes_per_s, link_latency_s, share))
            self._ports.append(port)

        first, ends = self._routers, _ends(columns, rows)
        for npu, own in enumerate(ends):
            for end in own.values():
                if end.kind == "unit":
                    connect(first + npu, first + end.number, link_bytes_per_s, end.port)
            if first:
                connect(npu, first + npu, link_bytes_per_s)
                connect(first + npu, npu, link_bytes_per_s)
        self._along_row: dict[int, bool] = {}
        self._npu_of: dict[int, int] = {}  # NPU of each I/O controller
        for npu, own in enumerate(ends):
            for side in (side for side, end in own.items() if end.kind == "controller"):
                io = len(nodes)
                self._along_row[io], self._npu_of[io] = side in ("east", "west"), npu
                nodes.append(Node(f"io_{io - first - count}", "io"))
                connect(first + npu, io, io_bytes_per_s)
                connect(io, first + npu, io_bytes_per_s)
        source = provenance(link_timing, "mesh links", _NO_ROUTER)
        if self.endpoint:
            source = replace(source, records=(*source.records, self.endpoint.use("endpoints")))
            source = source.plus(_SUMS)
        elif any(cross_s):
            source = source.plus(_NO_ACKS)
        super().__init__(name, nodes, links, source, protocol_of(link_timing))

    @property
    def in_network(self) -> bool:
        """False, since mesh routers neither reduce nor change data."""
        return False

    @property
    def scheduling_dimensions(self) -> tuple[Dimension, ...]:
        """Rows and columns; a dimension of one NPU is left out."""
        first = self._routers
        found: list[Dimension] = []
        for count, stride in ((self.columns, 1), (self.rows, self.columns)):
            if count > 1:
                link = self.links[self.link_index[first, first + stride]]
                rate, share = link.payload_bytes_per_s, link.efficiency
                found.append(Dimension(count, stride, "line", rate, share))
        return tuple(found)

    def hops(self, sources: Sequence[int], targets: Sequence[int]) -> Hops:
        """Return the X-Y route from an NPU, along its row and then along a column.

        Several targets are served by a multicast tree, the union of their routes. An I/O controller
        sends directly inwards along its own row or column, and from there across: so the busiest
        link of an N x N mesh carries 2N - 1 channels when all of them broadcast.

        Raises
        ------
        ValueError
            There are several sources: a mesh does not reduce in the network.
        """
        if len(sources) != 1:
            raise ValueError(f"a mesh transfer must have one source, not {len(sources)}")
        source = sources[0]
        if set(targets) & self._along_row.keys():
            raise ValueError(
                "a mesh transfer must end at NPUs, not at I/O controllers: use reduction_hops"
            )
        return self._tree(source, targets)

    def port_of(self, link: int) -> int:
        """Return the port by which flits of a link arrive, an index into ``DIRECTIONS``."""
        return self._ports[link]

    def ring_order(self, members: Sequence[int]) -> Sequence[int]:
        """Return the group ordered from neighbour to neighbour; see ``mesh_rings.mesh_ring``."""
        return mesh_ring(self.columns, tuple(members))

    def layout(self) -> dict[int, tuple[float, float]]:
        """Return node positions in pixels, with I/O controllers outside the NPUs."""
        place = {
            npu: (110.0 + 120 * (npu % self.columns), 90.0 + 90 * (npu // self.columns))
            for npu in range(self.npus)
        }
        for io in self.io_nodes:
            npu = self._npu_of[io]
            x, y = place[npu]
            if self._along_row[io]:
                right = npu % self.columns == self.columns - 1 and (x + 70, y) not in place.values()
                place[io] = (x + 70, y) if right else (x - 70, y)
            else:
                below = npu // self.columns == self.rows - 1
                below = below and (x, y + 60) not in place.values()
                place[io] = (x, y + 60) if below else (x, y - 60)
        for npu in range(self.npus if self._routers else 0):
            x, y = place[npu]
            place[self._routers + npu] = (x + 35, y + 30)
        return place

    def reduction_hops(self, sources: Sequence[int], io: int) -> Hops:
        """Return the tree from NPUs to an I/O controller, the reverse of its broadcast tree.

        NPUs add what meets in them, and pass it on.
        """
        tree = self._tree(io, sources)
        children: list[list[int]] = [[] for _ in tree]
        for place, (_, before) in enumerate(tree):
            for parent in before:
                children[parent].append(place)
        # Parents precede their children, so in reverse order each follows its children.
        last, back = len(tree) - 1, self._back
        return tuple(
            (back[tree[place][0]], tuple([last - child for child in children[place]]))
            for place in range(last, -1, -1)
        )

    @cached_property
    def _back(self) -> list[int]:
        """The link in the opposite direction of each link."""
        return [self.link_index[link.target, link.source] for link in self.links]

    def _tree(self, source: int, targets: Sequence[int]) -> Hops:
        """Return the union of the routes to some NPUs; each link stands behind that before it."""
        columns, first, index = self.columns, self._routers, self.link_index
        begin = self._npu_of.get(source, source)
        row, column = divmod(begin, columns)
        along_row = self._along_row.get(source, True)
        tree: list[tuple[int, tuple[int, ...]]] = []
        place = {begin: 0}  # of the link to each NPU, or its router, in the tree
        if first + begin != source:
            tree.append((index[source, first + begin], ()))
        for target in targets:
            # The tree contains the first part of a route, so search backwards from its end.
            rest: list[int] = []
            here = target
            while here not in place:
                rest.append(here)
                y, x = divmod(here, columns)
                if y != row and (along_row or x == column):
                    here += columns if y < row else -columns
                else:
                    here += 1 if x < column else -1
            for there in reversed(rest):
                before = (place[here],) if first + here != source else ()
                place[there] = len(tree)
                tree.append((index[first + here, first + there], before))
                here = there
            if first:
                tree.append((index[first + target, target], (place[target],)))
        return tuple(tree)

    def bisection_bytes_per_s(self) -> float:
        """Return the min cut between halves of the NPUs, split by rows or by columns [B/s].

        A half is the first half of the NPUs counted along rows, or along columns; the cut of an
        odd number of lines is a staircase.
        """
        graph, count = self.graph(), self.npus
        by_row = [f"npu_{i}" for i in range(count)]
        by_column = [
            f"npu_{x + self.columns * y}" for x in range(self.columns) for y in range(self.rows)
        ]
        half = count // 2
        return min(
            cuts.min_cut(graph, order[:half], order[half:], "bytes_per_s")
            for order in (by_row, by_column)
        )


class MeshFile(TopologyFile):
    """``kind: mesh``: NPUs in rows and columns, with an I/O controller on each outer side.

    Parameters
    ----------
    columns : int
        NPUs in a row; two NPUs or more in all.
    rows : int
        NPUs in a column.
    link_bytes_per_s : float
        Bandwidth of a link between NPUs, one direction [B/s].
    io_bytes_per_s : float
        Bandwidth of an I/O controller, one direction [B/s].
    link_latency_s : float
        Latency of every link, one direction [s].
    link_record : str
        Timing record of the routers: the shipped `mesh-5x4` or the path of a JSON file. The record
        of a switch, such as `l1-12`, gives only the share of payload on the links; routers then
        take no time.
    endpoint_record : str
        Timing record of the NPUs' collective endpoints: ``endpoint`` or a file of `fred
        characterize`. An NPU then has one link to its router, as in hardware. Without this key NPUs
        take no time and have all links of their routers, as in the paper.
    memory_latency_s : float
        Latency of a memory read of an endpoint, with `endpoint_record`; 0 by default [s].
    """

    kind: Annotated[str, one_of("mesh")]
    columns: Annotated[int, int_range(1, 256)]
    rows: Annotated[int, int_range(1, 256)]
    link_bytes_per_s: Rate = MESH_LINK_BYTES_PER_S
    io_bytes_per_s: Rate = published.IO_BYTES_PER_S
    link_latency_s: Time = published.LINK_LATENCY_S
    link_record: str = "mesh-5x4"
    endpoint_record: str | None = None
    memory_latency_s: Time | None = None
    protocol: Protocol = "measured"

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {**super().__get_pydantic_json_schema__(core_schema, handler), **ENDPOINT_KEYS}

    def build(self, name: str, base: Path | None = None) -> MeshTopology:
        if self.columns * self.rows < 2:
            raise InputError(name, "", "must have 2 or more NPUs, not 1")
        timing = load_link_record(
            self.link_record, base, self.protocol, source=name, field="link_record"
        )
        endpoint = endpoint_of(self, name, base)
        if endpoint and not isinstance(timing, RouterTiming):
            message = "must be of routers with endpoint_record, such as mesh-5x4, not of a switch"
            raise InputError(name, "link_record", message)
        return MeshTopology(
            name=name,
            columns=self.columns,
            rows=self.rows,
            link_bytes_per_s=self.link_bytes_per_s,
            io_bytes_per_s=self.io_bytes_per_s,
            link_latency_s=self.link_latency_s,
            link_timing=timing,
            endpoint=endpoint,
        )


def _read_name(text: str) -> Mapping[str, object] | None:
    size = re.fullmatch(r"mesh:([0-9]{1,9})x([0-9]{1,9})", text.lower())
    return {"columns": int(size[1]), "rows": int(size[2])} if size else None


KINDS.add("mesh", Kind(MeshFile, ("mesh:COLUMNSxROWS",), _read_name), rank=0)
