"""Entries of the schedule table, as written by software."""

from dataclasses import dataclass, field

from fred_hw.checks import check_int

from .operations import Descriptor

__all__ = [
    "CYCLE_BITS",
    "DEPENDENCIES",
    "PARENT",
    "TABLE_STEP_BITS",
    "TREES",
    "Arrival",
    "ScheduleEntry",
]

TABLE_STEP_BITS = 10
"""Bits of a step number."""

CYCLE_BITS = 24
"""Bits of a step's estimated time in cycles."""

TREES = 64
"""Number of trees of a schedule, one per endpoint of the largest group."""

DEPENDENCIES = 5
"""Dependency bits of a tree: a parent and four children, the number of mesh neighbours."""

PARENT = 0
"""Dependency bit of the parent; bits of children follow."""


@dataclass(frozen=True)
class Arrival:
    """Dependency bits of a tree, for one half of an entry.

    Parameters
    ----------
    tree : int
        The tree, 0 to 63.
    waits : int
        Bits that must be set before the entry is issued.
    sets : int
        Bits that the entry sets when it is completed.
    """

    tree: int = 0
    waits: int = 0
    sets: int = 0

    def __post_init__(self) -> None:
        check_int("tree of a schedule entry", self.tree, minimum=0, maximum=TREES - 1)
        for name in ("waits", "sets"):
            most = (1 << DEPENDENCIES) - 1
            check_int(f"{name} of a schedule entry", getattr(self, name), minimum=0, maximum=most)


@dataclass(frozen=True, kw_only=True)
class ScheduleEntry:
    """A descriptor in the schedule table, with the conditions for issuing it.

    Parameters
    ----------
    descriptor : Descriptor
        An exchange, in which the endpoint gathers, or an ``exchange_reduce``. Flows are unicasts.
    step : int
        Step in which the entry is issued, or later; 0 to 1023.
    send, receive : Arrival
        Trees of the data that are sent and received. What is sent sets no bits.
    """

    descriptor: Descriptor
    step: int
    send: Arrival = field(default_factory=Arrival)
    receive: Arrival = field(default_factory=Arrival)

    def __post_init__(self) -> None:
        most = (1 << TABLE_STEP_BITS) - 1
        check_int("step of a schedule entry", self.step, minimum=0, maximum=most)
        if self.send.sets:
            raise ValueError(f"sets of what an entry sends must be 0, not {self.send.sets}")

    def writes(self, flit_bytes: int) -> list[tuple[str, int, int]]:
        """Return the writes in order: register, word index and value; COMMAND is last.

        Parameters
        ----------
        flit_bytes : int
            Bytes of a flit.
        """
        *words, (name, word, command) = self.descriptor.writes(flit_bytes)
        dependencies = (
            self.send.tree
            | self.send.waits << 6
            | self.receive.tree << 16
            | self.receive.waits << 22
            | self.receive.sets << 27
        )
        return [
            *words,
            ("ENTRY_STEP", 0, self.step),
            ("ENTRY_DEPENDENCIES", 0, dependencies),
            (name, word, command | 1 << 16),
        ]
