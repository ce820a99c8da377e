"""Selection of the algorithm and the number of chunks of a collective."""

from collections.abc import Callable, Sequence

from fred_hw.choices import not_one_of
from fred_hw.errors import InputError
from perfmodel.published import LINK_LATENCY_S, NPU_L1_BYTES_PER_S
from perfmodel.topology.graph import OnWafer, Topology

from .algorithm import ALGORITHMS, Algorithm
from .guidelines import composed_words, stages_of
from .in_sequence import in_sequence
from .schedule import PATTERNS, ROOTED, Part, Schedule, ScheduleBuilder

__all__ = [
    "LEAST_CHUNK_BYTES",
    "MAX_CHUNKS",
    "MAX_COMPOSED",
    "MAX_SEARCHED",
    "PUBLISHED",
    "build_schedule",
    "candidates",
    "check_groups",
    "chosen",
    "chunk_bytes",
    "least_s",
    "left_out",
]

PUBLISHED = "published"
"""Name of the choice made by the publication of the wafers, for any size."""

LEAST_CHUNK_BYTES = NPU_L1_BYTES_PER_S * LINK_LATENCY_S
"""Least size of a chunk [B]: what the published link of an NPU carries in its latency.

A smaller one would be longer on its way than it takes to send. It is the same on every wafer: one
that depended on it would let a slower link, with a chunk that fits better, save time."""

MAX_SEARCHED = 256
"""Largest group for which algorithms that take long to build are tried whatever their bound."""

MAX_COMPOSED = 64
"""Largest group for which all sequences that replace a collective are tried."""

MAX_CHUNKS = 128
"""Most chunks: filling and draining the pipeline then costs about 1 % of the time."""


def chunk_bytes(size_bytes: float) -> float:
    """Return the chunk size [B] that keeps the pipeline full; the last chunk may be smaller.

    It is the data divided by ``MAX_CHUNKS``, at least ``LEAST_CHUNK_BYTES`` and at most all data.
    It never decreases as the data grow, so neither does the time.

    Parameters
    ----------
    size_bytes : float
        The whole vector [B].
    """
    return min(size_bytes, max(size_bytes / MAX_CHUNKS, LEAST_CHUNK_BYTES))


def build_schedule(
    topology: Topology,
    pattern: str,
    groups: Sequence[Sequence[int]],
    bytes_each: float,
    algorithm: str = PUBLISHED,
    *,
    lockstep: bool = False,
    lines_as_one: bool = False,
) -> Schedule:
    """Return the schedule of one chunk, on all groups at once.

    With ``published`` each group uses the preferred one of the suitable algorithms: on a mesh the
    hierarchical two-dimensional one for all NPUs and a ring for other groups. In FRED with
    in-network collectives the switches execute it; otherwise groups with equally many members, two
    or more, on each of several L1s use two levels of rings, and other groups one ring. An
    all-to-all is direct.

    Parameters
    ----------
    topology : Topology
        Topology of the collective.
    pattern : str
        One of ``PATTERNS``.
    groups : sequence of sequence of int
        NPUs of each group, two or more, without duplicates. A broadcast or a reduce has its root
        first, which may be an ordinary member of another group.
    bytes_each : float
        Size of the whole vector of one chunk, which each member has, receives or contributes to
        [B].
    algorithm : str
        ``published``, one of ``algorithm.ALGORITHMS``, or stages that implement the pattern one
        after the other, as written by ``guidelines.composed_name``.
    lockstep : bool
        Whether a pass around a ring is one item of the schedule; not for stages.
    lines_as_one : bool
        Whether, in lockstep, equal steps of parallel lines are one item; for one group without
        root only.

    Raises
    ------
    InputError
        The pattern or the algorithm is not supported, they do not match each other or the topology,
        or a group is invalid.
    """
    check_groups(topology, pattern, groups)
    if ":" in algorithm:
        return _composed(topology, pattern, groups, bytes_each, algorithm)
    as_one = lines_as_one and lockstep and len(groups) == 1 and pattern not in ROOTED
    return _of_groups(
        ScheduleBuilder(topology, lockstep, as_one), pattern, groups, bytes_each, algorithm
    )


