"""All histories of two phases whose descriptors wait in the queue of a virtual channel.

Software may write a phase anew while a descriptor of the old writing still waits, and may write
FORGET at any time after that. ``AceControl`` refuses FORGET of a phase that is in use. The search
has the ledger's model and small numbers: packets have two generations of four, so a generation of
packets comes round after two writings. Each is kept relative to the last writing of its phase.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest

from fred_hw.ace.control import AceControl
from fred_hw.ace.endpoint_map import CAUSES
from fred_hw.virtual_channels import DEFAULT_CHANNELS
from tests.fred_hw.endpoint.test_ledger_search import PHASES
from tests.fred_hw.simulation import trace

from .histories import FlowEnd, put, search
from .test_control import HANDS, Inputs, during, read, write
from .works import SPEC

OF_PACKETS, WHOLE, NUMBERS = 2, 4, 2
Queued = tuple[int, int]  # phase and whole generation


@dataclass(frozen=True)
class End(FlowEnd):
    """A sender or a receiver of a virtual channel.

    ``runs`` is the descriptor under way, and ``used`` the phases of descriptors that came since the
    virtual channel was at rest.
    """

    packet_generations, generations, numbers = OF_PACKETS, WHOLE, NUMBERS

    queue: tuple[Queued, ...] = ()
    runs: Queued | None = None
    used: frozenset[int] = frozenset()

    def following(self, receives: bool, depth: int, protects: bool) -> Iterator["End"]:
        """Yield what may come next, with a queue of so many descriptors.

        An endpoint that ``protects`` phases in use refuses to forget them. Another one looks at the
        flow that is set alone.
        """
        for phase in range(PHASES):
            if self.named[phase] != 1:
                yield self.written(phase)
            locks = self.used if protects or not self.used else {self.ledger.held[0]}
            if phase not in locks and self.named[phase] != 0:
                now = replace(self, named=put(self.named, phase, None))
                yield now.cycle(self.ledger.held, receives, forget=1 << phase)
            if self.named[phase] in (None, 0) and len(self.queue) < depth:
                yield replace(
                    self,
                    named=put(self.named, phase, 0),
                    queue=(*self.queue, (phase, 0)),
                    used=self.used | {phase},
                )
        if self.runs:
            yield self.cycle(self.ledger.held, receives, moves=True)
            yield replace(self, runs=None, used=self.used if self.queue else frozenset())
        elif self.queue:
            phase, generation = self.queue[0]
            now = replace(self, runs=self.queue[0], queue=self.queue[1:])
            yield now.cycle((phase, generation % OF_PACKETS), receives)

    def written(self, phase: int) -> "End":
        """Return it when a phase has been written, of which this end knows nothing."""

        def older(one: Queued | None) -> Queued | None:
            return (phase, (one[1] - 1) % WHOLE) if one and one[0] == phase else one

        return replace(
            super().written(phase),
            queue=tuple(older(one) or one for one in self.queue),
            runs=older(self.runs),
        )

    @property
    def settled(self) -> bool:
        """Whether a descriptor of the last writing is under way."""
        return self.runs is not None and self.runs[1] == 0

    @property
    def wrong(self) -> bool:
        """Whether a descriptor of the last writing goes on with the number of another writing."""
        return self.settled and self.number != self.right[self.ledger.held[0]]


def histories(receives: bool, depth: int, protects: bool) -> tuple[set[End], End | None]:
    """Return the ends that are reached, and the first wrong one, if any."""
    return search(End(), lambda one: one.following(receives, depth, protects))


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("receives", [False, True])
def test_no_descriptor_in_a_queue_spoils_the_numbers_of_a_later_writing(
    receives: bool, depth: int
) -> None:
    states, wrong = histories(receives, depth, protects=True)
    assert wrong is None
    # A descriptor of an old writing with the generation of new packets has been reached.
    assert any((phase, OF_PACKETS) in one.queue for one in states for phase in range(PHASES))


@pytest.mark.parametrize("receives", [False, True])
def test_the_flow_that_is_set_alone_would_not_protect_what_waits(receives: bool) -> None:
    assert histories(receives, 1, protects=False)[1] is not None


def test_the_rule_is_that_of_the_unit() -> None:
    """Random descriptors, ends of them, acks and FORGET, on all virtual channels."""
    rng = random.Random(1)
    state = {"busy": 0, "idle": (1 << DEFAULT_CHANNELS.classes) - 1}
    used: list[set[int]] = [set() for _ in range(DEFAULT_CHANNELS.classes)]
    inputs: Inputs = []
    wanted: list[int] = []
    for _ in range(400):
        kind, circuit = (
            rng.choice(("give", *["rest"] * 3, "forget")),
            rng.randrange(DEFAULT_CHANNELS.classes),
        )
        if kind == "give":
            phases = [rng.choice((0, 1, None)) for _ in range(2)]
            flows = [1 << 9 if one is None else one for one in phases]
            words = zip(("SEND_FLOW", "RECEIVE_FLOW"), flows, strict=True)
            give = [one for name, flow in words for one in write(name, flow)]
            give += [*write("COMMAND", 1 | circuit << 8), *[{}] * 2]
            inputs += during(state, give)  # it is given in the last cycle
            state |= {"busy": state["busy"] | 1 << circuit}
            used[circuit] |= {one for one in phases if one is not None}
        elif kind == "forget":
            phase = rng.randrange(PHASES)
            inputs += during(state, [*write("FORGET", 1 << phase), {}, {}])
            wanted.append(0 if any(phase in one for one in used) else 1 << phase)
        else:
            state |= {"busy": state["busy"] & ~rng.randrange(8), "idle": rng.choice((7, 7, 5, 2))}
        inputs += during(state, [{}, {}])
        for one in range(DEFAULT_CHANNELS.classes):
            if not state["busy"] >> one & 1 and state["idle"] >> one & 1:
                used[one].clear()
    inputs += during(state, read("ERROR"))
    watch = ["forget", "s_axil_rdata"]
    seen = trace(
        AceControl(spec=SPEC), inputs, watch, **HANDS, ready=(1 << DEFAULT_CHANNELS.classes) - 1
    )
    assert [one for one, _ in seen if one] == [one for one in wanted if one]
    assert 20 < wanted.count(0) < len(wanted) - 20
    assert seen[-1][1] == 1 << list(CAUSES).index("locked")
