"""Workload files: keys of all kinds, and the registry of kinds."""

from abc import abstractmethod
from typing import Annotated

from pydantic import WithJsonSchema

from fred_hw.file_kinds import WORKLOAD
from fred_hw.files import FileModel, int_range, name_in, one_of
from fred_hw.registry import Registry

from .layers import Network
from .pipeline_schedule import SCHEDULES

__all__ = [
    "KINDS",
    "MAX_MICROBATCHES",
    "MAX_PASSES",
    "MAX_SAMPLES",
    "MODES",
    "STRATEGY",
    "Count",
    "WorkloadFile",
    "check_passes",
]

MODES = ("stationary", "streaming")
"""Whether the model stays on the wafer or its layers are streamed in (FRED, arXiv 2406.19580)."""

STRATEGY = (
    r"^[MT]P(?!0+-)[0-9]{1,9}-DP(?!0+-)[0-9]{1,9}-PP(?!0+(?![0-9]))[0-9]{1,9}"
    r"(-CP(?!0+(?![0-9]))[0-9]{1,9})?(-EP(?!0+(?![0-9]))[0-9]{1,9})?(-SP)?$"
)
"""Pattern of the texts that ``Strategy.parse`` accepts."""

Count = Annotated[int, int_range(1, 1 << 30)]

MAX_SAMPLES, MAX_MICROBATCHES = 1 << 20, 1 << 20
"""Largest numbers of samples per replica in an iteration, and of microbatches."""

MAX_PASSES = 1 << 16
"""Largest product of layers and microbatches that is fully simulated, in some seconds."""


def check_passes(layers: int, microbatches: int) -> None:
    """Fail if an iteration would take too long to simulate.

    Raises
    ------
    ValueError
        There are too many microbatches for so many layers.
    """
    most = MAX_PASSES // layers
    if microbatches > most:
        message = f"must be at most {most} with {layers} layers where none is left out"
        raise ValueError(f"{message}, not {microbatches}")


class WorkloadFile(FileModel):
    """Training settings of a workload; subclasses define the network.

    Parameters
    ----------
    kind : str
        Kind of network; it determines the other keys.
    strategy : str
        Strategy of training unless another is requested, such as ``MP2-DP5-PP2``. MP is tensor
        parallelism, called model parallelism in the paper, and may be written TP. ``-CP2``
        (context), ``-EP5`` (experts, divides DP) and ``-SP`` (sequence parallelism) may follow.
    mode : str
        Whether the model stays on the wafer (`stationary`) or its layers are streamed in.
    microbatches : int
        Parts of the samples of a replica that pass the pipeline one after the other; divides
        ``samples_per_replica``.
    samples_per_replica : int
        Samples in an iteration for each data-parallel replica.
    schedule : str
        Order of the passes of a pipeline stage; only matters in stationary mode.
    overlap : bool
        Whether gradients are reduced during the backward pass, in stationary mode.
    """

    file_kind = WORKLOAD

    kind: str
    strategy: Annotated[str, WithJsonSchema({"type": "string", "pattern": STRATEGY})]
    mode: Annotated[str, one_of(*MODES)]
    microbatches: Annotated[int, int_range(1, MAX_MICROBATCHES)]
    samples_per_replica: Annotated[int, int_range(1, MAX_SAMPLES)]
    schedule: Annotated[str, name_in(SCHEDULES)] = "1f1b"
    overlap: bool = False

    @abstractmethod
    def network(self, source: str) -> Network:
        """Return the network that the file defines.

        Raises
        ------
        InputError
            Values do not go together; names ``source`` and the field.
        """


KINDS: Registry[type[WorkloadFile]] = Registry("perfmodel.workloads", "kind of workloads")
"""Kinds of networks by name; each module of this package registers one."""
