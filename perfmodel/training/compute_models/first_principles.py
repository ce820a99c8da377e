"""Compute model: the plain roofline of the NPU."""

from perfmodel.training.compute_model import COMPUTE_MODELS, ComputeModel

__all__: list[str] = []

COMPUTE_MODELS.add("first-principles", ComputeModel(), rank=0)
