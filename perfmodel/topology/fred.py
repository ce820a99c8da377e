"""The FRED fabric: NPUs and I/O controllers on L1 switches, L1 switches on one logical L2."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field

from fred_hw.errors import InputError
from fred_hw.files import FileModel, int_range, one_of
from perfmodel import constants
from perfmodel.switch_timing.provenance import Provenance, RecordUse
from perfmodel.switch_timing.record import IDEAL_PROTOCOL, SwitchTiming, load_record

from . import cuts
from .files import KINDS, Kind, Protocol, Rate, Time, TopologyFile
from .graph import Hops, Link, Node, Topology

__all__ = ["L1", "FredFile", "FredTopology", "L1Entry"]

MAX_NPUS = 4096


@dataclass(frozen=True, slots=True)
class L1:
    """One logical L1 switch.

    Parameters
    ----------
    npus, io_controllers : int
        What hangs on it.
    l2_bytes_per_s : float
        Bandwidth to the L2, each direction [B/s].
    timing : SwitchTiming
        Of each of the chiplets that it is made of.
    """

    npus: int
    io_controllers: int
    l2_bytes_per_s: float
    timing: SwitchTiming


class FredTopology(Topology):
    """A two-level tree; the NPUs of the first L1 come first.

    Parameters
    ----------
    name : str
        As the user wrote it.
    l1 : sequence of L1
        The L1 switches.
    l2_timing : SwitchTiming
        Of each chiplet of the L2; its protocol is that of the topology.
    npu_l1_bytes_per_s, io_bytes_per_s : float
        Bandwidth of an NPU and of an I/O controller to its L1, each direction [B/s].
    link_latency_s : float
        Of every link, each direction [s].
    in_network : bool
        Whether the switches reduce and multicast (FRED-B, D) or only route (FRED-A, C).
    """

    def __init__(
        self,
        *,
        name: str,
        l1: Sequence[L1],
        l2_timing: SwitchTiming,
        npu_l1_bytes_per_s: float,
        io_bytes_per_s: float,
        link_latency_s: float,
        in_network: bool,
    ) -> None:
        count = sum(switch.npus for switch in l1)
        ios = sum(switch.io_controllers for switch in l1)
        self.l1_nodes = tuple(range(count, count + len(l1)))
        self.l2_node = count + len(l1)
        self._in_network = in_network
        self.multicast = "in-network multicast" if in_network else ""
        switch_of: dict[int, int] = {}
        self.switch_of = switch_of
        nodes = [Node(f"npu_{i}", "npu") for i in range(count)]
        nodes += [Node(f"l1_{i}", "switch", l1[i].timing.latency_s) for i in range(len(l1))]
        nodes += [Node("l2", "switch", l2_timing.latency_s)]
        nodes += [Node(f"io_{i}", "io") for i in range(ios)]
        links: list[Link] = []

        def connect(a: int, b: int, bytes_per_s: float, efficiency: float) -> None:
            links.append(Link(a, b, bytes_per_s, link_latency_s, efficiency))
            links.append(Link(b, a, bytes_per_s, link_latency_s, efficiency))

        npu, io = 0, self.l2_node + 1
        for node, switch in zip(self.l1_nodes, l1, strict=True):
            passed = switch.timing.efficiency
            for _ in range(switch.npus):
                connect(npu, node, npu_l1_bytes_per_s, passed)
                switch_of[npu] = node
                npu += 1
            for _ in range(switch.io_controllers):
                connect(io, node, io_bytes_per_s, passed)
                switch_of[io] = node
                io += 1
            both = min(passed, l2_timing.efficiency)
            connect(node, self.l2_node, switch.l2_bytes_per_s, both)
        timings = [*(switch.timing for switch in l1), l2_timing]
        provenance = Provenance(_uses(l1, l2_timing), _assumptions(timings, in_network))
        super().__init__(name, nodes, links, provenance, l2_timing.protocol)

    @property
    def in_network(self) -> bool:
        """Whether the switches reduce and multicast."""
        return self._in_network

    def layout(self) -> dict[int, tuple[float, float]]:
        """Return the L2 above, L1s under it, and NPUs and I/O controllers below, in pixels."""
        place: dict[int, tuple[float, float]] = {}
        x = 40.0
        for switch in self.l1_nodes:
            ends = [
                link.target
                for link in self.links
                if link.source == switch and link.target != self.l2_node
            ]
            for number, end in enumerate(ends):
                place[end] = (x + 34 * number, 300.0 + (34 if number % 2 else 0))
            place[switch] = (x + 17 * (len(ends) - 1), 160.0)
            x += 34 * len(ends) + 24
        middle = sum(place[switch][0] for switch in self.l1_nodes) / len(self.l1_nodes)
        place[self.l2_node] = (middle, 40.0)
        return place

    def hops(self, sources: Sequence[int], targets: Sequence[int]) -> Hops:
        """Return the links of a flow: reduce over ``sources``, distribute to ``targets``.

        Each L1 reduces its own sources, and the L2 reduces the L1s. What only one L1 needs is
        joined there, and what only one L1 has does not come back to it from the L2. A route from
        one node to another is the flow of one source and one target.

        Raises
        ------
        ValueError
            The flow joins or forks and the switches only route.
        """
        if not self.in_network and len(sources) + len(targets) != 2:
            raise ValueError(f"{self.name} has no in-network collectives")
        hops: list[tuple[int, tuple[int, ...]]] = []

        def add(here: int, there: int, before: tuple[int, ...]) -> int:
            hops.append((self.link_index[here, there], before))
            return len(hops) - 1

        local: dict[int, tuple[int, ...]] = {}
        for source in sources:
            switch = self.switch_of[source]
            local[switch] = (*local.get(switch, ()), add(source, switch, ()))
        ends = dict.fromkeys(self.switch_of[target] for target in targets)
        rise = {
            switch: add(switch, self.l2_node, joined)
            for switch, joined in local.items()
            if set(ends) - {switch}
        }
        ready: dict[int, tuple[int, ...]] = {}
        for switch in ends:
            joins_here = len(ends) == 1 or len(local) == 1
            remote = tuple(hop for other, hop in rise.items() if other != switch or not joins_here)
            own = local.get(switch, ()) if joins_here else ()
            fall = (add(self.l2_node, switch, remote),) if remote else ()
            ready[switch] = own + fall
        for target in targets:
            switch = self.switch_of[target]
            add(switch, target, ready[switch])
        return tuple(hops)

    def bisection_bytes_per_s(self) -> float:
        """Return half of the least cut between all NPUs and the L2, one direction [B/s].

        Five L1 switches have no whole half: as the published figures do, this counts the uplinks
        of two and a half of them.
        """
        npus = [f"npu_{i}" for i in range(self.npus)]
        return cuts.min_cut(self.graph(), npus, ["l2"], "bytes_per_s") / 2


def _uses(l1: Sequence[L1], l2_timing: SwitchTiming) -> tuple[RecordUse, ...]:
    """Return the provenance of each record, with all switches that it describes."""
    names: dict[str, list[str]] = {}
    timings: dict[str, SwitchTiming] = {}
    for name, timing in [*((f"l1_{i}", s.timing) for i, s in enumerate(l1)), ("l2", l2_timing)]:
        names.setdefault(timing.loaded_as, []).append(name)
        timings[timing.loaded_as] = timing
    return tuple(timings[key].use(", ".join(switches)) for key, switches in names.items())


def _assumptions(timings: Sequence[SwitchTiming], in_network: bool) -> tuple[str, ...]:
    """Return what the records and the variant leave open."""
    found: list[str] = []
    if in_network:
        found.append("flows that are active at once are routed without conflict in every switch")
    lost = max(timing.reconfiguration_cycles for timing in timings)
    if lost:
        found.append(
            f"phases follow each other without a gap, which was measured as up to {lost} cycle(s)"
        )
    if all(timing.protocol == "ideal" for timing in timings):
        return (*found, IDEAL_PROTOCOL)
    partial = dict.fromkeys(timing.loaded_as for timing in timings if timing.switch is None)
    if partial:
        found.append(f"headers, CRC, acks and link layer are free in {', '.join(partial)}")
    whole = [timing.switch for timing in timings if timing.switch]
    if whole:
        most = max(switch.preemption_cycles for switch in whole)
        found.append("links are free of faults, so nothing is sent again")
        found.append(
            f"urgent flows go before others at once, which was measured as after {most} cycle(s)"
        )
    return tuple(found)


class L1Entry(FileModel):
    """One or ``count`` equal L1 switches: what hangs on each, and the record of its chiplet."""

    count: Annotated[int, int_range(1, 64)] = 1
    npus: Annotated[int, int_range(1, 64)]
    io_controllers: Annotated[int, int_range(0, 64)]
    record: str


class FredFile(TopologyFile):
    """``kind: fred``; bandwidths [B/s] per direction; ``l1_l2_bytes_per_s`` is that of one L1."""

    kind: Annotated[str, one_of("fred")]
    l1: Annotated[list[L1Entry], Field(min_length=1)]
    l2_record: str
    l1_l2_bytes_per_s: Rate
    in_network: bool
    npu_l1_bytes_per_s: Rate = constants.NPU_L1_BYTES_PER_S
    io_bytes_per_s: Rate = constants.IO_BYTES_PER_S
    link_latency_s: Time = constants.LINK_LATENCY_S
    protocol: Protocol = "measured"

    def build(self, name: str, base: Path | None = None) -> FredTopology:
        npus = sum(entry.count * entry.npus for entry in self.l1)
        if not 2 <= npus <= MAX_NPUS:
            raise InputError(name, "l1", f"must have 2 to {MAX_NPUS} NPUs in all, not {npus}")
        switches: list[L1] = []
        for entry in self.l1:
            timing = load_record(entry.record, base, self.protocol)
            one = L1(entry.npus, entry.io_controllers, self.l1_l2_bytes_per_s, timing)
            switches += [one] * entry.count
        return FredTopology(
            name=name,
            l1=switches,
            l2_timing=load_record(self.l2_record, base, self.protocol),
            npu_l1_bytes_per_s=self.npu_l1_bytes_per_s,
            io_bytes_per_s=self.io_bytes_per_s,
            link_latency_s=self.link_latency_s,
            in_network=self.in_network,
        )


def _read_name(name: str) -> Mapping[str, object] | None:
    """Return a variant of the paper: 20 NPUs and 18 I/O controllers on five L1 switches.

    Three L1s have 4 I/O controllers and two have 3: so the published chiplet areas add up.
    """
    if name not in constants.FRED_VARIANTS:
        return None
    l1_l2_bytes_per_s, in_network = constants.FRED_VARIANTS[name]
    return {
        "l1": [
            {"count": 3, "npus": 4, "io_controllers": 4, "record": "l1-12"},
            {"count": 2, "npus": 4, "io_controllers": 3, "record": "l1-11"},
        ],
        "l2_record": "l2-10",
        "l1_l2_bytes_per_s": l1_l2_bytes_per_s,
        "in_network": in_network,
    }


KINDS.add("fred", Kind(FredFile, tuple(constants.FRED_VARIANTS), _read_name), rank=1)
