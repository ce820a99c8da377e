"""Parts of an iteration: compute, and causes of exposed time."""

from dataclasses import dataclass, field, fields
from typing import Any

__all__ = ["PARTS", "PRIORITIES", "WAITS", "Exposed"]


def _served(priority: int) -> Any:
    return field(default=0.0, metadata={"priority": priority})


@dataclass(frozen=True, slots=True)
class Exposed:
    """Time in which an NPU does not compute, by what it waits for [s].

    Fields with a priority are the one list of kinds of communication, each with its order of
    service: MP before PP before DP as in the switch (FRED, arXiv 2406.19580), then I/O.
    ``bubble`` is the time in which the NPU waits for compute of other pipeline stages.
    """

    mp: float = _served(0)
    dp: float = _served(2)
    pp: float = _served(1)
    weight_streaming: float = _served(3)
    input_load: float = _served(4)
    cp: float = _served(0)
    ep: float = _served(0)
    bubble: float = 0.0

    @property
    def total_s(self) -> float:
        """Iteration time minus compute time [s]."""
        return self.communication_s + self.bubble

    @property
    def communication_s(self) -> float:
        """Exposed time without the pipeline bubble [s]."""
        return sum(getattr(self, name) for name in PRIORITIES)


PRIORITIES: dict[str, int] = {
    one.name: one.metadata["priority"] for one in fields(Exposed) if one.metadata
}
"""Service priority of each kind of communication."""

PARTS = ("compute", *PRIORITIES)
"""Kinds of tasks: compute and communication."""

WAITS = (*PRIORITIES, "bubble")
"""Things that an NPU can wait for."""
