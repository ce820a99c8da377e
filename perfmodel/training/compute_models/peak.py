"""Compute model: products and convolutions at a multiple of the peak; memory is free."""

from dataclasses import dataclass

from perfmodel.training.compute import Npu
from perfmodel.training.compute_model import COMPUTE_MODELS, ComputeModel, parse_factor
from perfmodel.workloads.layers import COUNTED, Operator

__all__ = ["OperationsOnly"]

NAME = "peak:K"


@dataclass(frozen=True)
class OperationsOnly(Npu):
    """An NPU whose matrix products and convolutions run at ``factor`` times its peak.

    Parameters
    ----------
    factor : float
        Times the peak, above 0.
    """

    factor: float = 1.0

    def pass_s(self, operator: Operator, samples: float, mp: int) -> float:
        """Return the time of a forward pass's operations [s]; other operators take no time."""
        flops = operator.flops if operator.kind in COUNTED else 0.0
        return flops * samples / mp / (self.factor * self.peak_flops)

    @property
    def assumptions(self) -> tuple[str, ...]:
        return (
            (
                f"matrix products and convolutions run at {self.factor:g} times the peak of "
                f"{self.peak_flops:g} FLOP/s; other operators and memory take no time"
            ),
            "a backward pass has twice the operations of the forward pass; nothing is recomputed",
            "operators run one after the other, and compute never slows down communication",
        )


def _model(text: str) -> ComputeModel:
    factor = parse_factor(NAME, text)
    return ComputeModel(
        chosen_by=("fred-c", "fred-d"),
        basis="operations alone, at K times the peak",
        npu=lambda npu: OperationsOnly(**vars(npu), factor=factor),
        given=_model,
    )


COMPUTE_MODELS.add(NAME, _model("1"), rank=4)
