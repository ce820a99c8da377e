"""Contract of fred_hw.switch.online_router, cycle by cycle."""

from fred_hw.switch.online_router import OnlineRouter
from tests.fred_hw.simulation import trace

ON = {"online": 1, "may": 1, "room": 0b1111}


def waits(**peers: int) -> dict[str, int]:
    """Return sources that wait, as ``s1=3`` for source 1 to destination 3."""
    pairs = {int(name[1:]): peer for name, peer in peers.items()}
    bits = sum(1 << source for source in pairs)
    return ON | {"waits": bits} | {f"peers[{source}]": peer for source, peer in pairs.items()}


def seen(cycles: list[dict[str, int]], watch: list[str], middle: int = 3) -> list:
    return trace(OnlineRouter(ports=4, middle=middle), cycles, watch)


def test_latency_is_one_cycle_to_a_path() -> None:
    found = seen([waits(s1=3)] * 2, ["connected", "destination_of[1]", "configuration"])
    assert found[0] == (0, 0, 0)
    assert found[1][:2] == (0b0010, 3) and found[1][2]


def test_throughput_is_one_path_per_cycle_round_robin() -> None:
    everybody = waits(s0=1, s1=2, s2=3, s3=0)
    cycles = [everybody | {"here": here} for here in (0, 1, 3, 7, 15)]
    assert seen(cycles, ["connected"]) == [0, 1, 3, 7, 15]


def test_another_path_ends_first_which_takes_a_cycle() -> None:
    # The path to 3 that nobody uses ends, then the other source gets it.
    cycles = [waits(s1=3), ON, *[waits(s2=3)] * 3]
    assert seen(cycles, ["connected"]) == [0, 0b0010, 0b0010, 0, 0b0100]


def test_no_path_without_room_leave_or_the_default_index() -> None:
    for name, value in (("room", 0b0111), ("may", 0), ("online", 0)):
        assert seen([waits(s1=3) | {name: value}] * 3, ["connected"]) == [0, 0, 0]


def test_a_source_that_had_its_turn_waits_for_others() -> None:
    both = waits(s0=2, s1=2)
    busy = {"here": 1, "busy": 1}
    cycles = [both, both | busy, both | {"busy": 1, "ending": 1}, both]
    cycles += [both | {"here": 2}] * 2
    assert seen(cycles, ["connected"]) == [0, 1, 1, 0, 2, 2]


def test_reset_ends_all_paths() -> None:
    cycles = [waits(s1=3), {"rst": 1}, ON]
    assert seen(cycles, ["connected"]) == [0, 2, 0]
