"""Output port of a packet at a router, in hardware."""

from collections.abc import Sequence

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from fred_hw.gates.select import one_hot_mux, selected
from fred_hw.gates.wire import wire
from fred_hw.member import member
from fred_hw.spec import SwitchSpec
from fred_hw.switch.ports.signatures import port_bits
from fred_hw.unit import Unit

from .plan import DIRECTIONS
from .routing import ROUTINGS, WiredFork
from .spec import MeshShape, MeshSpec, check_mesh

__all__ = [
    "RouteComputation",
    "check_directions",
    "position_layout",
    "router_shape_name",
    "toward_end",
    "wired_fork",
]


def position_layout(mesh: MeshShape) -> data.StructLayout:
    """Return the layout of the position of a router: column ``x`` and row ``y``."""
    return data.StructLayout({"x": range(max(2, mesh.width)), "y": range(max(2, mesh.height))})


def check_directions(unit: str, directions: Sequence[str]) -> tuple[str, ...]:
    """Return the ports of a router in order; fail unless there are two or more.

    Raises
    ------
    TypeError, ValueError
        The ports are not a sequence, or not ports of a router.
    """
    several = isinstance(directions, Sequence) and not isinstance(directions, str)
    given = tuple(directions) if several else ()
    if len(given) < 2 or given != tuple(one for one in DIRECTIONS if one in given):
        kind, allowed = ValueError if several else TypeError, ", ".join(DIRECTIONS)
        raise kind(f"{unit} directions must be 2 or more of {allowed}, not {directions!r}")
    return given


def router_shape_name(mesh: MeshSpec, directions: Sequence[str]) -> str:
    """Return the part of a generated name for routes and ports: ``5x4_nesl``."""
    letters = "".join(one[0] for one in directions)
    return mesh.shape_name if len(letters) == len(DIRECTIONS) else f"{mesh.shape_name}_{letters}"


def toward_end(m: Module, mesh: MeshShape, here: data.View, end: data.View) -> list[Value]:
    """Return whether each direction between routers, in their order, leads toward a position."""
    routing = ROUTINGS[mesh.routing]
    east, west = routing.toward(m, here.x, end.x, mesh.width)
    south, north = routing.toward(m, here.y, end.y, mesh.height)
    return [north, east, south, west]


def wired_fork(
    m: Module,
    mesh: MeshShape,
    places: tuple[Value, Value, data.View, data.View],
    toward: Value,
    alternate: Value,
) -> WiredFork:
    """Return a packet at a router, for a routing algorithm.

    Parameters
    ----------
    m : Module
        Module of the unit.
    mesh : MeshShape
        The mesh.
    places : tuple of Value and View
        Addresses of source and destination, positions of the router and of the destination.
    toward : Value
        Directions that lead toward the destination.
    alternate : Value
        As of ``WiredFork``.
    """
    across, along = wire(m, "across", toward & 0b1010), wire(m, "along", toward & 0b0101)
    return WiredFork(
        *places,
        columns=tuple(place.x for place in mesh.plan.places),
        across=across,
        along=along,
        east=across[DIRECTIONS.index("east")],
        alternate=alternate,
    )


class RouteComputation(Unit):
    """Find the output port of a packet from its addresses.

    The route is a shortest one. A packet in the column or the row of its destination stays there;
    elsewhere ``mesh.routing`` decides. All packets from one address to another have one route, or
    one of two if sources choose.

    Parameters
    ----------
    mesh : MeshSpec
        The mesh.
    directions : sequence of str
        Ports that the router has, 2 or more of ``DIRECTIONS`` in their order.

    Timing
    ------
    Latency : none.
    Throughput : every cycle.
    Paths : all inputs to all outputs.
    Reset : none.

    Raises
    ------
    TypeError, ValueError
        A parameter has a wrong type, or is out of range.
    """

    clocked = resettable = False

    destination = member(In, lambda u: u.spec.protocol.fields["destination"])
    """Address of the destination."""
    source = member(In, lambda u: u.spec.protocol.fields["destination"])
    """Address of the source."""
    here: data.View = member(In, lambda u: position_layout(u.mesh))
    """Position of the router."""
    alternate = member(In, 1, when=lambda u: ROUTINGS[u.mesh.routing].chooses)
    """If sources choose: the packet takes the route that addresses alone do not select."""
    exit = member(Out, lambda u: port_bits(u.spec))
    """Place of the port among ``directions``."""
    astray = member(Out, 1)
    """There is no such destination, or no port that leads there."""

    def __init__(self, *, mesh: MeshSpec, directions: Sequence[str]) -> None:
        self.mesh = check_mesh("RouteComputation", mesh)
        self.directions = check_directions("RouteComputation", directions)
        self.spec: SwitchSpec = mesh.router(self.directions)
        self.unit_name = f"route_computation_{router_shape_name(mesh, directions)}"
        super().__init__()

    def build(self, m: Module) -> None:
        end, routing = self._end(m), ROUTINGS[self.mesh.routing]
        # The local port is the last direction.
        toward = wire(m, "toward", Cat(*toward_end(m, self.mesh, self.here, end), Const(0, 1)))
        arrived = wire(m, "arrived", ~toward.any())
        alternate = self.alternate if routing.chooses else Const(0, 1)
        places = (self.source, self.destination, self.here, end)
        fork = wired_fork(m, self.mesh, places, toward, alternate)
        between = routing.between(m, fork)
        onward = Mux(fork.across.any(), between, fork.along)
        leads = wire(m, "leads", Mux(arrived, end.direction, onward))
        ports = [DIRECTIONS.index(one) for one in self.directions]
        m.d.comb += [
            self.exit.eq(one_hot_mux(Cat(leads[one] for one in ports), list(range(len(ports))))),
            self.astray.eq(~Cat(leads[one] for one in ports).any() | (end.direction == 0)),
        ]

    def _end(self, m: Module) -> data.View:
        """Return the direction of the destination as one bit; 0 if there is no such destination."""
        layout = data.StructLayout({**position_layout(self.mesh).members, "direction": 5})
        end = Signal(layout, name="goal")
        rows = [
            Const(
                {"x": place.x, "y": place.y, "direction": 1 << DIRECTIONS.index(place.direction)},
                layout,
            ).as_value()
            for place in self.mesh.plan.places
        ]
        m.d.comb += end.as_value().eq(selected(self.destination, rows))
        return end