def _of_groups(
    builder: ScheduleBuilder,
    pattern: str,
    groups: Sequence[Sequence[int]],
    bytes_each: float,
    algorithm: str,
) -> Schedule:
    """Return the schedule of groups, each with its algorithm.

    A group that one of several wafers holds runs as on this wafer alone.
    """
    topology = builder.topology
    parts: list[Part] = []
    names: dict[str, None] = {}
    assumptions: dict[str, None] = {}
    built: dict[tuple[int, tuple[int, ...]], ScheduleBuilder] = {}
    for group in groups:
        placed = topology.on_wafer(group)
        if algorithm == PUBLISHED:
            chosen = _choose(pattern, placed)
        else:
            chosen = _named(topology, pattern, placed, algorithm)
        if placed.topology is topology:
            chosen.add(builder, group, bytes_each, pattern)
        else:
            key = id(chosen), placed.members
            if key not in built:
                built[key] = builder.on(placed.topology)
                chosen.add(built[key], placed.members, bytes_each, pattern)
            builder.append_placed(built[key], placed)
        parts.append(builder.end_part(group))
        names[chosen.described(placed.topology, pattern)] = None
        assumptions.update(dict.fromkeys(chosen.assumptions(placed.topology, pattern)))
    made = tuple(parts), tuple(builder.messages), tuple(assumptions), builder.details
    return Schedule(pattern, " and ".join(names), *made)


def _composed(
    topology: Topology,
    pattern: str,
    groups: Sequence[Sequence[int]],
    bytes_each: float,
    algorithm: str,
) -> Schedule:
    """Return the schedule of successive stages."""
    stages = stages_of(algorithm, pattern)
    made = [
        build_schedule(topology, stage.pattern, groups, stage.times(groups) * bytes_each, name)
        for stage, name in stages
    ]
    words = composed_words([stage for stage, _ in stages], [one.algorithm for one in made])
    return in_sequence(pattern, words, made)


def candidates(
    topology: Topology,
    pattern: str,
    groups: Sequence[Sequence[int]],
    concurrent: Sequence[Sequence[int]] = (),
    *,
    automatic: bool = True,
) -> list[str]:
    """Return the algorithms that ``auto`` tries for all groups, ``published`` first.

    An algorithm that ``published`` takes for all groups is not listed again. Without ``automatic``
    also those that run only where they are asked for, except those of :func:`left_out` and those
    that fall back to others. ``concurrent`` groups may share members with the groups, and are to
    run the same. The errors are those of :func:`build_schedule`.
    """
    check_groups(topology, pattern, groups)
    every = [topology.on_wafer(group) for group in (*groups, *concurrent)]
    more = not automatic and _few(every)
    return [PUBLISHED, *_fitting(pattern, every, lambda one: one.automatic or more)]


def left_out(
    topology: Topology,
    pattern: str,
    groups: Sequence[Sequence[int]],
    concurrent: Sequence[Sequence[int]] = (),
) -> list[str]:
    """Return the suitable algorithms that :func:`candidates` omits for groups of many members.

    The parameters are those of :func:`candidates`.
    """
    every = [topology.on_wafer(group) for group in (*groups, *concurrent)]
    return [] if _few(every) else _fitting(pattern, every, lambda one: not one.automatic)


def _few(every: Sequence[OnWafer]) -> bool:
    return max(len(placed.members) for placed in every) <= MAX_SEARCHED


def _fitting(
    pattern: str, every: Sequence[OnWafer], wanted: Callable[[Algorithm], bool]
) -> list[str]:
    """Return the wanted algorithms that fit all groups; none that falls back to others."""
    taken = {id(_choose(pattern, placed)) for placed in every}
    return [
        name
        for name, one in ALGORITHMS.items()
        if wanted(one)
        and not one.falls_back
        and pattern in one.patterns
        and taken != {id(one)}
        and all(one.fits(placed.topology, placed.members) for placed in every)
    ]


