"""Messages that an NPU sends and receives in a phase, and the work before each.

Rings, direct and halving-doubling algorithms are one state machine in ASTRA-sim (``Ring.cc``,
``AllToAll.cc``, ``HalvingDoubling.cc``). For each message that came, and for the first ones, it
makes a packet; that is ready after the endpoint's delay, and a reduction if there is one, and then
the next message goes out. Which packets are reduced follows from their number alone.
"""

from collections.abc import Callable
from dataclasses import dataclass

from perfmodel.collectives.schedule import Pattern

from .plan import Phase, Plan

__all__ = ["Program", "program_of", "ring_costs_ns"]


@dataclass(frozen=True)
class Program:
    """The program of an NPU in a phase.

    Parameters
    ----------
    sends : int
        Number of messages that it sends, and receives.
    window : int
        Number of packets at the start.
    half : int or None
        Number of messages that must all be present before the others are sent; None without such a
        wait.
    peers : callable
        Returns the destination and the source of a message, by number, as positions.
    size : callable
        Returns the bytes of a message, by number.
    cost_ns : callable
        Returns the time until a packet is ready, by number [ns].
    """

    sends: int
    window: int
    half: int | None
    peers: Callable[[int, int], tuple[int, int]]
    size: Callable[[int], int]
    cost_ns: Callable[[int], int]


def program_of(phase: Phase, plan: Plan) -> Program:
    """Return the program of an NPU in a phase of a plan; trees have none."""
    count, kind = phase.axis.count, phase.kind
    if phase.axis.algorithm == "halving_doubling":
        return _halving_doubling(phase, plan)
    scattered = kind in ("all_reduce", "reduce_scatter", "all_to_all")
    size = phase.data_bytes // count if scattered else phase.data_bytes
    reduction_ns = plan.reduction_ns(size)
    step = -1 if phase.backward else 1
    if phase.axis.algorithm == "ring":
        sends = {"all_reduce": 2 * (count - 1), "all_to_all": count * (count - 1) // 2}
        reduces = _reducing(kind, 1, count - 1)
        return Program(
            sends=sends.get(kind, count - 1),
            window=1,
            half=None,
            peers=lambda place, _: ((place + step) % count, (place - step) % count),
            size=lambda _: size,
            cost_ns=lambda number: plan.endpoint_ns + reduces(number) * reduction_ns,
        )
    window = min(phase.axis.window or count, count - 1)
    reduces = _reducing(kind, window, window)

    def peers(place: int, number: int) -> tuple[int, int]:
        offset = step * (1 + number % (count - 1))
        return (place + offset) % count, (place - offset) % count

    return Program(
        sends=(2 if kind == "all_reduce" else 1) * (count - 1),
        window=window,
        half=count - 1 if kind == "all_reduce" else None,
        peers=peers,
        size=lambda _: size,
        cost_ns=lambda number: plan.endpoint_ns + reduces(number) * reduction_ns,
    )


def ring_costs_ns(phase: Phase, plan: Plan, program: Program) -> int:
    """Return the processing time of all packets of a ring at one NPU [ns]."""
    reductions = phase.axis.count - 1 if phase.kind in ("all_reduce", "reduce_scatter") else 0
    size = program.size(0)
    return (program.sends + 1) * plan.endpoint_ns + reductions * plan.reduction_ns(size)


def _reducing(kind: Pattern, plain: int, others: int) -> Callable[[int], bool]:
    """Return which packets are reduced: none of each first round, others as the kind requires.

    An all-reduce reduces in every other turn, a reduce-scatter in each, nothing else in any.
    """
    turn = plain + others
    if kind == "reduce_scatter":
        return lambda number: number % turn >= plain
    if kind == "all_reduce":
        return lambda number: number % turn >= plain and number // turn % 2 == 0
    return lambda _: False


def _halving_doubling(phase: Phase, plan: Plan) -> Program:
    count, kind = phase.axis.count, phase.kind
    steps = count.bit_length() - 1
    sends = steps * (2 if kind == "all_reduce" else 1)
    up = kind != "all_gather"
    offset, size = (1, phase.data_bytes // 2) if up else (count // 2, phase.data_bytes)
    found: list[tuple[int, int]] = []  # per packet, including one after the last message
    for _ in range(sends + 1):
        found.append((offset, size))
        offset, size = (2 * offset, size // 2) if up else (offset // 2, 2 * size)
        if offset == count and kind == "all_reduce":
            up, offset, size = False, offset // 2, 2 * size
    reduces = _reducing(kind, 1, steps - 1)

    def peers(place: int, number: int) -> tuple[int, int]:
        partner = place ^ found[number][0]
        return partner, partner

    def cost_ns(number: int) -> int:
        # The cost is that of the message to be sent next, not of the received one.
        return plan.endpoint_ns + reduces(number) * plan.reduction_ns(found[number][1])

    return Program(
        sends=sends,
        window=1,
        half=None,
        peers=peers,
        size=lambda number: found[number][1],
        cost_ns=cost_ns,
    )
