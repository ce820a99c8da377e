"""Properties of the matching of unicast sources and destinations."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from amaranth.hdl import Cat, Const, Module, Signal, Value

from fred_hw.gates.select import any_of, gated, selected
from fred_hw.protocol import PASSES
from fred_hw.switch.online_router import OnlineRouter
from testbench.faults.fault import broken
from testbench.formal.harness import Harness
from testbench.formal.properties.routing import is_partial
from testbench.formal.property import prove

__all__: list[str] = []

PORTS = 3
CLASSES = 3


class _Paths(NamedTuple):
    """Sources with a path, destinations in use, and sources of packets that have just started."""

    has: Value
    held: Value
    begun: Value


def _requests_assumed(c: Harness, u: Any) -> _Paths:
    """Assume one destination for each packet, and packets on paths only."""
    has = Cat(own.any() for own in u.destination_of)
    for source in u.coming:
        for one in source:
            c.assume((one & (one - 1)[:PORTS]) == 0)
    c.assume((u.holds & ~has) == 0)
    c.assume((u.starts & ~has) == 0)
    c.assume((u.closing & ~u.holds) == 0)
    goes_on = Signal(PORTS, name="goes_on_before")
    c.m.d.sync += goes_on.eq(u.holds & ~u.closing)
    c.assume((goes_on & ~u.holds) == 0)
    return _Paths(has, _of_sources(u.holds, u.destination_of), u.holds & ~goes_on)


def _of_sources(sources: Value, values: Iterable[Value]) -> Value:
    """Return the values of some sources, combined by OR."""
    return any_of(gated(value, sources[k]) for k, value in enumerate(values))


@broken(OnlineRouter, {})
def path_moves(m: Module, sound: Any, ports: Any) -> None:
    """The path of the first source may be taken away while its packet continues."""
    m.d.comb += sound.holds.eq(ports.holds & ~1)


@prove(
    lambda: OnlineRouter(ports=3, middle_switches=3),
    shows="Each source and each destination has at most one path. A path stays while its packet "
    "continues. If no path stays and a packet has space, some packet gets a path.",
    omits="other numbers of ports; the order in which sources are served",
    mutant=path_moves,
)
def matching_is_consistent(c: Harness, u: Any) -> None:
    has = _requests_assumed(c, u).has
    c.check("partial", is_partial(u.destination_of))
    held = Signal(PORTS, name="held_before")
    old = Signal(PORTS * PORTS, name="paths_before")
    c.m.d.sync += [held.eq(u.holds), old.eq(Cat(u.destination_of))]
    for k in range(PORTS):
        c.check(f"stays_{k}", ~held[k] | (u.destination_of[k] == old.word_select(k, PORTS)))
    asked = Signal(name="asked_before")
    c.m.d.sync += asked.eq(
        ~u.holds.any()
        & any_of(
            (u.coming[k][circuit] & Cat(own[circuit] for own in u.space)).any()
            for k in range(PORTS)
            for circuit in range(len(u.coming[0]))
        )
    )
    c.cover("all_paths", has.all() & held.any())
    c.check("found", ~asked | has.any())


@broken(OnlineRouter, {})
def last_source_overtaken(m: Module, sound: Any, ports: Any) -> None:
    """The last source gives way whenever the first source has the same destination."""
    first = any_of(ports.coming[0])
    for theirs, mine in zip(sound.coming[-1], ports.coming[-1], strict=True):
        m.d.comb += theirs.eq(mine & ~first)


PASSED = PASSES + 1
"""Most less urgent packets that a source sends before a packet: one more already has its path."""
OVERTAKEN = 4
"""Most packets that start to a destination until a source that waits for it has a path."""


def _packets_assumed(c: Harness, u: Any) -> None:
    """Assume that packets wait until they start on their paths, and that last flits are on time."""
    closing = Signal(PORTS, name="closing_before")
    c.m.d.sync += closing.eq(u.closing)
    c.assume((closing & u.holds & ~u.starts) == 0)
    for k in range(PORTS):
        for circuit, one in enumerate(u.coming[k]):
            old, gone = Signal(PORTS, name="came_before"), Signal(name="started_before")
            c.m.d.sync += [
                old.eq(one),
                gone.eq(u.starts[k] & (u.circuit_of[k] == circuit)),
            ]
            c.assume((old == 0) | gone | (one == old))
        own = selected(u.circuit_of[k], list(u.coming[k]))
        c.assume(~u.starts[k] | (own & u.destination_of[k]).any())
        busy = Signal(name=f"busy_{k}")
        c.m.d.sync += busy.eq(u.holds[k])
        c.assume(~(busy & u.starts[k]))
        c.assume(~u.holds[k] | busy | u.starts[k])


def _spaces(u: Any) -> list[Value]:
    """Return, for each class, the destinations with space."""
    return [Cat(own[circuit] for own in u.space) for circuit in range(CLASSES)]


def _one_of_ports(c: Harness, name: str) -> Any:
    """Return a port of any number, one-hot, which never changes."""
    one = c.constant(PORTS, name)
    c.assume((one != 0) & ((one & (one - 1)[:PORTS]) == 0))
    return one


def _gives_up(c: Harness, u: Any, k: int) -> None:
    """Check that a source without a packet for its path gives it up once it has used it."""
    m, path = c.m, u.destination_of[k]
    wanted = [any_of(own[circuit] for circuit in range(CLASSES)) for own in u.coming]
    others = Signal(PORTS, name=f"others_{k}")
    old, used, left = Signal(PORTS), Signal(name=f"used_{k}"), Signal(name=f"left_{k}")
    has = (wanted[k] & path).any()
    m.d.sync += [
        others.eq(any_of(own for j, own in enumerate(wanted) if j != k)),
        old.eq(path),
        # A path of a packet that goes on is not granted again in the same cycle.
        used.eq((u.starts[k] & u.holds[k]) | (used & (path == old) & ~has)),
        left.eq(used & (path == old) & (others & path).any() & ~u.holds[k] & ~has),
    ]
    c.check(f"gives_up_{k}", ~left | (path != old))


@prove(
    lambda: OnlineRouter(ports=PORTS, middle_switches=3),
    shows="A free destination gets a path whenever an idle source has packets for it alone. It may "
    "wait if a source whose packet has just started has a packet for it too. A source sends at "
    f"most {PASSED} packets that are less urgent than one with space. A source gives up a path for "
    "which it has no packet if another source wants it.",
    omits="other numbers of ports; several virtual channels of a class; packets whose last flit "
    "comes late",
    mutant=last_source_overtaken,
    fast=False,
)
def matching_finds_paths(c: Harness, u: Any) -> None:
    m, spaces = c.m, _spaces(u)
    paths = _requests_assumed(c, u)
    _packets_assumed(c, u)
    # Where a packet was about to end, space may free up, and counts as free.
    ending = Signal(PORTS, name="ending_before")
    m.d.sync += ending.eq(_of_sources(u.holds & u.closing, u.destination_of))
    wanted, refused = Const(0, PORTS), Const(0, PORTS)
    for k, source in enumerate(u.coming):
        reach = any_of(one & (space | ending) for one, space in zip(source, spaces, strict=True))
        single = (reach & (reach - 1)[:PORTS]) == 0
        wanted = wanted | gated(reach, single & ~u.holds[k])
        # That a packet starts is known late: its source may still win a destination, and lose it.
        refused = refused | gated(reach, paths.begun[k])
    for k in range(PORTS):
        _gives_up(c, u, k)
    asked = Signal(PORTS, name="asked_before")
    m.d.sync += asked.eq(wanted & ~refused & ~paths.held)
    c.check("path_found", (asked & ~any_of(u.destination_of)) == 0)
    source, urgency = _one_of_ports(c, "source"), c.constant(2, "urgency")
    c.assume(urgency < CLASSES - 1)
    mine = _of_sources(source, [selected(urgency, list(own)) for own in u.coming])
    waits = (mine & selected(urgency, spaces)).any()
    number, sends = _of_sources(source, u.circuit_of), (source & u.starts).any()
    passed = Signal(range(PASSED + 2), name="passed_packets")
    with m.If(~waits | (sends & (number == urgency))):
        m.d.sync += passed.eq(0)
    with m.Elif(sends & (number > urgency) & (passed != PASSED + 1)):
        m.d.sync += passed.eq(passed + 1)
    c.check("passed", passed <= PASSED)
    c.cover("passes", passed == PASSED)


@prove(
    lambda: OnlineRouter(ports=PORTS, middle_switches=3),
    shows="While a packet has space and an idle source but no path, at most "
    f"{OVERTAKEN} other packets start to its destination, if all packets are of one class.",
    omits="other numbers of ports; other classes; packets whose last flit comes late",
    mutant=last_source_overtaken,
    fast=False,
)
def matching_is_fair(c: Harness, u: Any) -> None:
    m = c.m
    _requests_assumed(c, u)
    _packets_assumed(c, u)
    less_urgent = any_of(own[k] for own in u.coming for k in range(1, CLASSES))
    before = Signal(name="one_class_before", init=1)
    alone = before & (less_urgent == 0)
    m.d.sync += before.eq(alone)
    source, target = _one_of_ports(c, "overtaken"), _one_of_ports(c, "target")
    mine = _of_sources(source, [own[0] for own in u.coming])
    waits = (mine & target & _spaces(u)[0]).any()
    others = any_of(
        gated(path, u.starts[k] & ~source[k]) for k, path in enumerate(u.destination_of)
    )
    overtaken = Signal(range(OVERTAKEN + 2), name="overtaking_packets")
    has = (_of_sources(source, u.destination_of) & target).any()
    with m.If(~waits | ~alone | has | (source & u.holds).any()):
        m.d.sync += overtaken.eq(0)
    with m.Elif((others & target).any() & (overtaken != OVERTAKEN + 1)):
        m.d.sync += overtaken.eq(overtaken + 1)
    c.check("overtaken", overtaken <= OVERTAKEN)
    c.cover("overtakes", overtaken == OVERTAKEN)
