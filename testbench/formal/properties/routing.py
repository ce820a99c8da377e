"""Properties of unicast routing: paths and claims."""

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Const, Module, Signal, Value

from fred_hw.gates.select import any_of, gated
from fred_hw.switch.path_claims import PathClaims
from fred_hw.switch.unicast_router import UnicastRouter
from testbench.faults.fault import broken
from testbench.formal.configured import Word, configured
from testbench.formal.harness import Harness
from testbench.formal.property import COMBINATIONAL, prove

__all__ = ["is_partial"]

PORTS = 4


def is_partial(rows: Sequence[Value]) -> Value:
    """Return whether each source has one destination at most, and each destination one source."""
    single = [(row & (row - 1)[: len(row)]) == 0 for row in rows]
    shared = [a & b for k, a in enumerate(rows) for b in rows[:k]]
    return Cat(single).all() & ~any_of(shared).any()


@broken(UnicastRouter, {})
def odd_source_collides(m: Module, sound: Any, ports: Any) -> None:
    """A unicast from the last port is routed as if it went to the first one."""
    last = ports.destination_of[-1]
    m.d.comb += sound.destination_of[-1].eq(Cat(last.any()))


def _find_paths(c: Harness, u: Any, ports: int, middle: int) -> None:
    c.assume(is_partial(u.destination_of))
    words = [Word(Const(1), Const(1 << k, ports), Const(1 << k, ports)) for k in range(ports)]
    outputs = configured(u.configuration, words, middle)
    for j, word in enumerate(outputs):
        wanted = Cat(own[j] for own in u.destination_of)
        c.check(f"output_{j}", word.sources == wanted)
    c.cover("permutation", Cat(own.any() for own in u.destination_of).all())


@prove(
    lambda: UnicastRouter(ports=4, middle_switches=3),
    shows="With three middle subswitches every set of unicasts between different ports has paths: "
    "each output receives its source and nothing else.",
    omits="more ports than four",
    mutant=odd_source_collides,
    bound=COMBINATIONAL,
)
def unicast_paths_exist(c: Harness, u: Any) -> None:
    _find_paths(c, u, 4, 3)


@prove(
    lambda: UnicastRouter(ports=7, middle_switches=3),
    shows="With three middle subswitches and seven ports, every set of unicasts between "
    "different ports has paths. Two levels of this interconnect have an unpaired port. Each "
    "output receives its source and nothing else.",
    omits="more ports than seven",
    mutant=odd_source_collides,
    bound=COMBINATIONAL,
    fast=False,
)
def unicast_paths_exist_7(c: Harness, u: Any) -> None:
    _find_paths(c, u, 7, 3)


@broken(PathClaims, {})
def claims_ignore_holds(m: Module, sound: Any, ports: Any) -> None:
    """Links of paths that must stay count as free."""
    m.d.comb += [own.eq(0) for own in sound.holds]


@broken(PathClaims, {})
def last_source_starves(m: Module, sound: Any, ports: Any) -> None:
    """The request of the last source is ignored while the first source has one."""
    with m.If(ports.wants[0].any()):
        m.d.comb += sound.wants[-1].eq(0)


def _links(source: int, row: Value) -> list[Value]:
    """Return, for each link of a FRED_2(4), whether a path from a source uses it.

    The link leads from the subswitch of the source's parity to a pair of ports.
    """
    return [
        row[2 * pair : 2 * pair + 2].any() & (source % 2 == part)
        for part in (0, 1)
        for pair in (0, 1)
    ]


def _claims_assumed(c: Harness, u: Any) -> None:
    """Assume that no two paths share an end, and that paths that stay have their links."""
    c.assume(is_partial([w | h for w, h in zip(u.wants, u.holds, strict=True)]))
    for w, h in zip(u.wants, u.holds, strict=True):
        c.assume(~(w.any() & h.any()))
    c.assume(_share_no_link(u.holds))


def _links_of(rows: Sequence[Value]) -> list[Value]:
    """Return the links of the paths of each source."""
    return [Cat(_links(k, row)) for k, row in enumerate(rows)]


def _share_no_link(rows: Sequence[Value]) -> Value:
    uses = _links_of(rows)
    return ~any_of([a & b for k, a in enumerate(uses) for b in uses[:k]]).any()


