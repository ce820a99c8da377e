"""A mesh of routers, with a link to each NPU and I/O controller."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib.wiring import In, Member, Out

from fred_hw.protocol import HEADER_FIELDS
from fred_hw.unit import Unit, place

from .axis import axis_members, axis_wire
from .router import ERRORS, MeshRouter
from .spec import DIRECTIONS, MeshSpec, Place, check_mesh

__all__ = ["Mesh"]

_OPPOSITE = {"north": "south", "south": "north", "east": "west", "west": "east"}


class Mesh(Unit):
    """Carry unicasts between NPUs and I/O controllers: docs/mesh.md.

    Parameters
    ----------
    mesh : MeshSpec
        The mesh.

    Members
    -------
    s<k>_axis_tdata, tvalid, tready, tlast, tuser : In, In(1), Out(1), In(1), In
        Flits from the NPU or controller with the address k, see docs/protocol.md.
    m<k>_axis_tdata, tvalid, tready, tlast, tuser : Out, Out(1), In(1), Out(1), Out
        Flits to it.
    incarnation : In(8)
        Of all routers; see ``LinkSession``.
    up : Out(N)
        Links to NPUs and controllers that are up, by address.
    inner_up : Out(1)
        All links between routers are up.
    errors, dropped : Out(6), Out(1)
        High for a cycle when a router finds an error, or drops something; see ``MeshRouter``.

    Timing
    ------
    Latency : 8 cycles for each router on the way, and 1 to ``errors`` and ``dropped`` more.
    Throughput : one flit per link and cycle.
    Paths : none.
    Reset : forgets all packets, and begins all links anew.

    Raises
    ------
    TypeError
        ``mesh`` is no specification of a mesh.
    """

    incarnation: Signal
    up: Signal
    inner_up: Signal
    errors: Signal
    dropped: Signal

    def __init__(self, *, mesh: MeshSpec) -> None:
        self.mesh = check_mesh("Mesh", mesh)
        self.unit_name = mesh.name
        members: dict[str, Member] = {}
        for address in range(len(mesh.places)):
            members |= axis_members(address, mesh.link.data_width)
        super().__init__(
            {
                **members,
                "incarnation": In(HEADER_FIELDS["incarnation"].bits),
                "up": Out(len(mesh.places)),
                "inner_up": Out(1),
                "errors": Out(len(ERRORS)),
                "dropped": Out(1),
            }
        )

    def build(self, platform: object) -> Module:
        m = Module()
        mesh = self.mesh
        routers: dict[tuple[int, int], MeshRouter] = {}
        for y in range(mesh.height):
            for x in range(mesh.width):
                router = MeshRouter(mesh=mesh, directions=mesh.directions(x, y))
                routers[x, y] = place(m, f"router_{x}_{y}", router)
                m.d.comb += [
                    router.position.x.eq(x),
                    router.position.y.eq(y),
                    router.incarnation.eq(self.incarnation),
                ]
        inner = []
        for (x, y), router in routers.items():
            for direction in (one for one in _OPPOSITE if one in router.directions):
                if other := mesh.neighbour(x, y, direction):
                    inner.append((x, y, direction))
                    self._join(m, router, routers[other], direction)
        outer = {place_of: address for address, place_of in enumerate(mesh.places)}
        for place_of, address in outer.items():
            self._pass(m, routers[place_of.x, place_of.y], place_of, address)
        every = routers.values()
        ups = [routers[x, y].up[routers[x, y].directions.index(one)] for x, y, one in sorted(inner)]
        m.d.sync += [
            self.inner_up.eq(Cat(ups).all()),
            self.dropped.eq(Cat(router.dropped for router in every).any()),
        ]
        for number in range(len(ERRORS)):
            m.d.sync += self.errors[number].eq(Cat(one.errors[number] for one in every).any())
        return m

    def _join(self, m: Module, router: MeshRouter, other: MeshRouter, direction: str) -> None:
        """Let a router send to its neighbour."""
        out, into = DIRECTIONS.index(direction), DIRECTIONS.index(_OPPOSITE[direction])
        m.d.comb += [
            axis_wire(other, "s", into, name).eq(axis_wire(router, "m", out, name))
            for name in ("valid", "data", "user", "last")
        ]
        m.d.comb += axis_wire(router, "m", out, "ready").eq(axis_wire(other, "s", into, "ready"))

    def _pass(self, m: Module, router: MeshRouter, place_of: Place, address: int) -> None:
        """Pass a link of a router on to the outside."""
        number = DIRECTIONS.index(place_of.direction)
        for name in ("valid", "data", "user", "last"):
            into, out = (axis_wire(router, letter, number, name) for letter in "sm")
            m.d.comb += [
                into.eq(axis_wire(self, "s", address, name)),
                axis_wire(self, "m", address, name).eq(out),
            ]
        m.d.comb += [
            axis_wire(self, "s", address, "ready").eq(axis_wire(router, "s", number, "ready")),
            axis_wire(router, "m", number, "ready").eq(axis_wire(self, "m", address, "ready")),
            self.up[address].eq(router.up[router.directions.index(place_of.direction)]),
        ]
