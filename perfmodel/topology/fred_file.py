"""FRED fabrics by name and in YAML."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

from pydantic import Field, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from fred_hw.choices import find_choice
from fred_hw.errors import InputError
from fred_hw.files import FileModel, int_range, one_of
from perfmodel import published
from perfmodel.switch_timing.record import SwitchTiming, load_record

from .blocks import MAX_NPUS
from .endpoint_keys import ENDPOINT_KEYS, endpoint_of
from .files import KINDS, Kind, Protocol, Rate, Time, TopologyFile
from .fred import L1, FredTopology, Level

__all__ = ["FredFile", "L1Entry", "LevelEntry"]


class L1Entry(FileModel):
    """One or ``count`` equal L1 switches: the attached nodes, and the record of the chiplet.

    Parameters
    ----------
    count : int
        Switches that are alike.
    npus : int
        NPUs on each.
    io_controllers : int
        I/O controllers on each.
    record : str
        Timing record of the chiplet, a shipped one such as `l1-12` or the path of a JSON file. It
        has a port for each NPU, each I/O controller and the switch above, or more.
    """

    count: Annotated[int, int_range(1, MAX_NPUS)] = 1
    npus: Annotated[int, int_range(1, 64)]
    io_controllers: Annotated[int, int_range(0, 64)]
    record: str


class LevelEntry(FileModel):
    """A level of switches: number of lower switches per switch, and the link rates.

    Parameters
    ----------
    fan_in : int
        Number of switches of the level below per switch.
    bytes_per_s : float
        Bandwidth of the links from one switch of the level below, one direction [B/s].
    record : str
        Timing record of the chiplets, as for `l1`.
    """

    fan_in: Annotated[int, int_range(2, MAX_NPUS)]
    bytes_per_s: Rate
    record: str


class FredFile(TopologyFile):
    """``kind: fred``: L1 switches with NPUs, and the switches above them.

    ``l2_record`` and ``l1_l2_bytes_per_s`` describe one switch above all L1s; ``levels``, in their
    place, as many levels as it takes, the lowest first, until one switch is left.

    Parameters
    ----------
    l1 : list of L1Entry
        The L1 switches; NPUs are numbered in their order, 2 to 65536 in all.
    l2_record : str
        Timing record of the chiplets of the one switch above all L1s. Give it with
        `l1_l2_bytes_per_s`, or give `levels` instead of both.
    l1_l2_bytes_per_s : float
        Bandwidth between one L1 and the switch above, one direction [B/s].
    levels : list of LevelEntry
        Levels above the L1s, the lowest first, until one switch is left.
    in_network : bool
        Whether the switches reduce and multicast, or only route.
    multicast : bool
        Whether switches that do not reduce fork multicasts. `fred-a` and `fred-c` do: the paper
        (8.1) gives messages between pipeline stages the full rate of an NPU on all variants.
    interpolate : bool
        Whether the latency is interpolated for switches with more ports than the record.
    npu_l1_bytes_per_s : float
        Bandwidth between an NPU and its switch, one direction [B/s].
    io_bytes_per_s : float
        Bandwidth of an I/O controller, one direction [B/s].
    link_latency_s : float
        Latency of every link, one direction [s].
    endpoint_record : str
        Timing record of the NPUs' collective endpoints: ``endpoint`` or a file of `fred
        characterize`. Without this key endpoints take no time, as in the paper.
    memory_latency_s : float
        Latency of memory from a read of an endpoint to its data, with `endpoint_record`; 0 by
        default [s].
    """

    kind: Annotated[str, one_of("fred")]
    l1: Annotated[list[L1Entry], Field(min_length=1)]
    l2_record: str | None = None
    l1_l2_bytes_per_s: Rate | None = None
    levels: Annotated[list[LevelEntry], Field(min_length=1)] | None = None
    in_network: bool
    multicast: bool = False
    interpolate: bool = False
    npu_l1_bytes_per_s: Rate = published.NPU_L1_BYTES_PER_S
    io_bytes_per_s: Rate = published.IO_BYTES_PER_S
    link_latency_s: Time = published.LINK_LATENCY_S
    endpoint_record: str | None = None
    memory_latency_s: Time | None = None
    protocol: Protocol = "measured"

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        found = super().__get_pydantic_json_schema__(core_schema, handler)
        short, none, some = (
            ("l2_record", "l1_l2_bytes_per_s"),
            {"type": "null"},
            {"not": {"type": "null"}},
        )
        one = {"levels": none, **dict.fromkeys(short, some)}
        more = {"levels": some, **dict.fromkeys(short, none)}
        choices = [
            {"properties": one, "required": [*short]},
            {"properties": more, "required": ["levels"]},
        ]
        return {**found, "anyOf": choices, **ENDPOINT_KEYS}

    def build(self, name: str, base: Path | None = None) -> FredTopology:
        npus = sum(entry.count * entry.npus for entry in self.l1)
        if not 2 <= npus <= MAX_NPUS:
            raise InputError(name, "l1", f"must have 2 to {MAX_NPUS} NPUs in all, not {npus}")
        above = self._levels(name)
        switches: list[L1] = []
        for number, entry in enumerate(self.l1):
            links = entry.npus + entry.io_controllers + 1
            timing = self._timing(name, base, f"l1.{number}.record", entry.record, links)
            switches += [L1(entry.npus, entry.io_controllers, timing)] * entry.count
        levels: list[Level] = []
        below = len(switches)
        for field, entry in above:
            links = [min(entry.fan_in, below - i) for i in range(0, below, entry.fan_in)]
            below = len(links)
            uplink = int(below > 1)
            timings = {
                count: self._timing(name, base, field, entry.record, count + uplink)
                for count in sorted(set(links), reverse=True)
            }
            found = tuple(timings[count] for count in links)
            levels.append(Level(found, entry.fan_in, entry.bytes_per_s))
        if below > 1:
            message = f"must join {len(switches)} L1 switches to one, not leave {below}"
            raise InputError(name, "levels", message)
        return FredTopology(
            name=name,
            l1=switches,
            levels=levels,
            npu_l1_bytes_per_s=self.npu_l1_bytes_per_s,
            io_bytes_per_s=self.io_bytes_per_s,
            link_latency_s=self.link_latency_s,
            in_network=self.in_network,
            multicast=self.multicast,
            endpoint=endpoint_of(self, name, base),
        )

    def _levels(self, name: str) -> Sequence[tuple[str, LevelEntry]]:
        """Return the levels above the L1s, each with the field that names its record."""
        short = {"l2_record": self.l2_record, "l1_l2_bytes_per_s": self.l1_l2_bytes_per_s}
        for field, value in short.items():
            if self.levels is None and value is None:
                raise InputError(name, field, "is required and was not given; or levels")
            if self.levels is not None and value is not None:
                raise InputError(
                    name, field, f"must not be given together with levels, not {value!r}"
                )
        if self.levels is not None:
            return [(f"levels.{i}.record", entry) for i, entry in enumerate(self.levels)]
        assert self.l2_record is not None and self.l1_l2_bytes_per_s is not None
        entry = LevelEntry(
            fan_in=MAX_NPUS, bytes_per_s=self.l1_l2_bytes_per_s, record=self.l2_record
        )
        return [("l2_record", entry)]

    def _timing(
        self, name: str, base: Path | None, field: str, record: str, links: int
    ) -> SwitchTiming:
        """Return the timing of a switch with a number of links, each of which needs a port."""
        timing = load_record(record, base, self.protocol, source=name, field=field)
        if links <= timing.ports:
            return timing
        if self.interpolate:
            return timing.with_ports(links)
        allowed = f"must be of a switch with {links} or more ports, one for each link"
        more = "fred characterize writes one, and interpolate: true does without"
        raise InputError(name, field, f"{allowed}, not {record!r} with {timing.ports}; {more}")


def _read_name(name: str) -> Mapping[str, object] | None:
    """Return a variant of the paper: 20 NPUs and 18 I/O controllers on five L1 switches.

    Three L1s have 4 I/O controllers and two have 3: so the published chiplet areas add up.
    """
    variant = find_choice(name, published.FRED_VARIANTS)
    if variant is None:
        return None
    l1_l2_bytes_per_s, in_network = published.FRED_VARIANTS[variant]
    return {
        "l1": [
            {"count": 3, "npus": 4, "io_controllers": 4, "record": "l1-12"},
            {"count": 2, "npus": 4, "io_controllers": 3, "record": "l1-11"},
        ],
        "l2_record": "l2-10",
        "l1_l2_bytes_per_s": l1_l2_bytes_per_s,
        "in_network": in_network,
        "multicast": True,
    }


KINDS.add("fred", Kind(FredFile, tuple(published.FRED_VARIANTS), _read_name), rank=1)
