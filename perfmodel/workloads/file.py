"""Workload files: what YAML files of all kinds say, and the kinds that there are."""

from abc import abstractmethod
from typing import Annotated

from fred_hw.files import FileModel, int_range, name_in, one_of
from fred_hw.registry import Registry

from .layers import Network
from .pipeline_schedule import SCHEDULES

__all__ = ["KINDS", "MODES", "Count", "WorkloadFile"]

MODES = ("stationary", "streaming")
"""Whether the model stays on the wafer or its layers are streamed in (FRED, arXiv 2406.19580)."""

Count = Annotated[int, int_range(1, 1 << 30)]


class WorkloadFile(FileModel):
    """How a network is trained; a subclass says which network it is.

    Parameters
    ----------
    kind : str
        One of ``KINDS``.
    strategy : str
        Such as ``MP2-DP5-PP2``: MP is tensor parallelism, called model parallelism in the paper.
    mode, schedule : str
        One of ``MODES``, and one of ``pipeline_schedule.SCHEDULES``.
    microbatches, samples_per_replica, overlap : int, int, bool
        See ``workload.Workload``.
    """

    kind: str
    strategy: str
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
