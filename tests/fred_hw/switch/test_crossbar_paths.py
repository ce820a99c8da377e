"""Contracts of fred_hw.switch.crossbar_paths; test_path_tracer compares tracers with networks."""

from collections.abc import Sequence
from typing import Any

import pytest

from fred_hw.switch.crossbar_paths import CrossbarMatching, CrossbarTracer
from tests.fred_hw.simulation import trace

PORTS = 3
SPACE = {f"space[{j}]": 7 for j in range(PORTS)}
PATHS = [f"destination_of[{k}]" for k in range(PORTS)]


def comes(source: int, destination: int, circuit: int = 0) -> dict[str, int]:
    return {f"coming[{source}][{circuit}]": 1 << destination}


def seen(cycles: Sequence[dict[str, int]], watch: Sequence[str] = PATHS) -> list[Any]:
    return trace(CrossbarMatching(ports=PORTS), [SPACE | one for one in cycles], watch)


def test_tracer_throughput_is_a_word_in_every_cycle_without_latency() -> None:
    # Output 0 takes input 1, output 1 inputs 0 and 1, output 2 nothing.
    words = [0b000_011_010, 0, 0b000_011_010]
    cycles = [{"configuration": word, "sends": 0b111, "marks": 0b001} for word in words]
    cycles[2] |= {"sends": 0b010}
    found = trace(CrossbarTracer(ports=PORTS), cycles, ["gets", "reached"])
    assert found[:2] == [(0b011, 0b010), (0, 0)]
    assert found[2][0] == 0b001  # a reduction with a missing input delivers nothing


def test_matching_latency_is_a_cycle_to_a_path() -> None:
    found = seen([comes(1, 2), {}], ["destination_of[1]", "configuration"])
    assert found == [(0, 0), (0b100, 0b010_000_000)]


def test_matching_throughput_is_all_paths_in_one_cycle() -> None:
    turned = [comes(k, (k + 1) % PORTS) for k in range(PORTS)]
    everybody = turned[0] | turned[1] | turned[2]
    found = seen([everybody, {}], [*PATHS, "configuration"])
    assert found[1] == (2, 4, 1, 0b010_001_100)


def test_matching_reset_ends_all_paths() -> None:
    cycles = [comes(0, 1), {"rst": 1}, {}]
    assert seen(cycles) == [(0, 0, 0), (2, 0, 0), (0, 0, 0)]


@pytest.mark.parametrize("unit", [CrossbarTracer, CrossbarMatching])
@pytest.mark.parametrize("ports", [2, 3, 5])
def test_configuration_has_a_bit_for_each_path(unit: Any, ports: int) -> None:
    assert len(unit(ports=ports).configuration) == ports * ports


@pytest.mark.parametrize("unit", [CrossbarTracer, CrossbarMatching])
def test_wrong_ports_are_refused(unit: Any) -> None:
    with pytest.raises(ValueError, match=f"^{unit.__name__} ports must be 2 or more, not 1$"):
        unit(ports=1)
