"""Arbitrary networks: NPUs, switches and individually listed links."""

from collections import deque
from collections.abc import Sequence
from itertools import pairwise
from math import cos, pi, sin
from pathlib import Path
from typing import Annotated
from zlib import crc32

from pydantic import Field

from fred_hw.errors import InputError
from fred_hw.files import FileModel, int_range, one_of, validate
from perfmodel.switch_timing.record import SwitchTiming, load_record

from . import cuts
from .files import KINDS, Kind, Protocol, Rate, Time, TopologyFile
from .flits import payload_share, protocol_of, provenance
from .graph import Hops, Link, Node, Topology

__all__ = ["LinkEntry", "LinksFile", "LinksTopology", "ethernet_file"]

_ENDS = "links and switches have the bandwidth and the latency of the file, and no more"

HOST_BYTES_PER_S = 64e9
"""Rate at which a GPU of an Ethernet network loads its input [B/s]: PCI Express 5.0 with 16 lanes
of 32 Gb/s each, less encoding. The formats of such networks do not state it."""


class LinksTopology(Topology):
    """NPUs and switches with the given links; messages take a path with the fewest links.

    With ``ecmp`` NPUs forward only if there are no switches, and each pair of NPUs takes one of the
    shortest paths by a hash, as in Ethernet (equal-cost multipath).

    Parameters
    ----------
    name : str
        Name given by the user.
    npus, switches : int
        Numbers of NPUs and switches, called ``npu_0`` on and ``switch_0`` on.
    links : sequence of Link
        All links, at most one from a node to another.
    link_timing : SwitchTiming or None
        Timing of the switch whose flits the links carry, as for ``mesh.MeshTopology``; None if the
        protocol is ideal.
    ecmp : bool
        Whether pairs of NPUs are spread over all shortest paths.
    io_bytes_per_s : float or None
        Bandwidth of an I/O controller at every NPU in each direction [B/s]; None without
        controllers.
    """

    neighbours_matter = True

    def __init__(
        self,
        *,
        name: str,
        npus: int,
        switches: int,
        links: Sequence[Link],
        link_timing: SwitchTiming | None = None,
        ecmp: bool = False,
        io_bytes_per_s: float | None = None,
    ) -> None:
        nodes = [Node(f"npu_{i}", "npu") for i in range(npus)]
        nodes += [Node(f"switch_{i}", "switch") for i in range(switches)]
        if io_bytes_per_s is not None:
            first, links = len(nodes), list(links)
            nodes += [Node(f"io_{i}", "io") for i in range(npus)]
            for i in range(npus):
                links.append(Link(i, first + i, io_bytes_per_s, 0.0))
                links.append(Link(first + i, i, io_bytes_per_s, 0.0))
        source = provenance(link_timing, "links of the file", _ENDS)
        if io_bytes_per_s is not None:
            rate = f"{io_bytes_per_s * 1e-9:g} GB/s"
            source = source.plus(f"each NPU loads its input at {rate}, over a link of its own")
        super().__init__(name, nodes, links, source, protocol_of(link_timing))
        self._sources: dict[int, list[int]] = {}
        for link in links:
            self._sources.setdefault(link.target, []).append(link.source)
        self._next: dict[int, dict[int, list[int]]] = {}
        self._ecmp = ecmp
        if ecmp:
            self.switch_of = _nearest(links, npus, npus + switches)

    @property
    def in_network(self) -> bool:
        """False, since the switches only route."""
        return False

    def hops(self, sources: Sequence[int], targets: Sequence[int]) -> Hops:
        """Return a path with the fewest links.

        Of several paths it is the first one in the file, or with ``ecmp`` one chosen by a hash.

        Raises
        ------
        ValueError
            The transfer joins or forks.
        """
        if len(sources) + len(targets) != 2:
            raise ValueError(f"{self.name} has no in-network collectives")
        [node], [target] = sources, targets
        if target not in self._next:
            self._next[target] = self._towards(target)
        path = [node]
        while path[-1] != target:
            following = self._next[target][path[-1]]
            place = 0
            if len(following) > 1:
                place = crc32(b"%d %d %d" % (node, target, path[-1])) % len(following)
            path.append(following[place])
        links = enumerate(pairwise(path))
        return tuple((self.link_index[ends], (i - 1,) if i else ()) for i, ends in links)

    def _towards(self, target: int) -> dict[int, list[int]]:
        """Return the next nodes on shortest paths to a node: all with ``ecmp``, else one."""
        found: dict[int, list[int]] = {target: []}
        distance = {target: 0}
        switched = self._ecmp and any(node.kind == "switch" for node in self.nodes)
        waiting = deque([target])
        while waiting:
            node = waiting.popleft()
            if switched and node != target and self.nodes[node].kind == "npu":
                if all(self.nodes[one].kind != "io" for one in self._sources.get(node, ())):
                    continue
                sources = [one for one in self._sources[node] if self.nodes[one].kind == "io"]
            else:
                sources = self._sources.get(node, [])
            for source in sources:
                if source not in found:
                    found[source] = [node]
                    distance[source] = distance[node] + 1
                    waiting.append(source)
                elif self._ecmp and distance[source] == distance[node] + 1:
                    found[source].append(node)
        return found

    def layout(self) -> dict[int, tuple[float, float]]:
        """Return node positions in pixels: NPUs on a circle, switches on an inner circle."""
        radius = 40.0 + 20.0 * self.npus
        rings = (
            (0, self.npus, radius),
            (self.npus, len(self.nodes) - self.io_controllers, radius / 2),
        )
        return {
            node: (
                radius + 40 - far * cos(2 * pi * (node - first) / (end - first)),
                radius + 40 - far * sin(2 * pi * (node - first) / (end - first)),
            )
            for first, end, far in rings
            for node in range(first, end)
        } | {node: (20.0 * i, 2 * radius + 80) for i, node in enumerate(self.io_nodes)}

    def bisection_bytes_per_s(self) -> float:
        """Return the min cut between the first half of the NPUs and the rest [B/s]."""
        names = [node.name for node in self.nodes[: self.npus]]
        half = self.npus // 2
        return cuts.min_cut(self.graph(), names[:half], names[half:], "bytes_per_s")


