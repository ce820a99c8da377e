"""Execution of a collective's chunks in dimension queues.

The queues know dimensions, not links. They are fast and close to the published simulator; the
schedule of ``messages.py`` runs the same chunks on links.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

from fred_hw.errors import InputError
from perfmodel.collectives.algorithm import SCATTERED

from .network import QueueDimension
from .phases import phases_of
from .plan import GAP_DENOMINATOR, ChunkPlan, plan
from .queues import Service, serve

__all__ = ["CHUNKS", "Queuing", "least_bytes", "run_chunks"]

CHUNKS = 64
"""Default number of chunks of a collective, as in the evaluation of Themis."""


@dataclass(frozen=True, slots=True)
class Queuing:
    """Scheduling options of chunks.

    Parameters
    ----------
    policy : str
        Order of the dimensions of each chunk, one of ``plan.POLICIES``.
    chunks : int
        Pieces that the vector is cut into.
    intra : str or None
        Order within the queue of a dimension, one of ``queues.INTRA``; by default ``scf`` for the
        orders of Themis and ``fifo`` for fixed ones, as each was evaluated.
    latency : str
        One of ``queues.LATENCY_MODES``.
    gap_denominator : int
        See ``plan.plan``.
    compatible : bool
        Whether all-gathers and roundings are those of the authors' code; see ``plan.plan`` and
        ``phases.phases_of``.
    """

    policy: str = "themis"
    chunks: int = CHUNKS
    intra: str | None = None
    latency: str = "occupancy"
    gap_denominator: int = GAP_DENOMINATOR
    compatible: bool = False

    @property
    def intra_name(self) -> str:
        """Order within a queue: one of ``queues.INTRA``."""
        return self.intra or ("scf" if self.policy.startswith("themis") else "fifo")


def least_bytes(pattern: str, npus: int, chunks: int = CHUNKS) -> int:
    """Return the smallest vector: a chunk has a byte, in an all-gather one of each NPU [B]."""
    return chunks * npus if pattern == "all_gather" else chunks


def run_chunks(
    dimensions: Sequence[QueueDimension], size_bytes: float, pattern: str, how: Queuing
) -> tuple[list[ChunkPlan], list[Service]]:
    """Return the chunks of a collective, and when each of their phases is served.

    Parameters
    ----------
    dimensions : sequence of QueueDimension
        The innermost first.
    size_bytes : float
        The whole vector, cut to whole bytes [B].
    pattern : str
        ``all_reduce``, ``reduce_scatter`` or ``all_gather``.
    how : Queuing
        All else.

    Raises
    ------
    InputError
        An argument is not allowed, or there are more chunks than bytes.
    """
    if pattern not in SCATTERED:
        message = f"must be one of {', '.join(SCATTERED)} with {how.policy}, not {pattern!r}"
        raise InputError("pattern", "", message)
    if not (isfinite(size_bytes) and size_bytes > 0):
        raise InputError("size", "", f"must be above 0 bytes, not {size_bytes!r}")
    plans = plan(
        dimensions,
        int(size_bytes),
        how.chunks,
        pattern,
        how.policy,
        how.gap_denominator,
        compatible=how.compatible,
    )
    phases = [phases_of(one, dimensions, pattern, compatible=how.compatible) for one in plans]
    return plans, serve(phases, dimensions, how.intra_name, how.latency)
