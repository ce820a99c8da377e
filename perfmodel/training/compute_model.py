"""Compute models: where the compute times of an iteration come from."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fred_hw.errors import InputError
from fred_hw.registry import Registry
from perfmodel.topology.graph import Topology

from .compute import Npu

__all__ = ["COMPUTE_MODELS", "ComputeModel", "compute_model"]


def _always(_workload: str, _topology: Topology) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class ComputeModel:
    """A compute model; models are never mixed.

    Parameters
    ----------
    check : callable
        Refuses fabrics that a workload cannot be compared on with this model.
    scale : callable
        Returns what the compute times of the roofline are multiplied by, given the name of the
        workload, the topology and the NPU; refuses what the model does not know.
    assumptions : callable
        Returns what the model takes for granted, given the scale, the share of the peak that
        compute then reaches (None where it is not identified), and the NPU.
    workloads : callable
        Returns which of some workloads it knows: what a comparison of all workloads takes.
    basis : str
        What stands behind its name in help texts: what it is solved from, if anything.
    identified : callable
        Returns whether what the model is solved from tells the compute, given the name of the
        workload and the topology; where it does not, no rate of compute is stated.
    fitted : bool
        Whether a number of it is set by the published speed-ups of FRED-C.
    """

    check: Callable[[Sequence[Topology]], None]
    scale: Callable[[str, Topology, Npu], float]
    assumptions: Callable[[float, float | None, Npu], tuple[str, ...]]
    workloads: Callable[[Sequence[str]], Sequence[str]] = tuple[str, ...]
    basis: str = ""
    identified: Callable[[str, Topology], bool] = _always
    fitted: bool = False


COMPUTE_MODELS: Registry[ComputeModel] = Registry(
    "perfmodel.training.compute_models", "compute model"
)
"""Compute models by name; each is a module of ``training/compute_models``."""


def compute_model(name: str) -> ComputeModel:
    """Return the compute model of a name.

    Raises
    ------
    InputError
        There is none.
    """
    if name not in COMPUTE_MODELS:
        allowed = ", ".join(COMPUTE_MODELS)
        raise InputError("", "compute", f"must be one of {allowed}, not {name!r}")
    return COMPUTE_MODELS[name]
