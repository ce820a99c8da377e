"""Contract of fred_hw.mesh.crossbar, cycle by cycle."""

import random

import pytest

from fred_hw.mesh.crossbar import Crossbar
from tests.fred_hw.simulation import trace

PORTS = 3
OUT = [f"o[{k}].{name}" for k in range(PORTS) for name in ("valid", "data")]


def seen(cycles: list[dict[str, int]]) -> list[tuple[int, ...]]:
    return trace(Crossbar(ports=PORTS, width=8), cycles, OUT)


def test_latency_is_a_cycle_and_throughput_a_flit_per_port_and_cycle() -> None:
    rng, cycles, want = random.Random(1), [], []
    paths = [rng.sample(range(PORTS), PORTS) for _ in range(21)]
    for number in range(20):
        flits = [rng.randrange(256) for _ in range(PORTS)]
        cycle = {
            f"i[{k}].{name}": value
            for k in range(PORTS)
            for name, value in (("valid", 1), ("data", flits[k]))
        }
        cycles.append(cycle | {f"paths[{k}]": 1 << paths[number + 1][k] for k in range(PORTS)})
        want.append(tuple(part for k in range(PORTS) for part in (1, flits[paths[number][k]])))
    # The paths of the first flits are said a cycle before them.
    before = {f"paths[{k}]": 1 << paths[0][k] for k in range(PORTS)}
    assert seen([before, *cycles, {}])[2:] == want


def test_an_output_without_a_path_has_no_flit() -> None:
    found = seen([{"paths[1]": 1}, {"i[0].valid": 1, "i[0].data": 7, "i[2].valid": 1}, {}])
    assert found[2][::2] == (0, 1, 0)
    assert found[2][3] == 7


def test_reset_forgets_the_flits() -> None:
    path, comes = {"paths[1]": 1}, {"i[0].valid": 1}
    assert [one[2] for one in seen([path, comes, {}])] == [0, 0, 1]
    assert [one[2] for one in seen([path, comes | {"rst": 1}, comes, {}])] == [0, 0, 0, 0]


def test_bad_sizes_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^Crossbar ports must be 2 or more, not 1$"):
        Crossbar(ports=1, width=8)
    with pytest.raises(ValueError, match=r"^Crossbar width must be 1 or more, not 0$"):
        Crossbar(ports=2, width=0)
