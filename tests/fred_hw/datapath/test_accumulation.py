"""Networks whose lanes are wider inside: timing, what passes unchanged, what is rounded once."""

import random
from typing import Any

import numpy as np
import pytest

from fred_hw.compiler.flows import Flow
from fred_hw.compiler.routing import route
from fred_hw.datapath.accumulation import Accumulating, Conversion, conversion_cycles
from fred_hw.datapath.benes import Benes
from fred_hw.datapath.interconnect import Interconnect, latency_cycles
from fred_hw.datapath.network import network, network_latency_cycles
from fred_hw.datapath.reduction_crossbar import ReductionCrossbar
from fred_hw.formats.bf16 import BF16
from fred_hw.formats.fp8_e4m3 import FP8_E4M3
from fred_hw.formats.fp16 import FP16
from fred_hw.formats.fp32 import FP32
from fred_hw.spec import SwitchSpec
from tests.fred_hw.datapath.flits import check_latency, check_reset, check_throughput
from tests.fred_hw.simulation import trace

SPEC = SwitchSpec(ports=4, format="fp16", accumulation="fp32", lanes=2)


def word(flows: list[Flow], spec: SwitchSpec = SPEC) -> int:
    configuration = route(flows, spec.ports, spec.middle_switches).configuration
    assert configuration is not None
    return configuration.pack()


def accumulating() -> Any:
    return Accumulating(narrow=FP16, network=Interconnect(spec=SPEC.inside))


def test_latency_is_that_of_the_network_and_both_conversions() -> None:
    latency = latency_cycles(SPEC.inside) + 3
    assert conversion_cycles(SPEC) == 3
    assert conversion_cycles(SPEC.with_changes(format="bf16")) == 1
    assert conversion_cycles(SPEC.inside) == 0
    check_latency(accumulating(), word([Flow([1], [2])]), "i[1]", "o[2]", latency)


def test_throughput_is_a_flit_per_cycle() -> None:
    check_throughput(
        accumulating(), word([Flow([1], [2])]), "i[1]", "o[2]", network_latency_cycles(SPEC)
    )


def test_reset_loses_the_flits_inside() -> None:
    check_reset(
        accumulating(), word([Flow([1], [2])]), "i[1]", "o[2]", network_latency_cycles(SPEC)
    )


@pytest.mark.parametrize(
    ("given", "wanted", "cycles"),
    [(FP16, FP32, 1), (FP32, FP16, 2), (BF16, FP32, 0), (FP32, BF16, 1)],
    ids=lambda one: getattr(one, "name", ""),
)
def test_conversion_has_the_latency_of_its_lanes(given: Any, wanted: Any, cycles: int) -> None:
    unit = Conversion(given=given, wanted=wanted, lanes=2)
    assert unit.latency == cycles
    flit = {"i.valid": 1, "i.data": 0}
    seen = trace(unit, [flit, *[{}] * (cycles + 1)], ["o.valid"])
    assert seen == [0] * cycles + [1, 0]


@pytest.mark.parametrize("kind", [Interconnect, ReductionCrossbar, Benes])
def test_flits_that_are_not_reduced_come_out_unchanged(kind: Any) -> None:
    spec = SPEC.with_changes(ports=2)
    unit: Any = network(spec, kind)
    rng = random.Random(3)
    flits = [rng.getrandbits(32) for _ in range(300)]
    # Output 1 takes input 0: of the RD micro-switch code 1, of the crossbar the lower bit.
    crossed = 0b0100
    steps = [{"configuration": crossed, "i[0].valid": 1, "i[0].data": flit} for flit in flits]
    seen = trace(unit, [*steps, *[{}] * unit.latency], ["o[1].data"])[unit.latency :]
    assert seen == flits


def test_sums_are_rounded_once_for_each_result() -> None:
    half, spec = np.float16, SPEC.with_changes(lanes=1)
    numbers = np.array([2048, 1, 1, 0.5], half)  # 2048 + 1 is 2048 in fp16
    unit: Any = network(spec)
    flow = word([Flow(range(4), range(4))], spec)
    flits = {f"i[{k}].data": int(one) for k, one in enumerate(numbers.view(np.uint16))}
    flits |= {f"i[{k}].valid": 1 for k in range(4)}
    ports = [f"o[{k}].data" for k in range(4)]
    seen = trace(unit, [flits | {"configuration": flow}, *[{}] * unit.latency], ports)[-1]
    assert seen == (int(half(2050.5).view(np.uint16)),) * 4
    assert (numbers[0] + numbers[1]) + (numbers[2] + numbers[3]) == 2050


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (Interconnect, "fred_m3_p4_fp16x2_in_fp32"),
        (ReductionCrossbar, "reduction_crossbar_p4_fp16x2_in_fp32"),
        (Benes, "benes_p4_fp16x2_in_fp32"),
    ],
)
def test_names_say_the_format_of_the_sums(kind: Any, name: str) -> None:
    assert network(SPEC, kind).unit_name == name
    assert network(SPEC.inside, kind).unit_name == name.replace("fp16x2_in_fp32", "fp32x2")


def test_formats_that_do_not_go_together_are_refused() -> None:
    wide = Interconnect(spec=SPEC.with_changes(format="bf16", accumulation=None))
    with pytest.raises(ValueError, match=r"accumulation: must be one of fp32, tf32 with format"):
        Accumulating(narrow=FP16, network=wide)
    with pytest.raises(ValueError, match=r"^Conversion wanted must contain fp16 or be in it, not"):
        Conversion(given=FP16, wanted=BF16, lanes=1)
    assert Conversion(given=FP8_E4M3, wanted=FP16, lanes=1).unit_name == "fp8_e4m3_to_fp16x1"
