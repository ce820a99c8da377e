"""Tests of perfmodel.wafers."""

import re
from collections.abc import Callable

import pytest

from fred_hw.errors import InputError
from perfmodel.switch_timing.record import load_record
from perfmodel.topology.parse import FABRICS, shared_topology
from perfmodel.wafers import JOINS, run_wafers
from tests.perfmodel.collectives.test_streaming import WITHOUT_IO

GIB = 2.0**30


@pytest.mark.parametrize("join", JOINS)
@pytest.mark.parametrize("topology", FABRICS)
def test_one_wafer_stands_for_all(topology: str, join: str) -> None:
    wafer = shared_topology(topology, "ideal")
    one, two, three = (run_wafers(wafer, 3, GIB / 8, join, shown=n).time_s for n in (1, 2, 3))
    assert two == pytest.approx(one, rel=1e-9)
    assert three == pytest.approx(one, rel=1e-9)


def test_no_more_wafers_are_simulated_than_there_are() -> None:
    wafer = shared_topology("fred-d", "ideal")
    assert run_wafers(wafer, 2, GIB, shown=5) == run_wafers(wafer, 2, GIB, shown=2)


@pytest.mark.parametrize("topology", FABRICS)
def test_one_wafer_goes_through_its_controllers_and_back(topology: str) -> None:
    result = run_wafers(shared_topology(topology, "ideal"), 1, GIB)
    assert result.time_s == pytest.approx(result.inside_s)
    assert result.between_s == 0.0


def test_whole_takes_longer_than_each_step_and_less_than_both() -> None:
    result = run_wafers(shared_topology("fred-d", "ideal"), 16, GIB, "switch")
    assert max(result.inside_s, result.between_s) < result.time_s
    assert result.time_s < result.inside_s + result.between_s


def test_ring_between_wafers_takes_its_closed_form() -> None:
    result = run_wafers(shared_topology("fred-d", "ideal"), 8, GIB, "switch")
    moved_s = 2 * 7 / 8 * GIB / 18 / 128e9
    assert result.between_s == pytest.approx(moved_s + 2 * 7 * 2 * 500e-9, rel=1e-6)


@pytest.mark.parametrize("count", [2, 64, 1024])
def test_reducing_between_wafers_is_faster_than_a_ring(count: int) -> None:
    wafer = shared_topology("fred-d", "ideal")
    fred, switch = (run_wafers(wafer, count, GIB, join).time_s for join in ("fred", "switch"))
    assert fred < switch
    assert fred < 1.05 * run_wafers(wafer, 1, GIB).time_s


@pytest.mark.slow_after_first
@pytest.mark.parametrize("size_bytes", [1.0, 1e3, 1e6, GIB])
@pytest.mark.parametrize("count", [1, 2, 3, 11, 1024])
@pytest.mark.parametrize("topology", FABRICS)
def test_reducing_in_the_network_is_never_slower_than_the_ring(
    topology: str, count: int, size_bytes: float
) -> None:
    wafer = shared_topology(topology, "ideal")
    fred, ring = (run_wafers(wafer, count, size_bytes, join) for join in ("fred", "switch"))
    assert fred.between_s <= ring.between_s * (1 + 1e-12)
    assert fred.time_s <= ring.time_s * (1 + 1e-12)


@pytest.mark.parametrize("join", JOINS)
def test_joining_wafers_and_more_data_are_never_faster(join: str) -> None:
    wafer = shared_topology("fred-d", "ideal")
    by_count = [run_wafers(wafer, count, GIB, join).time_s for count in (1, 2, 10, 11, 100, 1024)]
    by_size = [run_wafers(wafer, 4, size, join).time_s for size in (1e3, 1e6, 1e9, 1e10)]
    assert by_count == sorted(by_count)
    assert by_size == sorted(by_size)


