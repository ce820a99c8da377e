"""Random legal work on whole fabrics ends in time, and leaves what a replay of it leaves.

Seeds under "regression" have found faults of endpoints, on hardware that had them.
"""

from collections import Counter
from dataclasses import replace
from itertools import product

import pytest

from fred_hw.protocol import GENERATIONS
from fred_hw.virtual_channels import DEFAULT_CHANNELS
from fred_hw.wafer.program import WaferProgram
from testbench.campaigns.attack import failure_of
from testbench.campaigns.fabrics import FABRICS, WAFER, Campaign, campaign
from testbench.campaigns.legal import is_legal
from testbench.campaigns.loads import random_loads
from testbench.campaigns.plan import Job, Operation, Piece, Plan
from testbench.campaigns.run import outcome

MEMORY = 1000  # flits
simulated = [pytest.mark.sim, pytest.mark.slow, pytest.mark.xdist_group("wafer")]


def check(what: str) -> None:
    """Fail with the whole text of a failure, which repeats it."""
    if what:
        pytest.fail(what, pytrace=False)


def unicast(source: int, to: int, flits: int, first: int) -> Operation:
    return Operation("unicast", "dp", (source,), (to,), flits, (0,), (first,))


def plan(operations: list[Operation], queues: dict[int, list[Job]]) -> Plan:
    """Return a plan of the wafer."""
    own = tuple(tuple(queues.get(npu, ())) for npu in range(WAFER.npus))
    return Plan("wafer", tuple(operations), own, MEMORY, 0, 0, 1)


def send(operation: int, first: int, end: int) -> Job:
    return Job("dp", sends=Piece(operation, first, end - first))


def receive(operation: int, first: int, end: int, wait: int = 0) -> Job:
    return Job("dp", receives=Piece(operation, first, end - first), wait=wait)


def both(sent: int, received: int, flits: int) -> Job:
    return Job("dp", Piece(sent, 0, flits), Piece(received, 0, flits))


CUT = plan(
    [unicast(1, 5, 4, 300), unicast(0, 5, 7, 310)],
    {
        0: [send(1, 0, 7)],
        1: [send(0, 0, 4)],
        5: [receive(0, 0, 2), receive(1, 0, 7), receive(0, 2, 4)],
    },
)
"""A receive ends within a packet, and the next one is of another flow."""

PAIR, LATE = 200, 3000
CROSSING = plan(
    [
        unicast(source, to, PAIR, 300 + PAIR * time)
        for time in range(2)
        for source, to in ((0, 3), (3, 7), (1, 6), (6, 4))
    ],
    {
        0: [send(0, 0, PAIR), send(4, 0, PAIR)],
        1: [send(2, 0, PAIR), send(6, 0, PAIR)],
        3: [both(1, 0, PAIR), both(5, 4, PAIR)],
        6: [both(3, 2, PAIR), both(7, 6, PAIR)],
        4: [receive(3, 0, PAIR, LATE), receive(7, 0, PAIR)],
        7: [receive(1, 0, PAIR, LATE), receive(5, 0, PAIR)],
    },
)
"""Two endpoints receive and send in one exchange, and their destinations are late."""


SHORT = {
    "wafer": (101, 102, 103, 105, 106, 108, 109, 114, 115, 119, 128, 135, 151, 191, 193),
    "row": (105, 108, 110, 114, 116, 118, 122, 131, 151),
    "mesh": (103, 108, 116, 118, 128, 135, 156),
    "adaptive": (101, 107, 111, 116, 118, 135, 155),
    "trees": (105, 118, 128, 141, 153, 156, 163, 164, 177, 182, 184, 203, 204),
}
"""Seeds of each fabric that run with the other tests; many more are marked ``long``."""

LOADED = (2, 7, 100)
"""Seeds of loads; the first two have found generations that come round."""


@pytest.mark.parametrize("fabric", FABRICS)
def test_a_campaign_is_a_function_of_its_seed(fabric: str) -> None:
    first, again, other = (campaign(fabric, seed).plan for seed in (3, 3, 4))
    assert first == again
    assert first.operations != other.operations


def test_short_campaigns_cover_all_fabrics() -> None:
    assert [*SHORT] == [*FABRICS]
    assert FABRICS["adaptive"].campaign(0).program.link.protocol.routes is not None


@pytest.mark.parametrize("fabric", FABRICS)
def test_short_campaigns_cover_stalls_faults_and_operations(fabric: str) -> None:
    plans = [campaign(fabric, seed).plan for seed in SHORT[fabric]]
    assert {0, 95} <= {one.stalls for one in plans}
    assert {0, 20_000} <= {one.faults for one in plans}
    wanted = {"unicast", "all_reduce", "reduce_scatter", "all_gather"}
    wanted |= {"copy", "reduce"} if fabric == "wafer" else set()
    operations = [operation for one in plans for operation in one.operations]
    assert {one.kind for one in operations} == wanted
    found = {(one.kind, one.circuit) for one in operations}
    assert found >= {*product(("all_reduce",), DEFAULT_CHANNELS.names)}


@pytest.mark.parametrize("fabric", FABRICS)
def test_short_campaigns_cover_deep_queues_cuts_and_late_endpoints(fabric: str) -> None:
    """Queues beyond 16 descriptors, cuts within a packet, exchanges of two operations."""
    queues = [own for seed in SHORT[fabric] for own in campaign(fabric, seed).plan.queues]
    jobs = [job for own in queues for job in own]
    assert max(map(len, queues)) > 16
    assert any(job.receives and job.receives.first % 4 for job in jobs)
    assert max(job.wait for job in jobs) > 3000
    pairs = [(job.sends, job.receives) for job in jobs if job.sends and job.receives]
    assert any(sent.operation != received.operation for sent, received in pairs)


