"""The interface of a network model, and the registry of all network models."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from fred_hw.choices import not_one_of
from fred_hw.errors import InputError
from fred_hw.registry import Registry
from perfmodel.collectives.schedule import Schedule
from perfmodel.topology.graph import Topology

__all__ = [
    "NETWORK_MODELS",
    "CannotTimeError",
    "Conditions",
    "NetworkModel",
    "Timed",
    "find_model",
    "unicast_loads",
]


@dataclass(frozen=True, slots=True)
class Conditions:
    """What else is on the network when a schedule runs.

    Parameters
    ----------
    concurrent : tuple of Schedule
        Schedules that may run at any time meanwhile: switches need paths for all of them.
    urgent : bool
        Whether the schedule goes before others that are under way.
    changes : int
        Number of times that a source changes to the schedule from other destinations.
    second_first : bool
        Whether the second half of the data is the more urgent one, where the halves of a collective
        are on two virtual channels of a mesh, as in phases of DP (docs/explanation/mesh.md).
    """

    concurrent: tuple[Schedule, ...] = ()
    urgent: bool = False
    changes: int = 0
    second_first: bool = False


class CannotTimeError(InputError):
    """A network model cannot time a schedule."""


class Timed(Protocol):
    """A schedule of one byte on a topology; times and loads of other sizes follow from it.

    Attributes
    ----------
    loads : tuple of (int, float)
        Link, and the bytes that cross it for each byte of the vector; of lines that are alike those
        of the one that stands for all.
    ack_s : float
        Time from the end of the schedule until its sources have received the ack [s].
    assumptions : tuple of str
        Assumptions of the model about this schedule.
    """

    @property
    def loads(self) -> tuple[tuple[int, float], ...]: ...

    @property
    def ack_s(self) -> float: ...

    @property
    def assumptions(self) -> tuple[str, ...]: ...

    def time_s(self, size_bytes: float, chunk_bytes: float) -> float:
        """Return the time of a vector that is sent in chunks [s].

        Parameters
        ----------
        size_bytes, chunk_bytes : float
            The vector, and a chunk of it, which is at most the vector [B].
        """
        ...


@dataclass(frozen=True, slots=True)
class NetworkModel:
    """A network model, which computes the time of schedules.

    Parameters
    ----------
    description : str
        Contents of the model, for help texts.
    prepare : callable
        Returns a ``Timed`` of a topology, a schedule of one byte and ``Conditions``. It raises
        ``CannotTimeError`` for a schedule that the model cannot time.
    chunk_bytes : callable
        Returns the size of chunks of a vector on a topology, if the user gives none [B].
    lockstep : bool
        Whether it takes a pass around a ring as one item of the schedule.
    lines_as_one : bool
        Whether it takes a step of lines that are alike as one item.
    in_network : bool
        Whether it can time transfers that join or fork in switches.
    never_faster_than_links : bool
        Whether no link carries more payload than its bandwidth and payload share allow.
    instead : str
        Why the model cannot time the tasks of a workload, and what runs it; empty if it can.
    details : callable
        Returns figures by their names in JSON, of what ``prepare`` returned and a chunk [B].
    """

    description: str
    prepare: Callable[[Topology, Schedule, Conditions], Timed]
    chunk_bytes: Callable[[Topology, float], float]
    lockstep: bool = True
    lines_as_one: bool = False
    in_network: bool = True
    never_faster_than_links: bool = True
    instead: str = ""
    details: Callable[[Any, float], Mapping[str, Any]] = lambda _timed, _chunk_bytes: {}


NETWORK_MODELS: Registry[NetworkModel] = Registry("perfmodel.network.models", "network model")
"""Network models by name; each module of ``network/models`` registers one."""


def find_model(name: str) -> NetworkModel:
    """Return the network model with a given name.

    Raises
    ------
    InputError
        There is no such model.
    """
    if name not in NETWORK_MODELS:
        raise InputError("network_model", "", not_one_of(name, tuple(NETWORK_MODELS)))
    return NETWORK_MODELS[name]


def unicast_loads(schedule: Schedule) -> tuple[tuple[int, float], ...]:
    """Return the loads of a schedule of one byte, for models that only support unicasts.

    Raises
    ------
    CannotTimeError
        A message joins or forks in switches.
    """
    if any(one.joins for one in schedule.messages):
        able = " or ".join(name for name, one in NETWORK_MODELS.items() if one.in_network)
        message = f"must be {able} for messages that join or fork in switches"
        raise CannotTimeError("network_model", "", message)
    carried: dict[int, float] = {}
    for one in schedule.messages:
        for link, times in one.loads():
            carried[link] = carried.get(link, 0.0) + times * one.payload_bytes
    return tuple(sorted(carried.items()))
