"""Routes that a source can choose from, with their load at its router."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from fred_hw.gates.select import one_hot_mux, selected
from fred_hw.gates.wire import wire
from fred_hw.link.crowding import CROWDING_BITS, CROWDING_PLACES, crowding_layout
from fred_hw.member import member
from fred_hw.spec import SwitchSpec, check_spec
from fred_hw.unit import Unit

from .route_computation import position_layout, toward_end, wired_fork
from .routing import ROUTINGS
from .spec import MeshShape

__all__ = ["RouteChoice"]


class RouteChoice(Unit):
    """Determine whether a source has two outputs at its router, and their load.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes, of a mesh whose sources choose routes.

    Timing
    ------
    Latency : none.
    Throughput : every cycle.
    Paths : all inputs to all outputs.
    Reset : none.

    Raises
    ------
    TypeError, ValueError
        ``spec`` is not a specification, or its sources do not choose routes.
    """

    clocked = resettable = False

    source = member(In, lambda u: u.spec.protocol.fields["source"])
    """Address of the source."""
    destination = member(In, lambda u: u.spec.protocol.fields["source"])
    """Address of the destination."""
    crowding: data.View = member(In, crowding_layout())
    """Load that the router reports for its outputs."""
    forks = member(Out, 1)
    """There are two outputs."""
    named = member(Out, CROWDING_BITS)
    """Packets that wait for the output given by the addresses."""
    other = member(Out, CROWDING_BITS)
    """Packets that wait for the other output."""

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = check_spec("RouteChoice", spec)
        routes = spec.protocol.routes
        if routes is None:
            raise ValueError(
                f"RouteChoice spec must be of a mesh whose sources choose, not {spec!r}"
            )
        assert isinstance(routes, MeshShape)
        self.routes = routes
        self.unit_name = f"route_choice_{routes.shape_name}"
        super().__init__()

    def build(self, m: Module) -> None:
        here, end = (self._place(m, name) for name in ("source", "destination"))
        toward = wire(m, "toward", Cat(*toward_end(m, self.routes, here, end)))
        places = (self.source, self.destination, here, end)
        fork = wired_fork(m, self.routes, places, toward, Const(0, 1))
        rule = ROUTINGS[self.routes.routing]
        counts = [self.crowding[name] for name in CROWDING_PLACES]
        both = [
            wire(m, f"to_{k}", one_hot_mux(one, counts))
            for k, one in enumerate((fork.across, fork.along))
        ]
        named = wire(m, "along_is_named", rule.named(fork))
        m.d.comb += [
            self.forks.eq(fork.across.any() & rule.forks(m, fork)),
            self.named.eq(Mux(named, both[1], both[0])),
            self.other.eq(Mux(named, both[0], both[1])),
        ]

    def _place(self, m: Module, name: str) -> data.View:
        """Return column and row of the router of an address."""
        layout = position_layout(self.routes)
        found = Signal(layout, name=f"{name}_place")
        rows: list[Value] = [
            Const({"x": place.x, "y": place.y}, layout).as_value()
            for place in self.routes.plan.places
        ]
        m.d.comb += found.as_value().eq(selected(getattr(self, name), rows))
        return found