def test_short_campaigns_multicast_and_reduce_on_all_virtual_channels() -> None:
    plans = [campaign("wafer", seed).plan for seed in SHORT["wafer"]]
    found = {(operation.kind, operation.circuit) for one in plans for operation in one.operations}
    assert found >= {*product(("copy", "reduce"), DEFAULT_CHANNELS.names)}


def test_short_campaigns_cover_schedules() -> None:
    """Late starts, tables that run twice, and estimates of a step that are far too short."""
    found = [campaign("trees", seed) for seed in SHORT["trees"]]
    schedules = [one.schedule for one in found if one.schedule]
    assert len(schedules) == len(found)
    assert {(one.runs, one.first) for one in schedules} == {
        (1, False),
        (1, True),
        (2, False),
        (2, True),
    }
    assert max(max(one.waits) for one in schedules) > 3000
    stalls = {
        (one.plan.stalls, one.schedule.program.step_cycles == 0) for one in found if one.schedule
    }
    assert {(0, True), (95, True), (0, False), (95, False)} <= stalls
    assert {one.program.step_cycles > 150 for one in schedules} == {False, True}
    edges = [edge for one in schedules for edge in one.program.edges]
    assert max(abs(one.parent - one.child) for one in edges) == 5


def test_trees_of_campaigns_are_random() -> None:
    found = {campaign("trees", seed).schedule for seed in range(4)}
    assert len({one.program.edges for one in found if one}) == 4


@pytest.mark.parametrize("one", [CUT, CROSSING], ids=["cut", "crossing"])
def test_plans_of_former_faults_are_legal(one: Plan) -> None:
    assert is_legal(one)


def test_endpoints_that_wait_for_each_other_are_not_legal() -> None:
    operations = [unicast(0, 1, 4, 300), unicast(1, 0, 4, 300)]
    legal = {0: [send(0, 0, 4), receive(1, 0, 4)], 1: [receive(0, 0, 4), send(1, 0, 4)]}
    assert is_legal(plan(operations, legal))
    assert not is_legal(plan(operations, {**legal, 0: legal[0][::-1]}))


def test_pieces_of_a_flow_are_in_order() -> None:
    queues = {0: [send(0, 0, 2), send(0, 2, 4)], 1: [receive(0, 0, 4)]}
    assert is_legal(plan([unicast(0, 1, 4, 300)], queues))
    assert not is_legal(plan([unicast(0, 1, 4, 300)], {**queues, 0: queues[0][::-1]}))


def test_what_is_sent_was_received_before() -> None:
    operations = [unicast(0, 1, 4, 300), replace(unicast(1, 2, 4, 300), read=(300,))]
    queues = {0: [send(0, 0, 4)], 1: [receive(0, 0, 4), send(1, 0, 4)], 2: [receive(1, 0, 4)]}
    assert is_legal(plan(operations, queues))
    assert not is_legal(plan(operations, {**queues, 1: [both(1, 0, 4)]}))


def test_a_part_of_a_plan_is_legal() -> None:
    whole = campaign("wafer", 5).plan
    part = whole
    for operation in range(0, len(whole.operations), 2):
        part = part.without(operation)
    assert part.used() == set(range(1, len(whole.operations), 2))
    assert is_legal(part)


@pytest.mark.parametrize("seed", LOADED)
def test_loads_go_through_more_than_all_generations_of_a_phase(seed: int) -> None:
    written = Counter(number for one in random_loads(seed).generations for number in one)
    assert max(written.values()) > GENERATIONS


class TestSimulated:
    """Whole fabrics, compiled."""

    pytestmark = simulated

    @pytest.mark.parametrize("one", [CUT, CROSSING], ids=["cut", "crossing"])
    def test_former_faults(self, one: Plan) -> None:
        program = campaign("wafer", 0).program
        assert isinstance(program, WaferProgram)
        check(outcome(Campaign(one, replace(program, phases=()), fabric=WAFER)).what)

    @pytest.mark.parametrize(
        ("fabric", "seed"),
        [("wafer", 5), ("wafer", 24), ("wafer", 35), ("wafer", 68), ("row", 68)],
    )
    def test_regression(self, fabric: str, seed: int) -> None:
        """Found receives that end within a packet, and flits that hold up a link."""
        check(failure_of(fabric, seed))

    @pytest.mark.parametrize("seed", LOADED[:2])
    def test_regression_of_loads(self, seed: int) -> None:
        """Found generations that come round."""
        check(failure_of("loads", seed))

    @pytest.mark.parametrize(
        ("fabric", "seed"), [(fabric, seed) for fabric, seeds in SHORT.items() for seed in seeds]
    )
    def test_random(self, fabric: str, seed: int) -> None:
        check(failure_of(fabric, seed, tries=30))

    def test_random_loads(self) -> None:
        check(failure_of("loads", LOADED[2], tries=10))

    @pytest.mark.long
    @pytest.mark.parametrize("fabric", FABRICS)
    def test_many(self, fabric: str) -> None:
        found = [failure_of(fabric, seed, tries=30) for seed in range(200, 400)]
        check("\n".join(filter(None, found)))

    @pytest.mark.long
    def test_many_loads(self) -> None:
        found = [failure_of("loads", seed, tries=10) for seed in range(200, 220)]
        check("\n".join(filter(None, found)))
