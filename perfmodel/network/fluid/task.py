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
        Time on an idle network [s].
    loads : tuple of (int, float)
        Link, and bytes that cross it [B].
    ack_s : float
        Time from the end of the transfer until its sources have received the ack [s].
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
        Number of the sequence that repeats as a whole, such as the forward passes of a stage.
    number : int
        Number of the repetition, from 0.
    position : int
        Position of the task in the sequence.
    """

    block: int
    number: int
    position: int


class Task(NamedTuple):
    """A unit of work: compute, a transfer or a wait.

    Parameters
    ----------
    kind : str
        Purpose of the task; in training one of ``PARTS``.
    place : int
        Pipeline stage that executes the task.
    name : str
        Name for people to read.
    profile : Profile
        Time of the task, and its load on links, which is empty for compute and waits.
    after : tuple of int
        Tasks, earlier in the list, that must be complete.
    effort : float
        Operations of a compute task, from which the order of service is computed.
    priority : int
        Priority on links: of tasks laid out at the same time, a lower number is served first.
        Transfers from ``PATIENT`` on are not urgent, and are interrupted where urgent transfers
        need their links.
    occurrence : Occurrence or None
        Position of the task in a repeating sequence; None without one.
    """

    kind: str
    place: int
    name: str
    profile: Profile
    after: tuple[int, ...] = ()
    effort: float = 0.0
    priority: int = 0
    occurrence: Occurrence | None = None
