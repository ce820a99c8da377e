"""Parts of an iteration: compute, and communication by what it is for."""

from dataclasses import dataclass, field, fields
from typing import Any

__all__ = ["PARTS", "PRIORITIES", "Exposed"]


def _served(priority: int) -> Any:
    return field(default=0.0, metadata={"priority": priority})


@dataclass(frozen=True, slots=True)
class Exposed:
    """Communication on the critical path, that is, not hidden behind compute [s].

    Its fields are the one list of kinds of communication, each with its order of service: MP before
    PP before DP as in the switch (FRED, arXiv 2406.19580), then I/O.
    """

    mp: float = _served(0)
    dp: float = _served(2)
    pp: float = _served(1)
    weight_streaming: float = _served(3)
    input_load: float = _served(4)
    cp: float = _served(0)
    ep: float = _served(0)

    @property
    def total_s(self) -> float:
        """All of it [s]."""
        return sum(getattr(self, name) for name in PRIORITIES)


PRIORITIES: dict[str, int] = {one.name: one.metadata["priority"] for one in fields(Exposed)}
"""Order of service of each kind of communication."""

PARTS = ("compute", *PRIORITIES)
"""What the time of an iteration is made of: compute and exposed communication."""
