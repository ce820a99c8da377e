"""Chunked collectives in which each chunk has its own order of dimensions.

Themis (Rashidi et al., ISCA 2022, arXiv 2110.04478) and the fixed orders that it is compared with.
"""

from collections.abc import Sequence
from functools import partial

from perfmodel.collectives.algorithm import ALGORITHMS, SCATTERED, Algorithm
from perfmodel.collectives.schedule import ScheduleBuilder
from perfmodel.collectives.themis.messages import add_chunks, add_orders
from perfmodel.collectives.themis.network import NEEDS
from perfmodel.collectives.themis.plan import POLICIES
from perfmodel.collectives.themis.run import Queuing
from perfmodel.topology.graph import Topology

from .hierarchical import lines

__all__ = ["chunks_in_orders"]


def chunks_in_orders(
    builder: ScheduleBuilder,
    members: Sequence[int],
    chunk_bytes: float,
    pattern: str,
    policy: str,
) -> None:
    """Add an all-reduce, reduce-scatter or all-gather; in lockstep, equal chunks are merged."""
    add = add_orders if builder.lockstep else add_chunks
    add(builder, members, chunk_bytes, pattern, Queuing(policy))


def _fits(topology: Topology, group: Sequence[int]) -> bool:
    return lines(topology.scheduling_dimensions, group) is not None


for _number, (_name, _policy) in enumerate(POLICIES.items()):
    ALGORITHMS.add(
        _name,
        Algorithm(
            _policy.words,
            partial(chunks_in_orders, policy=_name),
            SCATTERED,
            needs=NEEDS,
            fits=_fits,
            automatic=False,
        ),
        rank=5.8 + _number / 100,
    )
