"""Compatible sets of unicasts for two middle subswitches."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out

from fred_hw.checks import check_int
from fred_hw.compiler.shape import split_count
from fred_hw.gates.select import any_of, first_of, next_grant
from fred_hw.gates.wire import wire
from fred_hw.member import member
from fred_hw.unit import Unit

__all__ = ["PathClaims"]


class PathClaims(Unit):
    """Grant links of a FRED_2(P) to unicasts whose path the source determines.

    A unicast from s to d uses the link from subswitch s mod 2^n towards the ports of d / 2^n, for
    each level n; see ``UnicastRouter``. Unicasts that need the same link get it one after the
    other. A unicast that does not get all of its links becomes the first one, round-robin, and
    keeps others from its links until it is sent.

    Parameters
    ----------
    ports : int
        Ports P of the interconnect, 2 or more.

    Timing
    ------
    Latency : none.
    Throughput : a grant per cycle at least while there are wants and nothing is held.
    Paths : all inputs to ``granted``.
    Reset : no source is the first one.

    Raises
    ------
    TypeError, ValueError
        A parameter has a wrong type, or is out of range.
    """

    wants: list[Signal] = member(In, lambda u: u.ports, array=lambda u: u.ports)
    """Requested destination of each source, one-hot or 0. No two are the same."""
    holds: list[Signal] = member(In, lambda u: u.ports, array=lambda u: u.ports)
    """Destination of each source's path that must stay, or 0."""
    granted = member(Out, lambda u: u.ports)
    """Sources with a path to their requested destination."""

    def __init__(self, *, ports: int) -> None:
        self.ports = check_int("PathClaims ports", ports, minimum=2)
        self.unit_name = f"path_claims_p{ports}"
        super().__init__()

    def build(self, m: Module) -> None:
        ports = range(self.ports)
        first = Signal(self.ports)
        behind = Signal(self.ports)
        wanting = Cat(own.any() for own in self.wants)
        gets: list[list[Value]] = [[] for _ in ports]
        for level in range(1, split_count(self.ports) + 1):
            block = 1 << level
            for part in range(min(block, self.ports)):
                sources = list(ports[part::block])
                for start in ports[::block]:
                    ends = slice(start, start + block)
                    used = any_of([self.holds[k][ends].any() for k in sources])
                    name = f"{level}_{part}_{start}"
                    asks = wire(m, f"asks_{name}", Cat(self.wants[k][ends].any() for k in sources))
                    ahead = asks & Cat(first[k] for k in sources)
                    lowest = first_of(m, f"asks_{name}", asks)
                    won = wire(m, f"won_{name}", Mux(used, 0, Mux(ahead.any(), ahead, lowest)))
                    for place, k in enumerate(sources):
                        gets[k].append(~asks[place] | won[place])
        for k, links in enumerate(gets):
            m.d.comb += self.granted[k].eq(self.wants[k].any() & Cat(links).all())
        blocked = wanting & ~self.granted
        with m.If(~(first & blocked).any()):
            chosen, later = next_grant(m, "first", blocked, behind)
            m.d.sync += first.eq(chosen)
            with m.If(blocked.any()):
                m.d.sync += behind.eq(later)
