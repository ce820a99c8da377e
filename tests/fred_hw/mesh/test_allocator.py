"""Contract of fred_hw.mesh.allocator; the rules that it shares are those of OnlineRouter."""

from collections.abc import Sequence
from typing import Any

import pytest

from fred_hw.mesh.allocator import Allocator
from fred_hw.switch.online_router import OnlineRouter
from fred_hw.virtual_channels import VirtualChannels
from tests.fred_hw.simulation import trace
from tests.fred_hw.switch.test_online_router import DP, MP, comes

PORTS = 5
SPACE = {f"space[{j}]": 7 for j in range(PORTS)}
PATHS = [f"destination_of[{k}]" for k in range(PORTS)]


def seen(cycles: Sequence[dict[str, int]], unit: Any = None) -> list[Any]:
    return trace(unit or Allocator(ports=PORTS), [SPACE | one for one in cycles], PATHS)


def test_latency_is_a_cycle_and_throughput_all_paths_in_one() -> None:
    every = comes(0, 1) | comes(1, 2, MP) | comes(2, 3, DP) | comes(3, 4) | comes(4, 0)
    assert seen([every, {}]) == [(0,) * PORTS, (2, 4, 8, 16, 1)]


def test_inputs_take_turns_at_an_output() -> None:
    four = comes(0, 4) | comes(1, 4) | comes(2, 4) | comes(3, 4)
    cycles, found = [four], []
    for _ in range(8):
        paths = seen([*cycles, four])[-1]
        found.append(paths.index(16))
        cycles.append(four | {"starts": 1 << found[-1]})
    # A path is given a cycle before its packet starts, so each has two turns in a row at first.
    assert sorted(found) == [0, 0, 1, 1, 2, 2, 3, 3]


def test_it_does_what_the_switch_does_with_unicasts() -> None:
    cycles = [
        comes(0, 3) | comes(1, 3, MP),
        comes(0, 3) | {"starts": 2, "holds": 2},
        comes(0, 3) | comes(2, 1, DP) | {"holds": 2, "closing": 2},
        comes(0, 3) | {"starts": 4},
        {},
    ]
    assert seen(cycles) == seen(cycles, OnlineRouter(ports=PORTS, middle_switches=3))


def test_reset_ends_all_paths() -> None:
    assert seen([comes(1, 3), {}, {"rst": 1}, {}])[1:] == [(0, 8, 0, 0, 0)] * 2 + [(0,) * PORTS]


def test_one_port_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^Allocator ports must be 2 or more, not 1$"):
        Allocator(ports=1)


def test_a_packet_waits_for_space_of_the_channel_by_which_it_goes_on() -> None:
    """Input 0 has a packet for output 3 in buffer 0 of its class, which goes on by channel 1."""
    packet = {"coming[0][2]": 8, "onto[0][0]": 8}
    watch = ["destination_of[0]", "circuit_of[0]", "circuit_to[3]"]
    for space, want in ((0b000100, (0, 0, 0)), (0b001000, (8, 2, 3))):
        cycles = [packet | {"space[3]": space}] * 2
        assert (
            trace(Allocator(ports=PORTS, channels=VirtualChannels(each=2)), cycles, watch)[-1]
            == want
        )
