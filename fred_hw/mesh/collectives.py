"""Collectives on a mesh as endpoint descriptors: rings and unicasts."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest

from fred_hw.ace.operations import Descriptor, FlowId, all_to_all, exchange
from fred_hw.checks import check_choice
from fred_hw.compiler.flows import Flow

from .algorithm import ALGORITHMS, Lane, Place
from .spec import MeshSpec

__all__ = [
    "AUTO",
    "PATTERNS",
    "algorithm_names",
    "algorithm_of",
    "collective",
    "multicast",
    "queued",
]

AUTO = "auto"
"""Name that stands for the last of ``ALGORITHMS`` that fits a group."""

PATTERNS = ("all_reduce", "reduce_scatter", "all_gather", "all_to_all")
"""Collectives of a group."""


def algorithm_names() -> tuple[str, ...]:
    """Return the accepted names of algorithms."""
    return (AUTO, *ALGORITHMS)


def algorithm_of(mesh: MeshSpec, group: Sequence[int], algorithm: str) -> str:
    """Return the algorithm for the rings of a group.

    Raises
    ------
    ValueError
        There is no such algorithm, or the group does not fit it.
    """
    if check_choice("algorithm", algorithm, algorithm_names()) == AUTO:
        return [name for name, one in ALGORITHMS.items() if one.fits(mesh, group)][-1]
    if not ALGORITHMS[algorithm].fits(mesh, group):
        members = ", ".join(map(str, group))
        raise ValueError(f"{algorithm} groups must {ALGORITHMS[algorithm].needs}, not {members}")
    return algorithm


def collective(place: Place, group: Sequence[int], pattern: str, algorithm: str) -> list[Lane]:
    """Return a collective of a group.

    Parameters
    ----------
    place : Place
        Mesh, virtual channels and buffers of the collective.
    group : sequence of int
        NPUs.
    pattern, algorithm : str
        One of ``PATTERNS`` and of ``algorithm_names``; all-to-alls are unicasts in rounds.

    Raises
    ------
    ValueError
        There is no such pattern or algorithm, the group does not fit, or the size does not.
    """
    check_choice("pattern", pattern, PATTERNS)
    if pattern == "all_to_all":
        return [_in_rounds(place, group)]
    return ALGORITHMS[algorithm_of(place.mesh, group, algorithm)].lanes(place, group, pattern)


def _in_rounds(place: Place, group: Sequence[int]) -> list[dict[int, Descriptor]]:
    """Return an all-to-all as successive rounds."""
    parts = {
        npu: all_to_all(
            place.circuits[0], group, rank, place.source, place.destination, place.flit_bytes
        )
        for rank, npu in enumerate(group)
    }
    return [{npu: own[step] for npu, own in parts.items()} for step in range(len(group) - 1)]


def multicast(place: Place, flows: Iterable[Flow]) -> list[Lane]:
    """Return multicasts as successive unicasts from each source to its destinations.

    In round k all sources send to their k-th destination at once, so no two wait for each other.

    Parameters
    ----------
    place : Place
        Mesh, virtual channels and buffers of the flows.
    flows : iterable of Flow
        Flows from one NPU each to other NPUs. No NPU receives two flows.
    """
    sends: list[dict[int, int]] = []
    for flow in flows:
        (source,) = flow.inputs
        for step, destination in enumerate(flow.outputs):
            if step == len(sends):
                sends.append({})
            sends[step][source] = destination
    return [[_unicasts(place, pairs) for pairs in sends]]


def _unicasts(place: Place, pairs: Mapping[int, int]) -> dict[int, Descriptor]:
    """Return concurrent unicasts from sources to destinations."""
    back = {destination: source for source, destination in pairs.items()}
    return {
        npu: exchange(
            place.circuits[0],
            (place.source, FlowId(pairs[npu], unicast=True)) if npu in pairs else None,
            (place.destination, FlowId(back[npu], unicast=True)) if npu in back else None,
        )
        for npu in sorted({*pairs, *back})
    }


def queued(lanes: Sequence[Lane], npu: int) -> list[Descriptor]:
    """Return the descriptors of an NPU, alternating between virtual channels."""
    return [
        stage[npu]
        for stages in zip_longest(*lanes, fillvalue={})
        for stage in stages
        if npu in stage
    ]