def chosen(topology: Topology, pattern: str, group: Sequence[int], algorithm: str) -> str:
    """Return the name of the algorithm that a group uses.

    Parameters
    ----------
    topology : Topology
        Topology on which the collective runs.
    pattern, algorithm : str
        One of ``PATTERNS``; ``published`` or one of ``algorithm.ALGORITHMS``.
    group : sequence of int
        NPUs, two or more.

    Raises
    ------
    InputError
        As :func:`build_schedule` does.
    """
    check_groups(topology, pattern, [group])
    placed = topology.on_wafer(group)
    if algorithm != PUBLISHED:
        _named(topology, pattern, placed, algorithm)
        return algorithm
    found = _choose(pattern, placed)
    return next(name for name, one in ALGORITHMS.items() if one is found)


def least_s(
    topology: Topology,
    pattern: str,
    groups: Sequence[Sequence[int]],
    size_bytes: float,
    algorithm: str,
) -> float:
    """Return a lower bound on the time of groups with one of ``algorithm.ALGORITHMS`` [s].

    Parameters
    ----------
    topology, pattern, groups, size_bytes
        As for ``bounds.volume_s``.
    algorithm : str
        The name.
    """
    # Groups on one wafer share its links.
    by_wafer: dict[tuple[Topology, int], list[Sequence[int]]] = {}
    for group in groups:
        placed = topology.on_wafer(group)
        by_wafer.setdefault((placed.topology, placed.first_link), []).append(placed.members)
    bound = ALGORITHMS[algorithm].least_s
    return max(bound(own, pattern, some, size_bytes) for (own, _), some in by_wafer.items())


def _choose(pattern: str, placed: OnWafer) -> Algorithm:
    """Return the algorithm of highest preference that fits."""
    given = placed.topology, placed.members
    return max(
        (
            one
            for one in ALGORITHMS.values()
            if pattern in one.preference and one.fits(*given) and one.published(*given)
        ),
        key=lambda one: one.preference[pattern],
    )


def _named(topology: Topology, pattern: str, placed: OnWafer, name: str) -> Algorithm:
    """Return the algorithm with a given name; fail if it does not fit."""
    if name not in ALGORITHMS:
        known = ("auto", PUBLISHED, *ALGORITHMS)
        message = not_one_of(name, known, listed_by="fred collective --help")
        raise InputError("algorithm", "", message)
    found = ALGORITHMS[name]
    if pattern not in found.patterns:
        allowed = ", ".join(found.patterns)
        raise InputError("pattern", "", f"must be one of {allowed} with {name}, not {pattern!r}")
    if not found.fits(placed.topology, placed.members):
        given = f"{name} for {len(placed.members)} NPUs of {topology.name}"
        raise InputError("algorithm", "", f"must have {found.needs}, not {given}")
    return found


def check_groups(topology: Topology, pattern: str, groups: Sequence[Sequence[int]]) -> None:
    """Fail unless a pattern is one of ``PATTERNS`` and groups are valid on a topology.

    Raises
    ------
    InputError
        The pattern is unknown, or a group is invalid.
    """
    if pattern not in PATTERNS:
        raise InputError("pattern", "", not_one_of(pattern, PATTERNS))
    # The root of a broadcast or a reduce may be an ordinary member of another group.
    seen: dict[bool, set[int]] = {True: set(), False: set()}
    for group in groups:
        if len(group) < 2:
            raise InputError("group", "", f"must have 2 or more NPUs, not {len(group)}")
        own: set[int] = set()
        for place, npu in enumerate(group):
            if isinstance(npu, bool) or not 0 <= npu < topology.npus:
                allowed = f"NPUs 0 to {topology.npus - 1} of {topology.name}"
                raise InputError("group", "", f"must hold {allowed}, not {npu!r}")
            others = seen[pattern in ROOTED and place == 0]
            if npu in own or npu in others:
                raise InputError("group", "", f"must hold each NPU once, not {npu} twice")
            own.add(npu)
            others.add(npu)
    if not groups:
        raise InputError("group", "", "must be given, not an empty list")
