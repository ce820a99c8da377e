"""Calibrated compute: one scale per workload, solved from the published speed-up of FRED-C.

No first-principles compute model gives the compute times behind the published speed-ups. So all
compute times of the roofline are multiplied by one number per workload, such that the speed-up of
FRED-C over the mesh is the published one; nothing else is fitted. The speed-up of FRED-D, and all
other figures, are then predictions. The rates that the scales imply are above the peak of the NPU:
they are what the published figures need, not what an NPU can do.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import exp, log
from types import MappingProxyType

from fred_hw.errors import InputError
from perfmodel.published import SPEEDUP_C
from perfmodel.switch_timing.record import ProtocolModel
from perfmodel.topology.graph import Topology
from perfmodel.topology.parse import BASELINE, shared_topology
from perfmodel.training.compute import Npu
from perfmodel.training.compute_model import COMPUTE_MODELS, ComputeModel
from perfmodel.training.iteration import Iteration, Plan
from perfmodel.training.request import Request
from perfmodel.training.search import default_placement
from perfmodel.workloads.workload import load_workload

__all__ = ["FABRIC", "Calibration", "Runs", "calibrate", "solve"]

FABRIC = "fred-c"
"""Fabric from whose published speed-up over the baseline the scales are solved."""

_SCALES = (1e-4, 10.0)
"""Range of scales that is searched."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """The calibrated compute scale of a workload.

    Parameters
    ----------
    workload : str
        Name of the workload.
    scale : float
        Factor for the compute times of the roofline.
    speedup : float
        Speed-up of FRED-C over the mesh, with that scale.
    published : float
        The speed-up from which it was solved.
    source : str
        Source of the published speed-up.
    identified : bool
        Whether the published speed-up determines the scale: not if a model without any compute also
        gives it, to the printed digits.
    """

    workload: str
    scale: float
    speedup: float
    published: float
    source: str
    identified: bool

    @property
    def reached(self) -> bool:
        """Whether some scale reproduces the published speed-up."""
        return abs(self.speedup / self.published - 1) < 1e-3


def calibrate(name: str, protocol: ProtocolModel = "measured") -> Calibration:
    """Return the cached result of :func:`solve`."""
    return _solved(name, protocol)


def solve(name: str, protocol: ProtocolModel) -> Calibration:
    """Solve for the compute scale of a published workload.

    The speed-up falls as compute grows, since neither fabric gets faster and the slower one has
    less to lose; the scale is where it crosses the published one. Where even no compute at all
    would not give the published speed-up, the nearest is taken.

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
            "", "compute", f"must be first-principles for {name}; calibrated needs one of {known}"
        )
    published = SPEEDUP_C[name]
    runs = Runs(name, protocol)
    scale = runs.solved_scale()
    identified = not published.rounds(runs.speedup(0.0))
    return Calibration(
        name, scale, runs.speedup(scale), published.value, published.source, identified
    )


class Runs:
    """Iterations of a published workload at any compute scale.

    Parameters
    ----------
    name : str
        The workload.
    protocol : str
        One of ``record.PROTOCOL_MODELS``, of the fabrics.
    others : mapping
        Topologies in place of the fabrics of some names.
    npu : Npu or None
        The roofline; an H100 if None.
    """

    def __init__(
        self,
        name: str,
        protocol: ProtocolModel,
        others: Mapping[str, Topology] = MappingProxyType({}),
        npu: Npu | None = None,
    ) -> None:
        self._workload, self._others, self._npu = load_workload(name), others, npu or Npu()
        self._protocol: ProtocolModel = protocol
        self._plans: dict[str, Plan] = {}
        self._times_s: dict[tuple[str, float], float] = {}

    def plan(self, fabric: str) -> Plan:
        """Return the cached plan of an iteration on a fabric."""
        if fabric not in self._plans:
            job = self._workload
            topology = self._others.get(fabric) or shared_topology(fabric, self._protocol)
            placed = default_placement(Request.of(topology, job, npu=self._npu))
            self._plans[fabric] = Plan(topology, job, placed, self._npu)
        return self._plans[fabric]

    def iteration(self, fabric: str, scale: float) -> Iteration:
        """Return an iteration on a fabric."""
        return self.plan(fabric).iteration(scale)

    def speedup(self, scale: float, fabric: str = FABRIC) -> float:
        """Return the speed-up of a fabric over the baseline."""
        return self._time_s(BASELINE, scale) / self._time_s(fabric, scale)

    def solved_scale(self) -> float:
        """Return the scale that reproduces the published speed-up of FRED-C, or the nearest one."""
        published = SPEEDUP_C[self._workload.name].value
        return _crossing(lambda scale: log(self.speedup(scale) / published))

    def _time_s(self, fabric: str, scale: float) -> float:
        key = (fabric, scale)
        if key not in self._times_s:
            self._times_s[key] = self.plan(fabric).time_s(scale)
        return self._times_s[key]


def _crossing(excess: Callable[[float], float]) -> float:
    """Return the zero of a falling ``excess``, or the end of ``_SCALES`` nearest to it.

    False position over the logarithm of the scale, the end that stays at half its value (Illinois;
    Dowell and Jarratt, BIT 11, 1971): times are all but linear, so some ten steps are enough.
    """
    low, high = (log(scale) for scale in _SCALES)
    above, below = excess(_SCALES[0]), excess(_SCALES[1])
    if above <= 0.0 or below >= 0.0:
        return _SCALES[0] if above <= 0.0 else _SCALES[1]
    side, middle = 0, low
    for _ in range(100):
        middle = (low * below - high * above) / (below - above)
        found = excess(exp(middle))
        if abs(found) < 1e-12 or high - low < 1e-12:
            break
        if found > 0.0:
            low, above = middle, found
            below *= 0.5 if side > 0 else 1.0
            side = 1
        else:
            high, below = middle, found
            above *= 0.5 if side < 0 else 1.0
            side = -1
    return exp(middle)


_solved = lru_cache(maxsize=16)(solve)


def _check_protocols(topologies: Iterable[Topology]) -> None:
    """Fail if fabrics have different protocols, as calibration would give different NPUs.

    Raises
    ------
    InputError
        Their protocols differ.
    """
    if len({topology.protocol for topology in topologies}) > 1:
        message = "must be first-principles for fabrics some of whose protocols are ideal"
        raise InputError("", "compute", message)


def _check_npu(npu: Npu) -> None:
    """Fail if an NPU's compute rates differ from those that the scales are solved with.

    Raises
    ------
    InputError
        A rate or an efficiency differs; memory may, since no compute time depends on its size.
    """
    solved = Npu().rates
    for name, value in npu.rates.items():
        if name != "hbm_bytes" and value != solved[name]:
            message = f"must be {solved[name]:g} where compute is calibrated, not {value:g}"
            raise InputError("npu", name, message)


def _scale(workload: str, topology: Topology, npu: Npu) -> float:
    _check_npu(npu)
    return calibrate(workload, topology.protocol).scale


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
        chosen_by=(FABRIC,),
        identified=lambda name, topology: calibrate(name, topology.protocol).identified,
    ),
    rank=1,
)
