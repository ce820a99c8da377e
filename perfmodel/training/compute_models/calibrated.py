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
from perfmodel.training.iteration import Iteration, simulate_iteration
from perfmodel.training.operations import Operations
from perfmodel.training.placement.search import default_placement
from perfmodel.workloads.workload import load_workload

__all__ = ["FABRIC", "Calibration", "Runs", "calibrate", "solve"]

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
    identified : bool
        Whether the published speed-up tells the scale: not if no compute at all gives it, too, to
        the digits that are printed.
    """

    workload: str
    scale: float
    speedup: float
    published: float
    source: str
    identified: bool

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
    low, high = 1e-4, 10.0
    runs = Runs(name, protocol)
    for _ in range(24):
        middle = (low * high) ** 0.5
        if runs.speedup(middle) > published.value:
            low = middle
        else:
            high = middle
    scale = (low * high) ** 0.5
    identified = not published.rounds(runs.speedup(0.0))
    return Calibration(
        name, scale, runs.speedup(scale), published.value, published.source, identified
    )


class Runs:
    """Iterations of a published workload with any scale of compute.

    Parameters
    ----------
    name : str
        The workload.
    protocol : str
        One of ``record.PROTOCOL_MODELS``, of the fabrics.
    """

    def __init__(self, name: str, protocol: ProtocolModel) -> None:
        self._workload = load_workload(name)
        self._protocol: ProtocolModel = protocol
        self._prepared: dict[str, Operations] = {}
        self._times: dict[tuple[str, float], float] = {}

    def iteration(self, fabric: str, scale: float) -> Iteration:
        """Simulate an iteration; communication is simulated once."""
        if fabric not in self._prepared:
            topology, job = parse_topology(fabric, self._protocol), self._workload
            placed = default_placement(topology, job, job.strategy)
            self._prepared[fabric] = Operations(topology, placed)
        known = self._prepared[fabric]
        return simulate_iteration(
            known.topology, self._workload, known.placement, Npu(), scale, known
        )

    def speedup(self, scale: float, fabric: str = FABRIC) -> float:
        """Return the speed-up over the baseline."""
        return self._time_s(BASELINE, scale) / self._time_s(fabric, scale)

    def _time_s(self, fabric: str, scale: float) -> float:
        if (fabric, scale) not in self._times:
            self._times[fabric, scale] = self.iteration(fabric, scale).time_s
        return self._times[fabric, scale]


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


def _scale(workload: str, topology: Topology, npu: Npu) -> float:
    _check_npu(npu)
    return calibrate(workload, topology.protocol).scale


def _identified(workload: str, topology: Topology) -> bool:
    return calibrate(workload, topology.protocol).identified


def _assumptions(scale: float, peak_share: float | None, npu: Npu) -> tuple[str, ...]:
    text = (
        f"compute is calibrated: all times of the roofline times {scale:.6g}, solved from "
        "the published speed-up of FRED-C over the mesh alone; "
    )
    if peak_share is None:
        return (f"{text}no compute at all gives it, too, so it does not tell the compute",)
    rate = f"{peak_share:.3g} times their peak of {npu.peak_flops:g} FLOP/s"
    return (f"{text}NPUs then compute at {rate}",)


COMPUTE_MODELS.add(
    "calibrated",
    ComputeModel(
        _check_protocols,
        _scale,
        _assumptions,
        workloads=lambda names: [name for name in names if name in SPEEDUP_C],
        basis="on the published speed-up of FRED-C",
        fitted=True,
        identified=_identified,
    ),
    rank=1,
)
