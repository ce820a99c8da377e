"""End-to-end speed-ups over the mesh: calibrated on FRED-C, FRED-D predicted."""

from collections.abc import Iterator

from perfmodel.collectives.run import run_collective
from perfmodel.constants import NUMBER_BYTES
from perfmodel.published import (
    RESNET_COMPUTE_US,
    RESNET_DP_MB,
    RESNET_DP_US,
    SPEEDUP_C,
    SPEEDUP_D,
)
from perfmodel.studies.section import SECTIONS, ReproduceRow, number
from perfmodel.switch_timing.record import ProtocolModel
from perfmodel.topology.parse import BASELINE, parse_topology
from perfmodel.training.compute_models.calibrated import FABRIC
from perfmodel.training.estimate import estimate
from perfmodel.workloads.workload import PUBLISHED, load_workload

__all__ = ["speedups"]


def speedups(protocol: ProtocolModel) -> Iterator[ReproduceRow]:
    """End-to-end speed-ups over the mesh: calibrated on FRED-C, FRED-D predicted."""
    for name in PUBLISHED:
        workload = load_workload(name)
        found = {
            fabric: estimate(parse_topology(fabric, protocol), workload, compute="calibrated")
            for fabric in (BASELINE, FABRIC, "fred-d")
        }
        times = {fabric: one.iteration_time_s for fabric, one in found.items()}
        scale, share = found[FABRIC].compute_scale, found[FABRIC].peak_share
        yield number(
            f"speedup/{name}/fred-c",
            f"speed-up of {name} on FRED-C",
            SPEEDUP_C[name],
            times[BASELINE] / times[FABRIC],
            f"calibrated on this figure: compute of the roofline times {scale:.4g}, "
            f"{share:.3g} times the peak of the NPU",
        )
        yield number(
            f"speedup/{name}/fred-d",
            f"speed-up of {name} on FRED-D",
            SPEEDUP_D[name],
            times[BASELINE] / times["fred-d"],
            "calibrated on FRED-C, predicted",
        )
    yield from _resnet(protocol)


def _resnet(protocol: ProtocolModel) -> Iterator[ReproduceRow]:
    """Yield what the published speed-ups of ResNet-152 imply."""
    resnet = load_workload("resnet-152")
    for fabric, figure in RESNET_DP_US.items():
        found = estimate(parse_topology(fabric, protocol), resnet, compute="calibrated")
        yield number(
            f"time/resnet-152/dp/{fabric}",
            f"gradient all-reduce of ResNet-152 on {fabric} [us]",
            figure,
            found.exposed_s.dp * 1e6,
            "simulated",
        )
        if fabric == FABRIC:
            size = NUMBER_BYTES * resnet.network.parameters
            sent = run_collective(
                parse_topology(fabric, protocol), "all_reduce", size
            ).bytes_per_npu
            yield number(
                "traffic/resnet-152/dp",
                "endpoint traffic of the gradients of ResNet-152 per NPU [MB]",
                RESNET_DP_MB,
                sent / 1e6,
                "simulated",
            )
            yield number(
                "time/resnet-152/compute",
                "compute of ResNet-152 that the published speed-up of FRED-C implies [us]",
                RESNET_COMPUTE_US,
                found.compute_s * 1e6,
                "calibrated on FRED-C",
            )


SECTIONS.add("speedups", speedups, rank=2)
