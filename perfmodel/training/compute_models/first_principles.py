"""The roofline of the NPU alone."""

from perfmodel.training.compute_model import COMPUTE_MODELS, ComputeModel

__all__: list[str] = []

COMPUTE_MODELS.add(
    "first-principles",
    ComputeModel(
        check=lambda _topologies: None,
        scale=lambda _workload, _topology, _npu: 1.0,
        assumptions=lambda _scale, _share, _npu: (),
    ),
    rank=0,
)
