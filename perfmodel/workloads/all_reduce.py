"""Workload of a single all-reduce: gradients of a given size, and no compute."""

from typing import Annotated

from fred_hw.files import int_range, one_of

from .file import KINDS, WorkloadFile
from .layers import Layer, Network, Operator

__all__ = ["AllReduceFile"]


class AllReduceFile(WorkloadFile):
    """``kind: all_reduce``: one all-reduce along data parallelism, and no compute.

    Studies vary its size and, with ``strategy.dp``, its group. The time of the all-reduce is
    ``exposed_s.dp``.

    Parameters
    ----------
    parameters : int
        Number of trained parameters. Each NPU of the group contributes a gradient of two bytes for
        each.
    """

    kind: Annotated[str, one_of("all_reduce")]
    parameters: Annotated[int, int_range(1, 1 << 40)]

    def network(self, source: str) -> Network:
        # Parameters of a sparse embedding without look-ups: nothing is read or computed.
        gradients = Operator("gradients", "embedding", 0, self.parameters, 0, sparse=True)
        return Network((Layer("gradients", (gradients,), 0, 0),), input_bytes=0)


KINDS.add("all_reduce", AllReduceFile)
