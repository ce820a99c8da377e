"""Selection of the algorithm and the number of chunks of a collective."""

from collections.abc import Sequence

from fred_hw.choices import not_one_of
from fred_hw.errors import InputError
from perfmodel.published import LINK_LATENCY_S, NPU_L1_BYTES_PER_S
from perfmodel.topology.graph import Topology

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
]

PUBLISHED = "published"
"""Name of the choice that those made who published the wafers, whatever the size."""

LEAST_CHUNK_BYTES = NPU_L1_BYTES_PER_S * LINK_LATENCY_S
"""Least size of a chunk [B]: what the published link of an NPU carries in its latency.

A smaller one would be longer on its way than it takes to send. It is the same on every wafer: one
that depended on it would let a slower link, with a chunk that fits better, save time."""

MAX_SEARCHED = 256
"""Members of groups for which algorithms are tried that take long to build, unless asked for."""

MAX_COMPOSED = 64
"""Members of groups for which all sequences of collectives are tried that do the work of another;
larger ones have an all-reduce in place of other patterns alone."""

MAX_CHUNKS = 128
"""Most chunks: filling and draining the pipeline then costs about 1 % of the time."""


def chunk_bytes(size_bytes: float) -> float:
    """Return the size of a chunk [B]: what fills the pipeline first; the last may be smaller.

    One of ``MAX_CHUNKS`` of the data, at least ``LEAST_CHUNK_BYTES``, at most all of it. It never
    falls as the data grow, so neither does the time.

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

    With ``published`` each group uses the preferred algorithm of those that fit: on a mesh the
    hierarchical two-dimensional one for all NPUs and a ring for other groups. In FRED with
    in-network collectives the switches do it; else groups with equally many members, two or more,
    on each of several L1s use two levels of rings, others one ring. An all-to-all is direct.

    Parameters
    ----------
    topology : Topology
        Where it runs.
    pattern : str
        One of ``PATTERNS``.
    groups : sequence of sequence of int
        NPUs of each group, two or more, none of them twice. A broadcast or a reduce has its root
        first, which may be another member of another group.
    bytes_each : float
        The whole vector of one chunk, which each member has, gets or gives a share of [B].
    algorithm : str
        ``published``, one of ``algorithm.ALGORITHMS``, or stages that do the pattern one after the
        other, as ``guidelines.composed_name`` writes them.
    lockstep : bool
        Take a pass around a ring as one item of the schedule; not for stages.
    lines_as_one : bool
        In lockstep, take a step of lines that are alike as one item, if one group without root.

    Raises
    ------
    InputError
        Pattern, algorithm, topology and groups do not go together, or one is not valid.
    """
    check_groups(topology, pattern, groups)
    if ":" in algorithm:
        return _composed(topology, pattern, groups, bytes_each, algorithm)
    as_one = lines_as_one and lockstep and len(groups) == 1 and pattern not in ROOTED
    builder = ScheduleBuilder(topology, lockstep, as_one)
    parts: list[Part] = []
    names: dict[str, None] = {}
    assumptions: dict[str, None] = {}
    for group in groups:
        if algorithm == PUBLISHED:
            chosen = _choose(topology, pattern, group)
        else:
            chosen = _named(topology, pattern, group, algorithm)
        chosen.add(builder, group, bytes_each, pattern)
        parts.append(builder.end_part(group))
        names[chosen.described(topology, pattern)] = None
        assumptions.update(dict.fromkeys(chosen.assumptions(topology)))
    made = tuple(parts), tuple(builder.messages), tuple(assumptions), builder.details
    return Schedule(pattern, " and ".join(names), *made)


def _composed(
    topology: Topology,
    pattern: str,
    groups: Sequence[Sequence[int]],
    bytes_each: float,
    algorithm: str,
) -> Schedule:
    """Return the schedule of stages, one after the other."""
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
    beside: Sequence[Sequence[int]] = (),
    *,
    automatic: bool = True,
) -> list[str]:
    """Return the algorithms that ``auto`` tries and that fit all groups, ``published`` first.

    An algorithm that ``published`` takes for all groups is not listed again. Without ``automatic``
    also those that run only where they are asked for, if no group is larger than ``MAX_SEARCHED``;
    but none that falls back to others. Those ``beside`` may share members with the groups, and are
    to run the same. The errors are those of :func:`build_schedule`.
    """
    check_groups(topology, pattern, groups)
    every = [*groups, *beside]
    taken = {id(_choose(topology, pattern, group)) for group in every}
    few = max(map(len, every)) <= MAX_SEARCHED
    fit = [
        name
        for name, one in ALGORITHMS.items()
        if (one.automatic or (not automatic and not one.falls_back and few))
        and pattern in one.patterns
        and taken != {id(one)}
        and all(one.fits(topology, group) for group in every)
    ]
    return [PUBLISHED, *fit]


def chosen(topology: Topology, pattern: str, group: Sequence[int], algorithm: str) -> str:
    """Return the name of the algorithm that a group takes.

    Parameters
    ----------
    topology : Topology
        Where it runs.
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
    if algorithm != PUBLISHED:
        _named(topology, pattern, group, algorithm)
        return algorithm
    found = _choose(topology, pattern, group)
    return next(name for name, one in ALGORITHMS.items() if one is found)


def _choose(topology: Topology, pattern: str, group: Sequence[int]) -> Algorithm:
    """Return the preferred one of the algorithms that fit."""
    return max(
        (
            one
            for one in ALGORITHMS.values()
            if pattern in one.preference
            and one.fits(topology, group)
            and one.published(topology, group)
        ),
        key=lambda one: one.preference[pattern],
    )


def _named(topology: Topology, pattern: str, group: Sequence[int], name: str) -> Algorithm:
    """Return the algorithm of a name if it fits."""
    if name not in ALGORITHMS:
        known = ("auto", PUBLISHED, *ALGORITHMS)
        message = not_one_of(name, known, listed_by="fred collective --help")
        raise InputError("algorithm", "", message)
    found = ALGORITHMS[name]
    if pattern not in found.patterns:
        allowed = ", ".join(found.patterns)
        raise InputError("pattern", "", f"must be one of {allowed} with {name}, not {pattern!r}")
    if not found.fits(topology, group):
        given = f"{name} for {len(group)} NPUs of {topology.name}"
        raise InputError("algorithm", "", f"must have {found.needs}, not {given}")
    return found


def check_groups(topology: Topology, pattern: str, groups: Sequence[Sequence[int]]) -> None:
    """Fail unless a pattern is one of ``PATTERNS`` and groups are valid on a topology.

    Raises
    ------
    InputError
        They are not.
    """
    if pattern not in PATTERNS:
        raise InputError("pattern", "", not_one_of(pattern, PATTERNS))
    # A root of a broadcast or a reduce may be another member of another group.
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
