"""Workload files: what YAML files of all kinds say, and the kinds that there are."""

from abc import abstractmethod
from typing import Annotated

from pydantic import WithJsonSchema

from fred_hw.files import FileModel, int_range, name_in, one_of
from fred_hw.registry import Registry

from .layers import Network
from .pipeline_schedule import SCHEDULES

__all__ = ["KINDS", "MODES", "Count", "WorkloadFile"]

MODES = ("stationary", "streaming")
"""Whether the model stays on the wafer or its layers are streamed in (FRED, arXiv 2406.19580)."""

_STRATEGY = r"^MP(?!0+-)[0-9]{1,9}-DP(?!0+-)[0-9]{1,9}-PP(?!0+$)[0-9]{1,9}$"
"""What ``Strategy.parse`` takes."""

Count = Annotated[int, int_range(1, 1 << 30)]


class WorkloadFile(FileModel):
    """How a network is trained; a subclass says which network it is.

    Parameters
    ----------
    kind : str
        Says which other keys there are.
    strategy : str
        Such as ``MP2-DP5-PP2``: MP is tensor parallelism, called model parallelism in the paper.
        The one used when no other is asked for.
    mode : str
        Whether the model stays on the wafer (`stationary`) or its layers are streamed in.
    microbatches : int
        Pieces that the samples of a replica go through the pipeline in; divides
        ``samples_per_replica``.
    samples_per_replica : int
        Samples in an iteration for each data-parallel replica.
    schedule : str
        Order of the passes of a pipeline stage; only matters in stationary mode.
    overlap : bool
        Whether gradients are reduced while the backward pass goes on, in stationary mode.
    """

    kind: str
    strategy: Annotated[str, WithJsonSchema({"type": "string", "pattern": _STRATEGY})]
    mode: Annotated[str, one_of(*MODES)]
    microbatches: Count
    samples_per_replica: Count
    schedule: Annotated[str, name_in(SCHEDULES)] = "1f1b"
    overlap: bool = False

    @abstractmethod
    def network(self, source: str) -> Network:
        """Return the network.

        Raises
        ------
        InputError
            Values do not go together; names ``source`` and the field.
        """


KINDS: Registry[type[WorkloadFile]] = Registry("perfmodel.workloads", "kind of workloads")
"""Kinds of networks by name; each is a module of this package."""