def _nearest(links: Sequence[Link], npus: int, end: int) -> dict[int, int]:
    """Return the switch of each NPU; if there are several, the one with the fastest link."""
    found: dict[int, Link] = {}
    for link in links:
        if link.source < npus <= link.target < end:
            best = found.setdefault(link.source, link)
            if link.bytes_per_s > best.bytes_per_s:
                found[link.source] = link
    return {npu: link.target for npu, link in found.items()}


class LinkEntry(FileModel):
    """A link of the file.

    Parameters
    ----------
    ends : list of str
        Names of the nodes that it joins, such as `[npu_0, switch_1]`.
    bytes_per_s : float
        Bandwidth in each direction [B/s]; by default that of the file.
    latency_s : float
        Latency in each direction [s]; by default that of the file.
    one_way : bool
        Whether it leads from the first end to the second alone.
    """

    ends: Annotated[list[str], Field(min_length=2, max_length=2)]
    bytes_per_s: Annotated[Rate | None, Field(examples=[1e12])] = None
    latency_s: Annotated[Time | None, Field(examples=[1e-8])] = None
    one_way: bool = False


class LinksFile(TopologyFile):
    """``kind: links``: NPUs, switches and each link between them.

    Parameters
    ----------
    npus : int
        NPUs, called `npu_0` on.
    switches : int
        Switches, called `switch_0` on.
    bytes_per_s : float
        Bandwidth of each link without a value of its own, one direction [B/s].
    latency_s : float
        Latency of each link without a value of its own, one direction [s].
    links : list of LinkEntry
        Links; they must connect each NPU with every other.
    routing : str
        `first` takes the path that comes first in the file, among those with the fewest links;
        `ecmp` spreads pairs of NPUs over all of these, and NPUs forward only if there are no
        switches.
    io_bytes_per_s : float
        Bandwidth of an I/O controller at every NPU, one direction [B/s]. Without this key there are
        no I/O controllers, and the topology runs collectives only.
    link_record : str
        Timing record of the switch whose flits the links carry, at the share of payload measured
        there: a shipped one such as `l1-12`, or the path of a JSON file.
    """

    kind: Annotated[str, one_of("links")]
    npus: Annotated[int, int_range(2, 4096)]
    switches: Annotated[int, int_range(0, 4096)] = 0
    bytes_per_s: Rate
    latency_s: Time
    links: Annotated[list[LinkEntry], Field(min_length=1)]
    routing: Annotated[str, one_of("first", "ecmp")] = "first"
    io_bytes_per_s: Annotated[Rate | None, Field(examples=[50e9])] = None
    link_record: str = "l1-12"
    protocol: Protocol = "measured"

    def build(self, name: str, base: Path | None = None) -> LinksTopology:
        timing = load_record(self.link_record, base, self.protocol)
        topology = LinksTopology(
            name=name,
            npus=self.npus,
            switches=self.switches,
            links=self._links(name, payload_share(timing)),
            link_timing=timing,
            ecmp=self.routing == "ecmp",
            io_bytes_per_s=self.io_bytes_per_s,
        )
        npus = [node.name for node in topology.nodes[: self.npus]]
        after, before = cuts.cut_off(topology.graph(), npus)
        if lost := after or before:
            rest = f" and {len(lost) - 3} more" if len(lost) > 3 else ""
            ends = [npus[0], ", ".join(lost[:3]) + rest]
            here, there = ends if after else ends[::-1]
            message = f"no path leads from {here} to {there}"
            raise InputError(
                name,
                "links",
                f"must connect every NPU with every other in both directions; {message}",
            )
        return topology

    def rate_and_latency(self, link: LinkEntry) -> tuple[float, float]:
        """Return the bandwidth [B/s] and latency [s] of a link, using the file's defaults."""
        rate = self.bytes_per_s if link.bytes_per_s is None else link.bytes_per_s
        return rate, self.latency_s if link.latency_s is None else link.latency_s

    def _links(self, name: str, share: float) -> list[Link]:
        nodes = [f"npu_{i}" for i in range(self.npus)]
        nodes += [f"switch_{i}" for i in range(self.switches)]
        places = {node: place for place, node in enumerate(nodes)}
        found: dict[tuple[int, int], Link] = {}
        for number, entry in enumerate(self.links):
            field = f"links.{number}.ends"
            for end in entry.ends:
                if end not in places:
                    switches = f" or switch_0 to switch_{self.switches - 1}" * bool(self.switches)
                    message = f"must be npu_0 to npu_{self.npus - 1}{switches}, not {end!r:.60}"
                    raise InputError(name, field, message)
            here, there = (places[end] for end in entry.ends)
            if here == there:
                raise InputError(name, field, f"must be two nodes, not {entry.ends[0]} twice")
            rate, late = self.rate_and_latency(entry)
            for pair in ((here, there), (there, here))[: 1 if entry.one_way else 2]:
                if pair in found:
                    names = f"{nodes[pair[0]]} to {nodes[pair[1]]}"
                    message = f"must join nodes that no other link joins, not {names} again"
                    raise InputError(name, field, message)
                found[pair] = Link(*pair, rate, late, share)
        return list(found.values())


def ethernet_file(
    npus: int, switches: int, links: Sequence[tuple[str, str, float, float]], source: str
) -> LinksFile:
    """Return an Ethernet network with equal-cost multipath and links without protocol overhead.

    GPUs load input at ``HOST_BYTES_PER_S``.

    Parameters
    ----------
    npus, switches : int
        See ``LinksFile``.
    links : sequence of (str, str, float, float)
        Nodes at the ends of each link, its bandwidth [B/s] and its latency [s]; one or more.
    source : str
        File or option that errors name.

    Raises
    ------
    InputError
        A value is out of its range, or a link joins a node that is not there.
    """
    entries = [
        {"ends": [here, there], "bytes_per_s": rate, "latency_s": late}
        for here, there, rate, late in links
    ]
    _, _, rate, late = links[0]
    file = {
        "kind": "links",
        "npus": npus,
        "switches": switches,
        "bytes_per_s": rate,
        "latency_s": late,
        "links": entries,
        "routing": "ecmp",
        "io_bytes_per_s": HOST_BYTES_PER_S,
        "protocol": "ideal",
    }
    return validate(LinksFile, file, source)


KINDS.add("links", Kind(LinksFile, (), lambda _text: None), rank=3)
