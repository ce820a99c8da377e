"""Tests of perfmodel.network.roce.arrays: paths that are added later."""

from typing import Any

import pytest

from fred_hw.errors import InputError
from perfmodel.network.roce.arrays import arrays_of, with_paths
from perfmodel.network.roce.parameters import RoceFile
from perfmodel.network.roce.state import State
from perfmodel.topology.clos import Clos, clos_file
from perfmodel.topology.links import LinksTopology

_CLOS = Clos(gpus_per_leaf=4, pods=(2, 2), widths=(2, 2), gbps=(200, 100, 50), latency_us=(1, 2, 3))


def _paths(topology: LinksTopology) -> list[tuple[int, ...]]:
    """Return paths of 0, 2, 4 and 6 links, not in the order of their lengths."""
    ends = [(0, 1), (3, 0), (0, 9), (5, 1), (2, 15), (4, 6)]
    found = [tuple(link for link, _ in topology.hops((a,), (b,))) for a, b in ends]
    return [found[0], (), *found[1:]]


def _in_steps(parameters: RoceFile, steps: tuple[int, ...]) -> State:
    """Return the arrays after further paths, so many in each step."""
    topology = clos_file(_CLOS).build("clos")
    paths, s, used = _paths(topology), arrays_of(topology, parameters), 0
    for size in steps:
        s = with_paths(s, used, topology, paths[used : used + size], parameters)
        used += size
    assert used == len(paths)
    return s


def _path(s: State, number: int) -> tuple[Any, ...]:
    one = s.paths[number]
    links = s.path_links[one.first : one.first + one.hops].tolist()
    return links, *(one[name] for name in ("hops", "train", "rtt", "back", "window", "rate"))


@pytest.mark.parametrize("global_window", [False, True])
@pytest.mark.parametrize("steps", [(1,) * 7, (3, 0, 4), (0, 7)])
def test_paths_added_in_steps_are_those_added_at_once(
    steps: tuple[int, ...], global_window: bool
) -> None:
    parameters = RoceFile(global_window=global_window, train_packets=16)
    whole, parts = _in_steps(parameters, (7,)), _in_steps(parameters, steps)
    assert [_path(parts, i) for i in range(7)] == [_path(whole, i) for i in range(7)]
    assert parts.setting[0].longest_rtt == whole.setting[0].longest_rtt
    assert parts.telemetry.shape == whole.telemetry.shape == (256, 6, 3)
    assert parts.last_telemetry.shape == whole.last_telemetry.shape
    windows = {whole.paths[i].window for i in range(7)}
    assert len(windows) == 1 if global_window else len(windows) > 3


def test_a_buffer_is_checked_on_further_paths() -> None:
    topology = clos_file(_CLOS).build("clos")
    parameters = RoceFile(buffer_mib=0.1)
    s = with_paths(arrays_of(topology, parameters), 0, topology, [()], parameters)
    with pytest.raises(InputError, match=r"buffer_mib.*must be at least .* for headroom"):
        with_paths(s, 1, topology, _paths(topology)[:1], parameters)


def test_a_lowest_rate_above_that_of_a_link_is_refused() -> None:
    topology = clos_file(_CLOS).build("clos")
    in_leaf, across = _paths(topology)[0], _paths(topology)[3]
    for path, most in ((in_leaf, 200), (across, 50)):
        for scheme, gbps in (("hpcc", most), ("pfc", most + 1), ("hpcc", most + 1)):
            given = RoceFile(congestion_control=scheme, min_rate_gbps=gbps)
            empty = arrays_of(topology, given)
            if (scheme, gbps) == ("hpcc", most + 1):
                message = f"slowest link of a path, {most}, not {most + 1}$"
                with pytest.raises(InputError, match=r"^min_rate_gbps: must be at .*" + message):
                    with_paths(empty, 0, topology, [path], given)
            else:
                assert with_paths(empty, 0, topology, [path], given).paths[0].hops == len(path)