@prove(
    lambda: PathClaims(ports=PORTS),
    shows="With two middle subswitches, granted paths and paths that stay share no link. Only "
    "requests are granted. If no path stays, some request is granted in every cycle.",
    omits="other numbers of ports",
    mutant=claims_ignore_holds,
)
def path_claims_exclude(c: Harness, u: Any) -> None:
    _claims_assumed(c, u)
    wanting = Cat(own.any() for own in u.wants)
    c.check("only_requests", (u.granted & ~wanting) == 0)
    paths = [
        hold | (want & granted.replicate(PORTS))
        for want, hold, granted in zip(u.wants, u.holds, u.granted, strict=True)
    ]
    c.check("no_shared_link", _share_no_link(paths))
    held = Cat(own.any() for own in u.holds).any()
    c.check("progress", held | ~wanting.any() | u.granted.any())
    c.cover("conflict", (wanting & ~u.granted).any() & u.granted.any() & held)


FAIR_CYCLES = 4
"""Cycles after which a lasting request is granted, while no path stays."""


@prove(
    lambda: PathClaims(ports=PORTS),
    shows=f"A lasting request is granted in {FAIR_CYCLES} cycles at most in which no path stays, "
    "whatever the others request.",
    omits="other numbers of ports; time while paths stay",
    mutant=last_source_starves,
    fast=False,
)
def path_claims_are_fair(c: Harness, u: Any) -> None:
    _claims_assumed(c, u)
    which = c.constant(PORTS, "source")
    c.assume((which & (which - 1)[:PORTS]) == 0)
    waited = Signal(range(FAIR_CYCLES + 2), name="waited")
    wants = any_of(own & one.replicate(PORTS) for own, one in zip(u.wants, which, strict=True))
    before = Signal(PORTS, name="wanted_before")
    idle = ~Cat(own.any() for own in u.holds).any()
    refused = (wants != 0) & ~(u.granted & which).any()
    c.m.d.sync += before.eq(wants)
    with c.m.If(~refused | (before != wants)):
        c.m.d.sync += waited.eq(refused & idle)
    with c.m.Elif(idle & (waited != FAIR_CYCLES + 1)):
        c.m.d.sync += waited.eq(waited + 1)
    c.check("bound", ~refused | (waited < FAIR_CYCLES) | (before != wants))
    c.cover("waits", refused & (waited == FAIR_CYCLES - 1))


@broken(PathClaims, {})
def lowest_always_wins(m: Module, sound: Any, ports: Any) -> None:
    """The first source loses its precedence: it is refused a link that a lower one requests."""
    for k, row in enumerate(ports.wants):
        lower = any_of(_links_of(ports.wants)[:k])
        beaten = (Cat(_links(k, row)) & lower).any()
        m.d.comb += ports.granted[k].eq(sound.granted[k] & ~beaten)


@prove(
    lambda: PathClaims(ports=PORTS),
    shows="Each link is granted by three rules. A path in use keeps its links. "
    "Next comes the source with precedence, then the source with the lowest number. Precedence "
    "passes round-robin to a refused source, which keeps it until its request is granted.",
    omits="other numbers of ports",
    mutant=lowest_always_wins,
)
def path_claims_follow_rules(c: Harness, u: Any) -> None:
    _claims_assumed(c, u)
    m, sources = c.m, range(PORTS)
    first, last = Signal(range(PORTS), name="first"), Signal(range(PORTS), name="last", init=3)
    some = Signal(name="some_first")
    asks = _links_of(u.wants)
    used = any_of(_links_of(u.holds))
    granted = []
    for k in sources:
        others = [
            gated(asks[j], (some & (first == j)) | (~(some & (first == k)) & Const(j < k)))
            for j in sources
            if j != k
        ]
        granted.append((asks[k] != 0) & ((asks[k] & (used | any_of(others))) == 0))
    c.check("granted", u.granted == Cat(granted))
    refused = Cat((ask != 0) for ask in asks) & ~Cat(granted)
    with m.If(~(some & refused.bit_select(first, 1))):
        m.d.sync += some.eq(refused.any())
        # The last assignment counts: the nearest source after the last one.
        for step in reversed(range(1, PORTS + 1)):
            near = (last + step)[: len(last)]
            with m.If(refused.bit_select(near, 1)):
                m.d.sync += [first.eq(near), last.eq(near)]
    c.cover("precedes_lower", some & (first == PORTS - 1) & u.granted[-1] & refused[0])
