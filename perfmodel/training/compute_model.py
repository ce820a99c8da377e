"""Compute models: the sources of the compute times of an iteration."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fred_hw.choices import not_one_of
from fred_hw.errors import InputError
from fred_hw.files import parse_number
from fred_hw.registry import Registry
from perfmodel.topology.graph import Topology

from .compute import Npu

__all__ = ["COMPUTE_MODELS", "ComputeModel", "compute_model", "parse_factor"]

_LARGEST = 1e6


@dataclass(frozen=True, slots=True)
class ComputeModel:
    """A compute model; models are never mixed. Defaults are those of the plain roofline.

    Parameters
    ----------
    check : callable
        Refuses fabrics on which a workload cannot be compared with this model.
    scale : callable
        Returns the factor for the compute times of the roofline, given the name of the workload,
        the topology and the NPU; refuses unknown workloads.
    assumptions : callable
        Returns the assumptions of the model, given the scale, the share of the peak that compute
        then reaches (None if it is not identified), and the NPU.
    workloads : callable
        Returns the known ones of some workloads, which a comparison of all workloads uses.
    basis : str
        Text after its name in help texts: the source from which it is solved, if any.
    identified : callable
        Returns whether the source determines the compute rate, given the name of the workload and
        the topology; otherwise no rate of compute is stated.
    fitted : bool
        Whether a parameter is solved from the published speed-ups of FRED-C.
    chosen_by : tuple of str
        Fabrics whose published speed-ups determined a parameter, or the choice of the model: they
        cannot serve as a test of it.
    npu : callable
        Returns the NPU that computes, given that of the roofline; its ``pass_s`` gives the time of
        an operator, its ``layer_s`` that of a layer.
    given : callable or None
        Returns the model for the text after the colon, such as a number or the path of a file, if
        its name has one.
    """

    check: Callable[[Sequence[Topology]], None] = lambda _: None
    scale: Callable[[str, Topology, Npu], float] = lambda _workload, _topology, _npu: 1.0
    assumptions: Callable[[float, float | None, Npu], tuple[str, ...]] = (
        lambda _scale, _share, _npu: ()
    )
    workloads: Callable[[Sequence[str]], Sequence[str]] = tuple[str, ...]
    basis: str = ""
    identified: Callable[[str, Topology], bool] = lambda _workload, _topology: True
    fitted: bool = False
    chosen_by: tuple[str, ...] = ()
    npu: Callable[[Npu], Npu] = lambda npu: npu
    given: "Callable[[str], ComputeModel] | None" = None


COMPUTE_MODELS: Registry[ComputeModel] = Registry(
    "perfmodel.training.compute_models", "compute model"
)
"""Compute models by name; each module of ``training/compute_models`` registers one.

A name such as ``scaled:K`` takes a text in the place of what is behind the colon.
"""


def compute_model(name: str) -> ComputeModel:
    """Return the compute model with a given name.

    Raises
    ------
    InputError
        There is no such model, or the text after the colon is not allowed.
    """
    kind, colon, text = name.partition(":")
    for known, model in COMPUTE_MODELS.items():
        if model.given is None:
            if known == name:
                return model
        elif colon and known.partition(":")[0] == kind:
            return model.given(text)
    raise InputError("", "compute", not_one_of(name, COMPUTE_MODELS))


def parse_factor(name: str, text: str) -> float:
    """Return the factor K in the name ``scaled:K`` of a model.

    Raises
    ------
    InputError
        The text is not a number from 1e-6 to 1e6.
    """
    factor = parse_number(text)
    if factor is None or not 1 / _LARGEST <= factor <= _LARGEST:
        allowed = f"must be {name} with K from {1 / _LARGEST:g} to {_LARGEST:g}"
        given = f"{name.partition(':')[0]}:{text}"
        raise InputError("", "compute", f"{allowed}, not {given!r}")
    return factor
