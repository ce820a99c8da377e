"""The plan of a mesh or a torus: routers, their neighbours, addresses and unicast routes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from fred_hw.fabric_plan import End, FabricPlan, FabricUnit

from .routing import ROUTINGS, Fork

__all__ = ["DIRECTIONS", "OPPOSITE", "MeshPlan", "Place", "Router"]

DIRECTIONS = ("north", "east", "south", "west", "local")
"""Ports of a router by number. Rows count from north to south, columns from west to east."""

_STEPS = {"north": (0, -1), "east": (1, 0), "south": (0, 1), "west": (-1, 0)}
OPPOSITE = {"north": "south", "south": "north", "east": "west", "west": "east"}
"""The direction back."""


class Place(NamedTuple):
    """Location of an address: its router, and the port there."""

    x: int
    y: int
    direction: str


@dataclass(frozen=True, kw_only=True)
class Router(FabricUnit):
    """A router of a mesh.

    Parameters
    ----------
    name : str
        ``router_<x>_<y>``.
    ends : tuple of End
        Peer of each port.
    x, y : int
        Column and row.
    directions : tuple of str
        Ports that the router has, in the order of ``DIRECTIONS``.
    position : int
        Value of its input ``position``.
    """

    x: int
    y: int
    directions: tuple[str, ...]
    position: int

    @property
    def numbers(self) -> Sequence[int]:
        """Number of each port among ``DIRECTIONS``."""
        return [DIRECTIONS.index(one) for one in self.directions]

    @property
    def ports(self) -> Sequence[str]:
        """The directions."""
        return self.directions

    @property
    def pins(self) -> Mapping[str, int]:
        """The constant position."""
        return {"position": self.position}


class MeshPlan(FabricPlan[Router]):
    """A mesh of routers, row by row, each with an NPU of the same number.

    Parameters
    ----------
    width, height : int
        Columns and rows of routers.
    controllers : bool
        Whether each router has an I/O controller where it has no neighbour.
    routing : str
        One of ``ROUTINGS``.
    wrap : bool, optional
        Whether the last router of each row and column is a neighbour of the first, as in a torus.
    """

    def __init__(
        self, *, width: int, height: int, controllers: bool, routing: str, wrap: bool = False
    ) -> None:
        self.width, self.height = width, height
        self.controllers, self.routing, self.wrap = controllers, routing, wrap
        self.npus = self.endpoints = width * height

    @cached_property
    def places(self) -> tuple[Place, ...]:
        """Location of each address: NPUs row by row from 0, then controllers.

        Those go around: north from west to east, east from north to south, south, west.
        """
        columns, rows = range(self.width), range(self.height)
        npus = [Place(x, y, "local") for y in rows for x in columns]
        edges = [
            *(Place(x, 0, "north") for x in columns),
            *(Place(self.width - 1, y, "east") for y in rows),
            *(Place(x, self.height - 1, "south") for x in columns),
            *(Place(0, y, "west") for y in rows),
        ]
        return (*npus, *(edges if self.controllers else []))

    @cached_property
    def units(self) -> Sequence[Router]:
        """All routers, row by row."""
        bits = max(1, (self.width - 1).bit_length())
        return tuple(
            Router(
                name=f"router_{x}_{y}",
                ends=tuple(self._end(x, y, one) for one in self._directions(x, y)),
                x=x,
                y=y,
                directions=self._directions(x, y),
                position=x | y << bits,
            )
            for y in range(self.height)
            for x in range(self.width)
        )

    def exit(self, unit: int, source: int, destination: int, *, alternate: bool = False) -> int:
        here, start, end = self.units[unit], self.places[source], self.places[destination]
        rule = ROUTINGS[self.routing]
        across = ("", "east", "west")[rule.step(here.x, end.x, self.width)]
        along = ("", "south", "north")[rule.step(here.y, end.y, self.height)]
        out = across or along or end.direction
        if across and along:
            pair = source, destination
            fork = Fork(pair, here.x, here.y, start.x, end.x, across, along, alternate)
            out = rule.port(fork)
        return here.directions.index(out)

    @property
    def class_channels(self) -> int:
        return ROUTINGS[self.routing].channels

    @property
    def alternates(self) -> Sequence[bool]:
        return (False, True) if ROUTINGS[self.routing].chooses else (False,)

    def channel(self, unit: int, entry: int, channel: int, port: int) -> int:
        here = self.units[unit]
        out = here.directions[port]
        return ROUTINGS[self.routing].channel(
            channel,
            straight=OPPOSITE.get(here.directions[entry]) == out,
            wraps=self.wraps(here.x, here.y, out),
        )

    def wraps(self, x: int, y: int, direction: str) -> bool:
        """Return whether the link in a direction leads around, from one edge to the other."""
        return self.wrap and self._inside(x, y, direction) is None

    def _neighbour(self, x: int, y: int, direction: str) -> tuple[int, int] | None:
        """Return column and row of a neighbouring router; None if there is none."""
        if other := self._inside(x, y, direction):
            return other
        across, down = _STEPS[direction]
        around = (x + across) % self.width, (y + down) % self.height
        return around if self.wrap and around != (x, y) else None

    def _inside(self, x: int, y: int, direction: str) -> tuple[int, int] | None:
        """Return column and row of the router next to another, without links that wrap."""
        across, down = _STEPS.get(direction, (0, 0))
        other = x + across, y + down
        return other if other[0] in range(self.width) and other[1] in range(self.height) else None

    def _directions(self, x: int, y: int) -> tuple[str, ...]:
        """Return the ports of a router."""
        if self.controllers:
            return DIRECTIONS
        return tuple(one for one in DIRECTIONS if one == "local" or self._neighbour(x, y, one))

    def _end(self, x: int, y: int, direction: str) -> End:
        """Return the peer at a port of a router."""
        if direction == "local":
            return End("npu", x + self.width * y)
        if other := self._neighbour(x, y, direction):
            port = self._directions(*other).index(OPPOSITE[direction])
            return End("unit", other[0] + self.width * other[1], port)
        return End("controller", self._addresses[Place(x, y, direction)])

    @cached_property
    def _addresses(self) -> Mapping[Place, int]:
        """Address of each place."""
        return {place: address for address, place in enumerate(self.places)}
