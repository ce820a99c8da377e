"""Workloads of LIBRA: compute time, and bytes of collectives in each dimension."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

__all__ = ["COLLECTIVES", "Workload", "collective_bytes", "summed"]

COLLECTIVES = ("all_reduce", "reduce_scatter", "all_gather", "all_to_all")
"""Kinds of collectives."""


def collective_bytes(kind: str, size_bytes: float, groups: Sequence[int]) -> tuple[float, ...]:
    """Return the bytes that each NPU sends in each dimension during one collective [B].

    Parameters
    ----------
    kind : str
        One of ``COLLECTIVES``.
    size_bytes : float
        Size of the collective [B]; of an all-gather the share of one NPU.
    groups : sequence of int
        NPUs of each dimension that take part, the innermost dimension first; 1 if the collective
        does not use the dimension.
    """
    sent = [0.0] * len(groups)
    order = range(len(groups))
    for place in reversed(order) if kind == "all_gather" else order:
        size = groups[place]
        if kind == "all_gather":
            sent[place] = size_bytes * (size - 1)
            size_bytes *= size
            continue
        sent[place] = size_bytes * (size - 1) / size
        if kind == "all_reduce":
            sent[place] *= 2
        if kind != "all_to_all":
            size_bytes /= size
    return tuple(sent)


@dataclass(frozen=True, slots=True)
class Workload:
    """One training iteration without overlap of compute and communication.

    Parameters
    ----------
    name : str
        Shown in results.
    compute_s : float
        All compute of the iteration [s].
    collectives : tuple of tuple of float
        Bytes that an NPU sends in each dimension [B], of each collective that is waited for.
    weight : float
        Factor of this workload's time in the objective.
    """

    name: str
    compute_s: float
    collectives: tuple[tuple[float, ...], ...]
    weight: float = 1.0

    def time_s(self, bytes_per_s: Sequence[float]) -> float:
        """Return the time of an iteration, given the bandwidth of each dimension [s].

        A collective takes as long as its slowest dimension, as chunks keep all dimensions busy.
        """
        return self.compute_s + sum(
            max(
                (sent / rate for sent, rate in zip(one, bytes_per_s, strict=True) if sent),
                default=0.0,
            )
            for one in self.collectives
        )


def summed(
    found: Iterable[tuple[str, float, tuple[int, ...]]],
) -> tuple[tuple[float, ...], ...]:
    """Return the bytes of collectives in each dimension, merged by kind and groups.

    The time of a collective is proportional to its size, so the sum takes as long as its parts.
    Each collective is a kind, a size [B] and the NPUs of each dimension.
    """
    sizes = Counter[tuple[str, tuple[int, ...]]]()
    for kind, size_bytes, groups in found:
        sizes[kind, groups] += size_bytes  # pyright: ignore[reportArgumentType]
    sent = (collective_bytes(kind, size, groups) for (kind, groups), size in sizes.items())
    return tuple(one for one in sent if any(one))
