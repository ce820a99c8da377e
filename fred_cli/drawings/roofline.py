"""Operators of a workload on the roofline of an NPU."""

from dataclasses import dataclass

from perfmodel.constants import NUMBER_BYTES
from perfmodel.training.compute import Npu
from perfmodel.workloads.layers import Operator
from perfmodel.workloads.workload import Workload

__all__ = ["Point", "roofline"]


@dataclass(frozen=True)
class Point:
    """Identical operators of all layers, in the forward pass of a microbatch.

    Parameters
    ----------
    name, kind : str
        Name of the operator and number of layers; one of ``layers.KINDS``.
    intensity : float
        Operations per byte of memory traffic [FLOP/B].
    rate_flops : float
        Operations divided by their time [FLOP/s].
    time_s : float
        Time in all layers together [s].
    share : float
        Share of the time of all operators.
    bound : str
        ``memory`` or ``compute``: the limit of the time.
    """

    name: str
    kind: str
    intensity: float
    rate_flops: float
    time_s: float
    share: float
    bound: str


def roofline(workload: Workload, mp: int, npu: Npu) -> tuple[Point, ...]:
    """Return the operators of a workload, in descending order of time.

    Parameters
    ----------
    workload : Workload
        Its layers, and the samples of a microbatch.
    mp : int
        NPUs that share a layer that splits.
    npu : Npu
        The roofline, not scaled by any calibration.
    """
    samples = workload.samples_per_replica / workload.microbatches
    alike: dict[tuple[Operator, int], int] = {}
    for layer in workload.network.layers:
        for operator in layer.operators:
            key = (operator, mp if layer.splits else 1)
            alike[key] = alike.get(key, 0) + 1
    times = {key: count * npu.pass_s(key[0], samples, key[1]) for key, count in alike.items()}
    total = sum(times.values())
    points: list[Point] = []
    for (operator, parts), count in alike.items():
        time_s = times[operator, parts]
        flops = count * operator.flops * samples / parts
        moved = operator.moved_numbers * samples + operator.read_parameters
        moved_bytes = count * NUMBER_BYTES * moved / parts
        memory_s = moved_bytes / npu.hbm_bytes_per_s
        compute_s = flops / (npu.peak_flops * npu.efficiency[operator.kind])
        points.append(
            Point(
                name=f"{operator.name} x {count}" if count > 1 else operator.name,
                kind=operator.kind,
                intensity=flops / moved_bytes if moved_bytes else 0.0,
                rate_flops=flops / time_s if time_s else 0.0,
                time_s=time_s,
                share=time_s / total if total else 0.0,
                bound="memory" if memory_s >= compute_s else "compute",
            )
        )
    return tuple(sorted(points, key=lambda point: -point.time_s))
