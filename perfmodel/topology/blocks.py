"""Stacked blocks: rings, tori, fully connected NPUs and switches.

Every line of NPUs along a dimension is a block of its own, as in the hierarchical networks of
ASTRA-sim 2.0 (arXiv 2303.14006): NPU d0 + n0 * (d1 + n1 * ...) is at place d0 of the first, the
innermost. Stacked rings are a torus.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from math import ceil, prod, sqrt
from pathlib import Path
from typing import Annotated, Any, cast

from pydantic import Field, GetJsonSchemaHandler, WithJsonSchema
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from fred_hw.errors import InputError
from fred_hw.files import FileModel, in_range, one_of
from fred_hw.published import MESH_LINK_BYTES_PER_S
from perfmodel import published
from perfmodel.switch_timing.record import SwitchTiming, load_record

from .block import Block, BlockKind, Dimension
from .files import KINDS, Kind, Protocol, Rate, Time, TopologyFile
from .flits import payload_share, protocol_of, provenance
from .graph import Hops, Link, Node, Topology

__all__ = ["MAX_NPUS", "BlocksFile", "BlocksTopology"]

MAX_NPUS = 1 << 16
"""Largest number of NPUs of a topology."""

_MAX_LINKS = 1 << 24

_ENDS = "links and switches of blocks have the bandwidth and the latency of the file, and no more"


class BlocksTopology(Topology):
    """NPUs in one dimension per block.

    Parameters
    ----------
    name : str
        Name given by the user.
    blocks : sequence of Block
        The dimensions, the innermost first.
    io_bytes_per_s : float or None
        Bandwidth of an I/O controller at every NPU in each direction [B/s]; None without
        controllers.
    link_timing : SwitchTiming or None
        Timing of the switch whose flits the links carry, as for ``mesh.MeshTopology``; None if the
        protocol is ideal.
    """

    neighbours_matter = False
    lines_alike = True

    def __init__(
        self,
        *,
        name: str,
        blocks: Sequence[Block],
        io_bytes_per_s: float | None = None,
        link_timing: SwitchTiming | None = None,
    ) -> None:
        self.blocks = tuple(blocks)
        self.strides = [prod(one.npus for one in blocks[:i]) for i in range(len(blocks))]
        share = payload_share(link_timing)
        self.dimensions = tuple(
            Dimension(one.npus, stride, one.kind, one.bytes_per_s * share, share)
            for one, stride in zip(blocks, self.strides, strict=True)
        )
        count = prod(one.npus for one in blocks)
        nodes = [Node(f"npu_{i}", "npu") for i in range(count)]
        links: list[Link] = []

        def connect(a: int, b: int, bytes_per_s: float, latency_s: float) -> None:
            links.append(Link(a, b, bytes_per_s, latency_s, share))
            links.append(Link(b, a, bytes_per_s, latency_s, share))

        self._switches: dict[tuple[int, int], int] = {}  # by dimension and first NPU of the line
        for number, (block, stride) in enumerate(zip(self.blocks, self.strides, strict=True)):
            for first in range(count):
                if first // stride % block.npus:
                    continue
                line = [first + stride * i for i in range(block.npus)]
                for a, b in block.pairs():
                    connect(line[a], line[b], block.bytes_per_s, block.latency_s)
                if block.kind == "switch":
                    self._switches[number, first] = len(nodes)
                    for npu in line:
                        connect(npu, len(nodes), block.bytes_per_s, block.latency_s)
                    nodes.append(Node(f"switch{number}_{first}", "switch"))
        if io_bytes_per_s is not None:
            for npu in range(count):
                connect(npu, len(nodes), io_bytes_per_s, 0.0)
                nodes.append(Node(f"io_{npu}", "io"))
        self._npu_of = {node: i for i, node in enumerate(range(len(nodes) - count, len(nodes)))}
        if io_bytes_per_s is None:
            self._npu_of = {}
        # Line of each NPU in the innermost block; streams and rings keep its members together.
        inner = blocks[0].npus
        self.switch_of = {
            **{npu: npu // inner for npu in range(count)},
            **{io: npu // inner for io, npu in self._npu_of.items()},
        }
        source = provenance(link_timing, "links of blocks", _ENDS)
        super().__init__(name, nodes, links, source, protocol_of(link_timing))

    @property
    def in_network(self) -> bool:
        """False, since the switches of blocks only route."""
        return False

    def hops(self, sources: Sequence[int], targets: Sequence[int]) -> Hops:
        """Return the route from one node to another, the innermost dimension first.

        Raises
        ------
        ValueError
            The transfer joins or forks.
        """
        if len(sources) + len(targets) != 2:
            raise ValueError(f"{self.name} has no in-network collectives")
        path = self._path(sources[0], targets[0])
        links = enumerate(pairwise(path))
        return tuple((self.link_index[ends], (i - 1,) if i else ()) for i, ends in links)

    def _path(self, source: int, target: int) -> list[int]:
        here, end = self._npu_of.get(source, source), self._npu_of.get(target, target)
        path = [source] if here == source else [source, here]
        for number, (block, stride) in enumerate(zip(self.blocks, self.strides, strict=True)):
            source_place, place = here // stride % block.npus, end // stride % block.npus
            if source_place == place:
                continue
            first = here - source_place * stride
            here = first + place * stride
            if block.kind == "ring":
                path += [first + one * stride for one in block.path(source_place, place)[1:]]
            elif block.kind == "switch":
                path += (self._switches[number, first], here)
            else:
                path.append(here)
        return path if end == target else [*path, target]

    def links_of_lines(self, link: int, offsets: Iterable[int]) -> list[int]:
        one = self.links[link]
        switch = max(one.source, one.target)
        if switch < self.npus:
            return super().links_of_lines(link, offsets)
        number, first = self._line_of[switch]
        ends = [(offset, self._switches[number, first + offset]) for offset in offsets]
        if one.target == switch:
            return [self.link_index[one.source + offset, node] for offset, node in ends]
        return [self.link_index[node, one.target + offset] for offset, node in ends]

    @cached_property
    def _line_of(self) -> dict[int, tuple[int, int]]:
        """Dimension and first NPU of the line of each switch."""
        return {node: line for line, node in self._switches.items()}

    def ring_order(self, members: Sequence[int]) -> Sequence[int]:
        """Return the members line by line, alternating direction, in all dimensions."""

        def key(npu: int) -> list[int]:
            found: list[int] = []
            line = 0  # number of the line in this order: every second line runs backwards
            for block, stride in reversed(list(zip(self.blocks, self.strides, strict=True))):
                place = npu // stride % block.npus
                found.append(block.npus - 1 - place if line % 2 else place)
                line = line * block.npus + found[-1]
            return found

        order = sorted(members, key=key)
        first = order.index(members[0])
        return [*order[first:], *order[:first]]

    def layout(self) -> dict[int, tuple[float, float]]:
        """Return the two innermost blocks as adjacent tiles with switches below, in pixels."""
        columns = self.blocks[0].npus
        tile = columns * (self.blocks[1].npus if len(self.blocks) > 1 else 1)
        across = ceil(sqrt(self.npus / tile))  # number of tiles in a row
        wide, high = 90 * columns + 30, 70 * tile // columns + 30
        place: dict[int, tuple[float, float]] = {}
        for npu in range(self.npus):
            row, column = divmod(npu // tile, across)
            y, x = divmod(npu % tile, columns)
            place[npu] = (60.0 + wide * column + 90 * x, 60.0 + high * row + 70 * y)
        below = max(y for _, y in place.values()) + 90
        fitting = max(1, round(max(x for x, _ in place.values()) / 60))  # switches in each row
        for number, node in enumerate(self._switches.values()):
            row, column = divmod(number, fitting)
            place[node] = (60.0 + 60 * column, below + 60 * row)
        for io, npu in self._npu_of.items():
            x, y = place[npu]
            place[io] = (x + 40, y + 30)
        return place

    def bisection_bytes_per_s(self) -> float:
        """Return the least bandwidth between the halves of all lines of a dimension [B/s].

        The first half of a line has the fewer NPUs if their number is odd.
        """
        return min(self.npus // one.npus * one.halves_bytes_per_s for one in self.blocks)


_SIZE: dict[str, Any] = {"type": "integer", "minimum": 2, "maximum": MAX_NPUS}
_SIZES: dict[str, Any] = {"type": "array", "items": _SIZE, "minItems": 1}


class BlockEntry(FileModel):
    """A block: the links between the NPUs of each line along a dimension.

    Parameters
    ----------
    block : str
        Connection of the NPUs of a line. A `torus` is a ring along each of its dimensions.
    npus : int or list of int
        NPUs in a line; for a `torus` a list with one number for each dimension.
    bytes_per_s : float
        Bandwidth of each link in one direction [B/s]: between neighbours of a ring, between two
        NPUs that are fully connected, or from an NPU to its switch.
    latency_s : float
        Latency of each link in one direction [s]; counted twice through a switch.
    """

    block: Annotated[str, one_of("ring", "torus", "fully_connected", "switch")]
    npus: Annotated[object, WithJsonSchema({"anyOf": [_SIZE, _SIZES]})]
    bytes_per_s: Rate
    latency_s: Time

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        found = super().__get_pydantic_json_schema__(core_schema, handler)
        torus = {"properties": {"block": {"const": "torus"}}, "required": ["block"]}
        many, one = ({"properties": {"npus": {"type": kind}}} for kind in ("array", "integer"))
        return {**found, "if": torus, "then": many, "else": one}

    def blocks(self, name: str, field: str) -> list[Block]:
        """Return the dimensions of the entry; a torus becomes rings."""
        given = self.npus if self.block == "torus" else [self.npus]
        if not isinstance(given, list) or not given:
            message = f"must list the NPUs along each dimension of a torus, not {given!r}"
            raise InputError(name, field, message)
        sizes: list[int] = []
        for size in cast("list[object]", given):
            try:
                sizes.append(cast("int", in_range(size, 2, MAX_NPUS)))
            except ValueError as error:
                raise InputError(name, field, str(error)) from None
        kind: BlockKind = "ring"
        if self.block in ("fully_connected", "switch"):
            kind = self.block
        return [Block(kind, size, self.bytes_per_s, self.latency_s) for size in sizes]


class BlocksFile(TopologyFile):
    """``kind: blocks``: stacked dimensions of NPUs, the innermost first.

    Parameters
    ----------
    blocks : list of BlockEntry
        The dimensions, the innermost first, at most 65536 NPUs and 16777216 links in all.
    io_bytes_per_s : float
        Bandwidth of an I/O controller at every NPU, one direction [B/s]. Without this key there are
        no I/O controllers, and the topology runs collectives only.
    link_record : str
        Timing record of the switch whose flits the links carry, at the share of payload measured
        there: a shipped one such as `l1-12`, or the path of a JSON file.
    """

    kind: Annotated[str, one_of("blocks")]
    blocks: Annotated[list[BlockEntry], Field(min_length=1)]
    io_bytes_per_s: Rate | None = None
    link_record: str = "l1-12"
    protocol: Protocol = "measured"

    def build(self, name: str, base: Path | None = None) -> BlocksTopology:
        found = [
            block
            for place, entry in enumerate(self.blocks)
            for block in entry.blocks(name, f"blocks.{place}.npus")
        ]
        npus = prod(one.npus for one in found)
        if npus > MAX_NPUS:
            raise InputError(name, "blocks", f"must have at most {MAX_NPUS} NPUs, not {npus}")
        links = sum(npus // one.npus * one.links for one in found)
        if links > _MAX_LINKS:
            raise InputError(name, "blocks", f"must have at most {_MAX_LINKS} links, not {links}")
        return BlocksTopology(
            name=name,
            blocks=found,
            io_bytes_per_s=self.io_bytes_per_s,
            link_timing=load_record(self.link_record, base, self.protocol),
        )


def _read_name(text: str) -> Mapping[str, object] | None:
    """Return a torus whose links are those of the paper's mesh."""
    size = re.fullmatch(r"torus:([0-9]{1,9}(?:x[0-9]{1,9})+)", text.lower())
    if size is None:
        return None
    rates = {"bytes_per_s": MESH_LINK_BYTES_PER_S, "latency_s": published.LINK_LATENCY_S}
    return {"blocks": [{"block": "torus", "npus": [*map(int, size[1].split("x"))], **rates}]}


KINDS.add("blocks", Kind(BlocksFile, ("torus:COLUMNSxROWS",), _read_name), rank=2)
