"""Tasks of an iteration: compute and transfers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

__all__ = ["PATIENT", "Occurrence", "Profile", "Task"]

PATIENT = 2
"""Least priority number of non-urgent transfers."""


@dataclass(frozen=True, slots=True)
class Profile:
    """A transfer: its time on an idle network, and its load on links.

    Parameters
    ----------
    time_s : float
        Alone [s].
    loads : tuple of (int, float)
        Link, and bytes that cross it [B].
    ack_s : float
        From its end until its sources know of it [s].
    added_bytes : float
        Numbers that are added to others on the way, in switches or in NPUs [B].
    details : mapping
        Figures of the network model, as ``network.model.NetworkModel.details`` has them.
    """

    time_s: float
    loads: tuple[tuple[int, float], ...] = ()
    ack_s: float = 0.0
    added_bytes: float = 0.0
    details: Mapping[str, Any] = field(default_factory=dict[str, Any], compare=False)


class Occurrence(NamedTuple):
    """Position of a task in a repeating sequence, such as microbatches.

    Parameters
    ----------
    block : int
        What comes again and again as a whole, such as the forward passes of a stage.
    number : int
        The how manieth time it is, from 0.
    seat : int
        Of the task there.
    """

    block: int
    number: int
    position: int


class Task(NamedTuple):
    """A unit of work: compute, a transfer or a wait.

    Parameters
    ----------
    kind : str
        What it is for; in training one of ``PARTS``.
    place : int
        Pipeline stage that does it.
    name : str
        For people.
    profile : Profile
        Its time; and what it puts on the links, nothing if it computes or waits.
    after : tuple of int
        Tasks, earlier in the list, that must be complete.
    effort : float
        Operations if it computes: what the order of service is made from.
    priority : int
        On the links; of what is laid out at one time, a lower number is served first. From
        ``PATIENT`` on it is not urgent, and cut where urgent transfers need its links.
    turn : Turn or None
        Where it comes again; None if it does not.
    """

    kind: str
    place: int
    name: str
    profile: Profile
    after: tuple[int, ...] = ()
    effort: float = 0.0
    priority: int = 0
    occurrence: Occurrence | None = None
