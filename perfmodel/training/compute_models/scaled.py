"""Compute model: roofline times divided by a factor."""

from perfmodel.training.compute import Npu
from perfmodel.training.compute_model import COMPUTE_MODELS, ComputeModel, parse_factor

__all__: list[str] = []

NAME = "scaled:K"


def _model(text: str) -> ComputeModel:
    factor = parse_factor(NAME, text)

    def assumptions(_scale: float, _share: float | None, _npu: Npu) -> tuple[str, ...]:
        return (f"compute is {factor:g} times as fast as the roofline, whatever the NPU",)

    return ComputeModel(
        scale=lambda _workload, _topology, _npu: 1 / factor,
        assumptions=assumptions,
        chosen_by=("fred-c", "fred-d"),
        basis="K times as fast as the roofline",
        given=_model,
    )


COMPUTE_MODELS.add(NAME, _model("1"), rank=3)
