"""Compute model: compute time is the time to read the weights from memory.

Every parameter is read once per microbatch in each of three passes (forward, and the two products
of the backward pass), and operations take no time. So an NPU works at the rate at which weights
arrive, as the FRED paper (arXiv 2406.19580) says of streamed weights in section 8.2; at 2.304 TB/s
of streaming an NPU of 989 TFLOP/s would have time for only 429 tokens per weight, while 16 samples
of 2,048 tokens have 32,768.
"""

from dataclasses import dataclass

from perfmodel.constants import NUMBER_BYTES
from perfmodel.training.compute import Npu
from perfmodel.training.compute_model import COMPUTE_MODELS, ComputeModel
from perfmodel.workloads.layers import Operator

__all__ = ["WeightReader"]


@dataclass(frozen=True)
class WeightReader(Npu):
    """An NPU whose operators take as long as reading their parameters."""

    def pass_s(self, operator: Operator, samples: float, mp: int) -> float:
        """Return the time to read the parameters of an operator once [s], for any samples."""
        return NUMBER_BYTES * operator.read_parameters / mp / self.hbm_bytes_per_s

    @property
    def assumptions(self) -> tuple[str, ...]:
        return (
            (
                "compute is the time to read each weight from memory once per microbatch forward "
                f"and twice backward, at {self.hbm_bytes_per_s:g} B/s; operations take none"
            ),
            "operators run one after the other, and compute never slows down communication",
        )


COMPUTE_MODELS.add(
    "weights",
    ComputeModel(
        chosen_by=("fred-c", "fred-d"),
        basis="read once per microbatch and pass",
        npu=lambda npu: WeightReader(**vars(npu)),
    ),
    rank=2,
)