@pytest.mark.parametrize("count", [2, 10, 11, 1000])
def test_reduction_between_wafers_takes_its_closed_form(count: int) -> None:
    # Each controller's share goes up and down once; links and switches of each level add latency.
    result = run_wafers(shared_topology("fred-d", "ideal"), count, GIB, "fred")
    levels = 1 + (count > 10) + (count > 100)
    record = load_record("l2-10", protocol="ideal")
    latency_s = 2 * levels * 500e-9 + (2 * levels - 1) * record.latency_s
    assert result.between_s == pytest.approx(GIB / 18 / 128e9 + latency_s, rel=1e-6)


@pytest.mark.parametrize(
    ("topology", "join", "share"),
    [
        ("mesh:5x4", "switch", 0.6),
        ("fred-d", "switch", 0.5),
        ("mesh:5x4", "fred", 0.25),
        ("fred-d", "fred", 0.25),
    ],
)
def test_links_between_wafers_pay_the_measured_protocol_too(
    give_whole_switches: Callable[..., None], topology: str, join: str, share: float
) -> None:
    # Controllers of FRED hang on both kinds of L1, the slower of which is waited for.
    give_whole_switches(
        {"l1-11": 0.5, "l1-12": 0.6, "l2-10": 0.25}, {"l1-11": 60, "l1-12": 40, "l2-10": 100}
    )
    result = run_wafers(shared_topology(topology), 8, GIB, join)
    moved = 2 * 7 / 8 if join == "switch" else 1
    latency_s = 2 * 7 * 2 * 500e-9 if join == "switch" else 2 * 500e-9 + 100 / 1171875000
    expected = moved * GIB / 18 / (128e9 * share) + latency_s
    assert result.between_s == pytest.approx(expected, rel=1e-6)


def test_result_counts_all_npus_and_states_the_endpoint_equivalent() -> None:
    result = run_wafers(shared_topology("fred-d", "ideal"), 3, GIB)
    assert (result.wafers, result.npus, result.join) == (3, 60, "fred")
    expected = 2 * 59 / 60 * GIB / result.time_s
    assert result.bus_bandwidth_bytes_per_s == pytest.approx(expected)
    assert [use.record for use in result.provenance.records].count("l2-10") >= 1


def test_levels_grow_with_the_wafers() -> None:
    wafer = shared_topology("fred-d", "ideal")
    texts = [
        " ".join(run_wafers(wafer, count, GIB).provenance.assumptions)
        for count in (10, 11, 100, 1000, 1024)
    ]
    found = [re.search(r"by (\d) level", text) for text in texts]
    assert [match[1] for match in found if match] == ["1", "2", "2", "3", "4"]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"wafers": 0}, "wafers: must be 1 to 1024, not 0"),
        ({"wafers": 1025}, "wafers: must be 1 to 1024, not 1025"),
        ({"join": "rope"}, "join: must be one of switch, fred, not 'rope'"),
        ({"wafers": True}, "wafers: must be an integer, not True"),
        ({"wafers": 2.5}, "wafers: must be an integer, not 2.5"),
        ({"shown": 0}, "shown: must be 1 or more, not 0"),
        ({"shown": 1.5}, "shown: must be an integer, not 1.5"),
        (
            {"link_latency_s": -1.0},
            "link_latency_s: must be 0 or more seconds and finite, not -1.0",
        ),
        (
            {"link_latency_s": float("inf")},
            "link_latency_s: must be 0 or more seconds and finite, not inf",
        ),
        ({"size_bytes": 0}, "size: must be above 0 bytes, not 0"),
        ({"size_bytes": -1.0}, "size: must be above 0 bytes, not -1.0"),
        ({"size_bytes": float("inf")}, "size: must be above 0 bytes, not inf"),
        ({"size_bytes": float("nan")}, "size: must be above 0 bytes, not nan"),
    ],
)
def test_bad_argument_is_refused(more: dict[str, object], message: str) -> None:
    arguments = {"wafers": 2, "size_bytes": GIB} | more
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        run_wafers(shared_topology("fred-d", "ideal"), **arguments)  # type: ignore[arg-type]


def test_wafer_without_io_controllers_is_refused() -> None:
    with pytest.raises(InputError, match=r"^topology: must have I/O .*, as small has none$"):
        run_wafers(WITHOUT_IO.build("small"), 2, GIB)
