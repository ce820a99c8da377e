"""Speed-ups of iterations over the mesh, and qualitative claims about iterations.

Of messages between pipeline stages the text has two readings. Section 8.1 gives them the rate of
an NPU on every variant, and 8.2 has them about four times better than on the mesh on FRED-C and D,
so switches of FRED-A and C fork multicasts: this reading is chosen. By the other one, switches of
FRED-A and C only route, and NPUs hand activations on; compute is calibrated again for it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from perfmodel.constants import NUMBER_BYTES
from perfmodel.derived import RESNET_COMPUTE_US, RESNET_DP_MB, RESNET_DP_US
from perfmodel.network.run import run_collective
from perfmodel.published import GPT_3_GAIN, INPUT_LOAD, ORDER, SPEEDUP_C, SPEEDUP_D
from perfmodel.topology.fred_file import FredFile
from perfmodel.topology.graph import Topology
from perfmodel.topology.parse import BASELINE, FABRICS, said_of, shared_topology
from perfmodel.training.compute_model import compute_model
from perfmodel.training.compute_models.calibrated import FABRIC, Runs
from perfmodel.training.estimate import Estimate, estimate
from perfmodel.training.parts import Exposed
from perfmodel.training.request import Request
from perfmodel.workloads.workload import PUBLISHED, load_workload
from studies.identify import described, identify
from studies.section import SECTIONS, ReproduceRow, Section, Setting, number, spread, word

__all__ = ["speedups"]

_HIDDEN_S = 1e-9


def speedups(setting: Setting) -> Iterator[ReproduceRow]:
    """Yield speed-ups of iterations over the mesh, and qualitative claims about iterations."""
    model = compute_model(setting.compute)
    for name in PUBLISHED:
        how = described(setting.compute, name, setting.protocol)
        found = {
            fabric: estimate(
                Request.of(
                    shared_topology(fabric, setting.protocol),
                    load_workload(name),
                    compute=setting.compute,
                    algorithm=setting.algorithm,
                )
            )
            for fabric in FABRICS
        }
        ratio = {
            fabric: found[BASELINE].iteration_time_s / one.iteration_time_s
            for fabric, one in found.items()
        }
        yield number(
            f"speedup/{name}/fred-c",
            f"speed-up of {name} on FRED-C",
            SPEEDUP_C[name],
            ratio[FABRIC],
            f"{how}, solved from this figure" if model.fitted else how,
            "calibrated" if FABRIC in model.chosen_by else "predicted",
        )
        reads = name == "gpt-3" and model.fitted and setting.algorithm == Setting().algorithm
        routed = _routed(name, setting) if reads else None
        yield _fred_d(name, ratio["fred-d"], setting, how, routed)
        yield word(
            f"speedup/{name}/order",
            f"speed-ups of {name} on FRED-A and B lie between 1 and that on FRED-C",
            ORDER,
            _order(ratio),
            f"{how}: A {ratio['fred-a']:.3f}, B {ratio['fred-b']:.3f}, C {ratio[FABRIC]:.3f}",
            reading=_FORKED if routed else "",
            readings={_ROUTED: _order(routed.speedups)} if routed else {},
        )
        yield _input_load(name, found, how)
        if name == "gpt-3":
            yield from _gains(found, routed, how)
        if name == "resnet-152":
            yield from _resnet(setting, found)


_FORKED, _ROUTED = "FRED-A and C fork PP multicasts", "only FRED-B and D fork multicasts"


@dataclass(frozen=True)
class _Routed:
    """Iterations in which the switches of FRED-A and FRED-C only route.

    Parameters
    ----------
    speedups : mapping
        Over the mesh, by fabric.
    exposed_s : mapping
        What is exposed, by fabric.
    """

    speedups: Mapping[str, float]
    exposed_s: Mapping[str, Exposed]


def _routed(name: str, setting: Setting) -> _Routed:
    others: dict[str, Topology] = {}
    for fabric in ("fred-a", "fred-c"):
        said = {**(said_of(fabric) or {}), "multicast": False, "protocol": setting.protocol}
        others[fabric] = FredFile.model_validate(said).build(fabric)
    runs = Runs(name, setting.protocol, others)
    scale = runs.solved_scale()
    return _Routed(
        {fabric: runs.speedup(scale, fabric) for fabric in FABRICS},
        {fabric: runs.iteration(fabric, scale).exposed_s for fabric in FABRICS},
    )


def _order(speedups: Mapping[str, float]) -> str:
    between = all(1 < speedups[one] < speedups[FABRIC] for one in ("fred-a", "fred-b"))
    return "yes" if between else "no"


def _fred_d(
    name: str, ratio: float, setting: Setting, how: str, routed: _Routed | None
) -> ReproduceRow:
    """Return the speed-up of FRED-D, and its interval if compute is solved from FRED-C."""
    model = compute_model(setting.compute)
    row, what = f"speedup/{name}/fred-d", f"speed-up of {name} on FRED-D"
    figure = SPEEDUP_D[name]
    if not model.fitted:
        chosen = "fred-d" in model.chosen_by
        return number(row, what, figure, ratio, how, "calibrated" if chosen else "predicted")
    found = identify(name, setting.protocol)
    if not found.identified:
        return spread(row, what, figure, found.speedup_d, how)
    low, high = found.speedup_d
    others = {
        f"least compute that gives {found.published} on FRED-C": high,
        f"most compute that gives {found.published} on FRED-C": low,
    }
    if routed:
        others[_ROUTED] = routed.speedups["fred-d"]
    reading = f"compute that gives {SPEEDUP_C[name].value:.3f} on FRED-C"
    return number(row, what, figure, ratio, how, reading=reading, readings=others)


def _input_load(name: str, found: dict[str, Estimate], how: str) -> ReproduceRow:
    """Return whether loading the input of the next iteration is exposed on any fabric."""
    longest = max(one.exposed_s.input_load for one in found.values())
    return word(
        f"input-load/{name}",
        f"loading the input of {name}, on all fabrics",
        INPUT_LOAD[name],
        "exposed" if longest > _HIDDEN_S else "hidden",
        f"{how}: at most {longest * 1e3:.3g} ms",
    )


def _gains(found: dict[str, Estimate], routed: _Routed | None, how: str) -> Iterator[ReproduceRow]:
    """Yield the reduction of exposed MP and PP of GPT-3 relative to the mesh."""
    exposed_s = {fabric: one.exposed_s for fabric, one in found.items()}
    for kind in ("mp", "pp"):
        for fabric in (FABRIC, "fred-d"):
            yield number(
                f"gain/gpt-3/{kind}/{fabric}",
                f"exposed {kind.upper()} of GPT-3, mesh over {fabric}",
                GPT_3_GAIN,
                _gain(exposed_s, kind, fabric),
                how,
                "link-rate",
                reading=_FORKED if routed else "",
                readings={_ROUTED: _gain(routed.exposed_s, kind, fabric)} if routed else {},
            )


def _gain(exposed_s: Mapping[str, Exposed], kind: str, fabric: str) -> float:
    there = getattr(exposed_s[fabric], kind)
    return getattr(exposed_s[BASELINE], kind) / there if there else float("inf")


def _resnet(setting: Setting, found: dict[str, Estimate]) -> Iterator[ReproduceRow]:
    """Yield the figures that the published speed-ups of ResNet-152 imply."""
    for fabric, figure in RESNET_DP_US.items():
        yield number(
            f"time/resnet-152/dp/{fabric}",
            f"gradient all-reduce of ResNet-152 on {fabric} [µs]",
            figure,
            found[fabric].communication_s["dp"] * 1e6,
            "simulated",
        )
    size = NUMBER_BYTES * load_workload("resnet-152").network.parameters
    fabric = shared_topology(FABRIC, setting.protocol)
    yield number(
        "traffic/resnet-152/dp",
        "endpoint traffic of the gradients of ResNet-152 per NPU [MB]",
        RESNET_DP_MB,
        run_collective(fabric, "all_reduce", size, algorithm=setting.algorithm).bytes_per_npu / 1e6,
        "simulated",
    )
    yield number(
        "time/resnet-152/compute",
        "compute of ResNet-152 that the published speed-up of FRED-C implies [µs]",
        RESNET_COMPUTE_US,
        found[FABRIC].busy_s * 1e6,
        f"compute {setting.compute}",
    )


_SUBJECTS = {
    "speedup": "Speed-ups of whole iterations",
    **dict.fromkeys(("input-load", "time", "gain"), "What iterations are made of"),
}
SECTIONS.add("speedups", Section(speedups, _SUBJECTS), rank=2)
