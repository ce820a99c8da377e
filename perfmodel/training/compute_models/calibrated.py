"""Calibrated compute: the one unknown of each published workload, solved from one published figure.

No first-principles compute model gives the compute times behind the published speed-ups. So all
compute times of the roofline are multiplied by one number per workload, such that the speed-up of
FRED-C over the mesh is the published one; nothing else is fitted. The speed-up of FRED-D, and all
other figures, are then predictions. The rates that the scales imply are above the peak of the NPU:
they are what the published figures need, not what an NPU can do.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from fred_hw.errors import InputError
from perfmodel.published import SPEEDUP_C
from perfmodel.switch_timing.record import ProtocolModel
from perfmodel.topology.graph import Topology
from perfmodel.topology.parse import BASELINE, parse_topology
from perfmodel.training.compute import Npu
from perfmodel.training.compute_model import COMPUTE_MODELS, ComputeModel
from perfmodel.training.iteration import simulate_iteration
from perfmodel.training.operations import Operations
from perfmodel.training.placement.search import default_placement
from perfmodel.workloads.workload import Workload, load_workload

__all__ = ["FABRIC", "Calibration", "calibrate", "solve"]

FABRIC = "fred-c"
"""Whose published speed-up over the baseline the scales are solved from."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """The scale of compute of a workload.

    Parameters
    ----------
    workload : str
        Its name.
    scale : float
        Compute times of the roofline are multiplied by it.
    speedup : float
        Of FRED-C over the mesh, with that scale.
    published : float
        The speed-up that it was solved from.
    source : str
        Where that stands.
    """

    workload: str
    scale: float
    speedup: float
    published: float
    source: str

    @property
    def reached(self) -> bool:
        """Whether there is a scale that gives the published speed-up."""
        return abs(self.speedup / self.published - 1) < 1e-3


def calibrate(name: str, protocol: ProtocolModel = "measured") -> Calibration:
    """Return what :func:`solve` finds, solved once."""
    return _solved(name, protocol)


def solve(name: str, protocol: ProtocolModel) -> Calibration:
    """Solve the scale of compute of a published workload.

    The speed-up falls as compute grows, so the scale is found by bisection of its logarithm. Where
    even no compute at all would not give the published speed-up, the nearest is taken.

    Parameters
    ----------
    name : str
        The workload.
    protocol : str
        One of ``record.PROTOCOL_MODELS``, of the fabrics that it is solved with.

    Raises
    ------
    InputError
        No speed-up was published for this workload.
    """
    if name not in SPEEDUP_C:
        known = ", ".join(SPEEDUP_C)
        raise InputError(
            "",
            "compute",
            f"must be first-principles for {name}; calibrated needs one of {known}",
        )
    published = SPEEDUP_C[name]
    workload = load_workload(name)
    low, high = 1e-4, 10.0
    prepared = [_prepare(fabric, protocol, workload) for fabric in (BASELINE, FABRIC)]

    def speedup(scale: float) -> float:
        slow, fast = (
            simulate_iteration(
                operations.topology, workload, operations.placement, Npu(), scale, operations
            ).time_s
            for operations in prepared
        )
        return slow / fast

    for _ in range(24):
        middle = (low * high) ** 0.5
        if speedup(middle) > published.value:
            low = middle
        else:
            high = middle
    scale = (low * high) ** 0.5
    return Calibration(name, scale, speedup(scale), published.value, published.source)


_solved = lru_cache(maxsize=16)(solve)


def _check_protocols(topologies: Iterable[Topology]) -> None:
    """Refuse fabrics of both protocols: calibration would give each another NPU.

    Raises
    ------
    InputError
        Their protocols differ.
    """
    if len({topology.protocol for topology in topologies}) > 1:
        message = "must be first-principles for fabrics some of whose protocols are ideal"
        raise InputError("", "compute", message)


def _check_npu(npu: Npu) -> None:
    """Refuse an NPU with compute rates other than those that the scales are solved with.

    Raises
    ------
    InputError
        A rate or an efficiency differs; memory may, since no compute time depends on its size.
    """
    given, solved = _rates(npu), _rates(Npu())
    for name, value in given.items():
        if value != solved[name]:
            message = f"must be {solved[name]:g} where compute is calibrated, not {value:g}"
            raise InputError("npu", name, message)


def _rates(npu: Npu) -> dict[str, float]:
    rates = {"peak_flops": npu.peak_flops, "hbm_bytes_per_s": npu.hbm_bytes_per_s}
    return rates | {f"efficiency.{kind}": share for kind, share in npu.efficiency.items()}


def _prepare(fabric: str, protocol: ProtocolModel, workload: Workload) -> Operations:
    topology = parse_topology(fabric, protocol)
    return Operations(topology, default_placement(topology, workload, workload.strategy))


def _scale(workload: str, topology: Topology, npu: Npu) -> float:
    _check_npu(npu)
    return calibrate(workload, topology.protocol).scale


def _assumptions(scale: float, peak_share: float, npu: Npu) -> tuple[str, ...]:
    text = (
        f"compute is calibrated: all times of the roofline times {scale:.6g}, solved from "
        "the published speed-up of FRED-C over the mesh alone; NPUs then compute at "
        f"{peak_share:.3g} times their peak of {npu.peak_flops:g} FLOP/s"
    )
    return (text,)


COMPUTE_MODELS.add(
    "calibrated",
    ComputeModel(
        _check_protocols,
        _scale,
        _assumptions,
        workloads=lambda names: [name for name in names if name in SPEEDUP_C],
        basis="on the published speed-up of FRED-C",
        fitted=True,
    ),
    rank=1,
)
