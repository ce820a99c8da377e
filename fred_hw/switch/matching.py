"""Matching of unicasts: which source gets which destination, and for how long."""

from collections.abc import Sequence

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Member, Out

from fred_hw.gates.select import above, any_of, chosen_by_pairs, gated
from fred_hw.gates.wire import wire
from fred_hw.protocol import DATA_CIRCUITS, DATA_COUNT, PASSES
from fred_hw.unit import Unit

__all__ = ["Matching", "matching_members"]


def matching_members(ports: int) -> dict[str, Member]:
    """Return the members of a matching; see :class:`~fred_hw.switch.online_router.OnlineRouter`."""
    return {
        "coming": In(data.ArrayLayout(ports, DATA_COUNT)).array(ports),
        "room": In(DATA_COUNT).array(ports),
        **dict.fromkeys(("starts", "holds", "closing"), In(ports)),
        "destination_of": Out(ports).array(ports),
        "circuit_of": Out(2).array(ports),
        "circuit_to": Out(2).array(ports),
    }


class Matching(Unit):
    """Match sources of unicasts and destinations; base of those who do, with what they share.

    Attributes
    ----------
    port_count : int
        Sources, and destinations.
    """

    coming: list[data.View]
    room: list[Signal]
    starts: Signal
    holds: Signal
    closing: Signal
    destination_of: list[Signal]
    circuit_of: list[Signal]
    circuit_to: list[Signal]
    port_count: int

    def match(self, m: Module, *, in_the_way: bool = False) -> None:
        """Match all sources and destinations in each cycle.

        Parameters
        ----------
        m : Module
            Of the unit.
        in_the_way : bool
            Whether any path may be in the way of any other.
        """
        ports = range(self.port_count)
        picks, waiting = self._ask(m)
        matched, circuits = self._answer(m, picks)
        granted, given, taken = self._grant(m, matched)
        wanted = self._wanted(m)
        for k, path in enumerate(self.destination_of):
            others = granted.any() if in_the_way else 0
            # Who keeps a path that others want would be before them whenever room comes.
            used = Signal(name=f"used_{k}")
            with m.If(granted[k]):
                m.d.sync += used.eq(0)
            with m.Elif(self.starts[k]):
                m.d.sync += used.eq(1)
            own = path & any_of([own for i, own in enumerate(wanted) if i != k])
            shared = wire(m, f"shared_{k}", used & own.any())
            leaves = wire(m, f"leaves_{k}", others | waiting[k] | shared)
            # One bit of a path is high, and who takes that destination is known of each.
            stays = ~(taken | (granted[k] | leaves).replicate(self.port_count))
            m.d.sync += path.eq(
                given[k] | (path & (stays | self.holds[k].replicate(self.port_count)))
            )
            with m.If(granted[k]):
                m.d.sync += self.circuit_of[k].eq(Mux(picks[k][0], 0, Mux(picks[k][1], 1, 2)))
        for j in ports:
            with m.If(Cat(own[j] for own in given).any()):
                m.d.sync += self.circuit_to[j].eq(circuits[j])
        return m

    def _wanted(self, m: Module) -> list[Signal]:
        """Return for each source the destinations of its packets, a cycle old."""
        wanted = [Signal(self.port_count, name=f"wanted_{k}") for k in range(self.port_count)]
        for own, coming in zip(wanted, self.coming, strict=True):
            m.d.sync += own.eq(any_of([coming[c] for c in range(DATA_COUNT)]))
        return wanted

    def _ask(self, m: Module) -> tuple[list[Signal], list[Value]]:
        """Return for each source the circuit of its next path, and whether none else is of use."""
        size = self.port_count
        # A path that stays is the same in the next cycle, so what of it is in use is known before.
        stays, busy, ending = Signal(size), Signal(size), Signal(size)
        goes_on = self.holds & ~self.closing
        m.d.sync += [
            stays.eq(goes_on),
            busy.eq(self._ends(goes_on)),
            # Where a packet ends there may be room in a moment: the next source gets the path
            # before.
            ending.eq(self._ends(self.holds & self.closing)),
        ]
        rooms = [
            wire(m, f"room_{name}", Cat(room[c] for room in self.room) | ending)
            for c, name in enumerate(DATA_CIRCUITS)
        ]
        picks, waiting = [Signal(DATA_COUNT, name=f"pick_{k}") for k in range(size)], []
        for k, (pick, coming) in enumerate(zip(picks, self.coming, strict=True)):
            ready = [wire(m, f"ready_{k}_{c}", coming[c] & rooms[c]) for c in range(DATA_COUNT)]
            reaches = [wire(m, f"reaches_{k}_{c}", one.any()) for c, one in enumerate(ready)]
            free = [wire(m, f"free_{k}_{c}", (one & ~busy).any()) for c, one in enumerate(ready)]
            waits = self._waits(m, k, reaches)
            others: Value = ~stays[k]
            for c in range(DATA_COUNT):
                m.d.comb += pick[c].eq(free[c] & others)
                others &= ~free[c] & ~waits[c]
            # Its path is of no use to a packet that waits.
            late = [waits[c] & (self.circuit_of[k] > c) for c in range(DATA_COUNT)]
            waiting.append(wire(m, f"late_{k}", any_of(late)))
        return picks, waiting

    def _ends(self, sources: Value) -> Value:
        """Return the destinations of the paths of some sources."""
        size = self.port_count
        return any_of(
            [path & sources[k].replicate(size) for k, path in enumerate(self.destination_of)]
        )

    def _waits(self, m: Module, k: int, reaches: Sequence[Value]) -> list[Value]:
        """Return for each circuit whether a source must wait for its packet."""
        waits: list[Value] = []
        for c, reach in enumerate(reaches[:-1]):
            passed = Signal(range(PASSES + 1), name=f"passed_{k}_{c}")
            with m.If(self.starts[k] & (self.circuit_of[k] == c)):
                m.d.sync += passed.eq(0)
            with m.Elif(self.starts[k] & (self.circuit_of[k] > c) & reach & (passed != PASSES)):
                m.d.sync += passed.eq(passed + 1)
            waits.append(reach & (passed == PASSES))
        return [*waits, Const(0, 1)]

    def _answer(self, m: Module, picks: Sequence[Value]) -> tuple[list[Signal], list[Value]]:
        """Return the destination that each source gets if neither is held, and their circuits."""
        size, circuits = self.port_count, []
        matched = [Signal(size, name=f"matched_{k}") for k in range(size)]
        for j in range(size):
            pairs = list(zip(picks, self.coming, strict=True))
            asks = [
                wire(m, f"asks_{j}_{name}", Cat(pick[c] & coming[c][j] for pick, coming in pairs))
                for c, name in enumerate(DATA_CIRCUITS)
            ]
            path = wire(m, f"path_to_{j}", Cat(path[j] for path in self.destination_of))
            circuit, began = Signal(2, name=f"circuit_{j}"), Signal(name=f"began_{j}")
            m.d.comb += [
                circuit.eq(Mux(asks[0].any(), 0, Mux(asks[1].any(), 1, 2))),
                began.eq((path & self.starts).any()),
            ]
            circuits.append(circuit)
            # Who has the path is known before whether it starts.
            behind = wire(m, f"behind_path_to_{j}", above(m, f"path_to_{j}", path))
            last = [Signal(size, name=f"behind_{j}_{name}") for name in DATA_CIRCUITS]
            for c, own in enumerate(last):
                with m.If(began & (self.circuit_to[j] == c)):
                    m.d.sync += own.eq(behind)
            # Turns of each circuit are there at the same time, and the most urgent one is taken.
            turns = [
                chosen_by_pairs(m, f"to_{j}_{name}", asks[c], last[c])
                for c, name in enumerate(DATA_CIRCUITS)
            ]
            chosen = wire(
                m,
                f"chosen_{j}",
                any_of([gated(turn, circuit == c) for c, turn in enumerate(turns)]),
            )
            for k in range(size):
                m.d.comb += matched[k][j].eq(chosen[k])
        return matched, circuits

    def _grant(self, m: Module, matched: Sequence[Signal]) -> tuple[Value, list[Value], Value]:
        """Return the sources that get a path, their paths, and the destinations that are taken.

        What is held is known late: who is matched is found out without it. A destination that is
        held is nobody's but its holder's, whether it is taken or not.
        """
        goes, held = self.admit(m, matched)
        asked = [gated(match, goes[k]) for k, match in enumerate(matched)]
        given = [wire(m, f"given_{k}", own & ~held) for k, own in enumerate(asked)]
        granted = wire(m, "granted", Cat(own.any() for own in given))
        return granted, given, wire(m, "taken", any_of(asked))

    def admit(self, m: Module, matched: Sequence[Signal]) -> tuple[Value, Value]:
        """Return the sources that may get a path, and the destinations that none may get.

        Parameters
        ----------
        m : Module
            Of the unit.
        matched : sequence of Signal
            For each source the destination that it gets if neither is held.
        """
        return ~self.holds, wire(m, "held", self._ends(self.holds))
