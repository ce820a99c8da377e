"""Figures of a run: of an iteration, of traces or of a LogGOPS schedule.

``perfmodel.training.moved`` works them out from what a run moves, for every kind of run.
"""

from dataclasses import dataclass, fields
from typing import Any, NamedTuple

__all__ = ["DimensionUse", "Energy", "Figures", "Times", "unknown"]


@dataclass(frozen=True, slots=True)
class Energy:
    """Energy of a run over all NPUs and links.

    Parameters
    ----------
    total_j : float or None
        Total energy; None if a part is unknown [J].
    parts_j : dict
        Energy by compute and kinds of communication; in iterations by ``parts.PARTS`` [J].
    uses_j : dict
        Energy by ``operations``, ``memory``, ``additions`` and ``LINK_CLASSES`` [J].
    """

    total_j: float | None
    parts_j: dict[str, float | None]
    uses_j: dict[str, float | None]


@dataclass(frozen=True, slots=True)
class DimensionUse:
    """Use of the links of a dimension during a run.

    Parameters
    ----------
    dimension : str
        Its name, as of ``link_dimensions``.
    links : int
        Links, one for each direction.
    bytes : float
        Payload on all of these links [B].
    peak : float
        Share of the run that the payload of the busiest link takes at its payload bandwidth.
    average : float
        Mean of that share over all links of the dimension.
    """

    dimension: str
    links: int
    bytes: float
    peak: float
    average: float


class Times(NamedTuple):
    """Time of an NPU that ends last, by activity [s]; None where a kind of run has no figure.

    ``exposed_s`` is the time in which the NPU does not compute, ``overlap_s`` the time in which it
    computes and communicates.
    """

    total_s: float
    compute_s: float
    exposed_s: float
    communication_s: float | None = None
    overlap_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Figures that every kind of run has; a figure that a run cannot know is None.

    Parameters
    ----------
    link_bytes : dict or None
        Payload bytes by each class of link, ``LINK_CLASSES`` [B].
    utilization : tuple of DimensionUse or None
        Use of the links of each dimension, ordered by name.
    energy : Energy or None
        Energy of all NPUs and links together.
    absent : dict
        Reason for each figure that is None, by the name of the figure.
    """

    link_bytes: dict[str, float] | None
    utilization: tuple[DimensionUse, ...] | None
    energy: Energy | None
    absent: dict[str, str]

    @property
    def times(self) -> Times:
        """Time of an NPU that ends last, by activity."""
        raise NotImplementedError

    @property
    def shared(self) -> dict[str, Any]:
        """The figures as keyword arguments of a result of one kind of run."""
        return {one.name: getattr(self, one.name) for one in fields(Figures)}


def unknown(why: str) -> Figures:
    """Return the figures of a run that has no links, or moves unknown amounts."""
    absent: dict[str, str] = dict.fromkeys(("link_bytes", "utilization", "energy"), why)
    return Figures(link_bytes=None, utilization=None, energy=None, absent=absent)
