"""Legality of a plan: it must end where each flow has its own links.

Flits go straight from a send that is under way to the receives for it, all sources and destinations
of a flow at once. This is stricter than hardware, which may be ahead by what its buffers hold.
"""

from collections import defaultdict

from .plan import Job, Piece, Plan

__all__ = ["QUEUED", "is_legal"]

QUEUED = 4
"""Descriptors that a circuit of an endpoint holds at least (docs/reference/endpoint.md)."""


class _Endpoint:
    """An endpoint, and software that queues its jobs in order."""

    def __init__(self, jobs: tuple[Job, ...]) -> None:
        self.left = list(jobs)
        self.queues: dict[str, list[Job]] = defaultdict(list)
        self.sent: dict[str, int] = defaultdict(int)
        self.got: dict[str, int] = defaultdict(int)

    def fill(self) -> bool:
        """Queue what there is space for."""
        before = len(self.left)
        while self.left and len(self.queues[self.left[0].circuit]) < QUEUED:
            job = self.left.pop(0)
            self.queues[job.circuit].append(job)
        return len(self.left) < before

    def head(self, circuit: str) -> Job | None:
        return self.queues[circuit][0] if self.queues[circuit] else None

    def end(self, circuit: str) -> None:
        """Take the job from a queue if it is over."""
        job = self.queues[circuit][0]
        sent = not job.sends or self.sent[circuit] == job.sends.flits
        got = not job.receives or self.got[circuit] == job.receives.flits
        if sent and got:
            self.queues[circuit].pop(0)
            self.sent[circuit] = self.got[circuit] = 0


def is_legal(plan: Plan) -> bool:
    """Return whether all jobs end, each flow is in order, and nothing is sent before it came."""
    return _in_order(plan) and _reads_in_order(plan) and _ends(plan)


def _in_order(plan: Plan) -> bool:
    """Return whether each endpoint has the pieces of each flow in one order, in both directions."""
    for queue in plan.queues:
        for side in ("sends", "receives"):
            last: dict[object, tuple[int, int]] = {}
            for job in queue:
                if piece := getattr(job, side):
                    flow, place = (
                        plan.operations[piece.operation].flow,
                        (piece.operation, piece.first),
                    )
                    if last.get(flow, (-1, 0)) >= place:
                        return False
                    last[flow] = place
    return True


def _reads_in_order(plan: Plan) -> bool:
    """Return whether what is sent was received in an earlier job of the same circuit, if at all."""
    for npu, queue in enumerate(plan.queues):
        late: dict[int, tuple[int, str]] = {}
        for place, job in enumerate(queue):
            if job.receives:
                one = plan.operations[job.receives.operation]
                first = one.write[one.destinations.index(npu)] + job.receives.first
                late |= dict.fromkeys(
                    range(first, first + job.receives.flits), (place, job.circuit)
                )
        for place, job in enumerate(queue):
            if job.sends:
                one = plan.operations[job.sends.operation]
                first = one.read[one.sources.index(npu)] + job.sends.first
                for flit in range(first, first + job.sends.flits):
                    when, circuit = late.get(flit, (-1, job.circuit))
                    own = when == place and one.is_ring
                    if not own and (when >= place or circuit != job.circuit):
                        return False
    return True


def _ends(plan: Plan) -> bool:
    ends = [_Endpoint(queue) for queue in plan.queues]
    while True:
        moved = sum(one.fill() for one in ends) > 0
        for npu, one in enumerate(ends):
            for circuit in list(one.queues):
                job = one.head(circuit)
                if job and job.sends and one.sent[circuit] < job.sends.flits:
                    moved = _move(plan, ends, npu, circuit, job.sends) or moved
        if not moved:
            return not any(one.left or any(one.queues.values()) for one in ends)


def _move(plan: Plan, ends: list[_Endpoint], npu: int, circuit: str, piece: Piece) -> bool:
    """Move flits in the flow of a piece, if all its sources and destinations have come to it."""
    one = plan.operations[piece.operation]
    count = piece.flits
    for end in one.sources:
        job = ends[end].head(circuit)
        if not job or not job.sends or plan.operations[job.sends.operation].flow != one.flow:
            return False
        count = min(count, job.sends.flits - ends[end].sent[circuit])
    for end in one.destinations:
        job = ends[end].head(circuit)
        if not job or not job.receives:
            return False
        if plan.operations[job.receives.operation].flow != one.flow:
            return False
        count = min(count, job.receives.flits - ends[end].got[circuit])
    if not count:
        return False
    for end in one.sources:
        ends[end].sent[circuit] += count
    for end in one.destinations:
        ends[end].got[circuit] += count
    for end in {*one.sources, *one.destinations}:
        ends[end].end(circuit)
    return True
