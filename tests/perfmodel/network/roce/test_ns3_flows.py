"""Tests of perfmodel.network.roce.ns3_flows."""

from pathlib import Path

import pytest

from fred_hw.errors import InputError
from perfmodel.collectives.select import build_schedule
from perfmodel.network.roce.ns3_flows import Flow, flows_text, read_flows
from perfmodel.network.roce.parameters import RoceFile
from perfmodel.network.roce.simulate import simulate, simulate_flows
from perfmodel.network.roce.workload import workload_of
from perfmodel.topology.clos import Clos, clos_file

TEXT = "2\n1 4 3 100 200000000 2\n\n4 2 3 101 1000 0.5\n"


def _read(folder: Path, text: str) -> list[Flow]:
    path = folder / "flows.txt"
    path.write_text(text)
    return read_flows(path, (1, 2, 4))


def test_hosts_become_npus(tmp_path: Path) -> None:
    assert _read(tmp_path, TEXT) == [Flow(0, 2, 200_000_000, 2.0), Flow(2, 1, 1000, 0.5)]


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    flows = [Flow(0, 1, 7, 0.0), Flow(2, 0, 10**12, 1.25e-7), Flow(1, 2, 5, 3e-6)]
    (tmp_path / "flows.txt").write_text(flows_text(flows))
    assert read_flows(tmp_path / "flows.txt", range(3)) == flows


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: must have the count of flows alone"),
        ("1 2\n", "line 1: must have the count of flows alone"),
        ("0\n", "line 1: must be 1 to 1048576 flows, not 0"),
        ("2\n1 2 3 100 5 0\n", "line 1: must have as many flows as follow, 1, not 2"),
        (
            "1\n1 2 3 100 5\n",
            "line 2: must have source, destination, priority, port, bytes and begin, not 5 words",
        ),
        ("1\n1 2 x 100 5 0\n", "line 2: must have whole numbers, not 'x'"),
        ("1\n1 3 3 100 5 0\n", "line 2: must join hosts of the topology, from 1 to 4, not 3"),
        ("1\n2 2 3 100 5 0\n", "line 2: must join two hosts, not 2 with itself"),
        ("1\n1 2 3 100 0 0\n", "line 2: must have 1 to 1,000,000,000,000 bytes, not 0"),
        ("1\n1 2 3 100 5 -1\n", "line 2: must begin at 0 to 1e+06 s, not '-1'"),
        ("1\n1 2 3 100 5 nan\n", "line 2: must begin at 0 to 1e+06 s, not 'nan'"),
        ("1\n1 2 3 100 5 soon\n", "line 2: must begin at 0 to 1e+06 s, not 'soon'"),
    ],
)
def test_bad_lines_are_refused(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        _read(tmp_path, text)
    assert str(caught.value) == f"{tmp_path / 'flows.txt'}: {message}"


def test_flows_begin_when_they_say_and_share_links() -> None:
    topology = clos_file(Clos(gpus_per_leaf=3, latency_us=(0.5,))).build("switch")
    options = RoceFile(train_packets=1)
    flows = [Flow(2, 0, 50_000, 1e-3), Flow(1, 0, 50_000, 0.0), Flow(1, 0, 50_000, 1e-3)]
    found = simulate_flows(topology, flows, options)
    alone_ns = 51 * 1048 / 25 + 1000
    assert found.begin_s.tolist() == [0.0, 1e-3, 1e-3]
    assert found.end_s[0] == pytest.approx(1e-9 * alone_ns)
    assert found.end_s.max() == pytest.approx(1e-3 + 1e-9 * (101 * 1048 / 25 + 1000))


def test_a_collective_that_is_replayed_as_flows_takes_as_long() -> None:
    clos = Clos(gpus_per_leaf=2, pods=(2,), widths=(1,), gbps=(200, 200), latency_us=(1, 1))
    topology, options = clos_file(clos).build("clos"), RoceFile()
    schedule = build_schedule(topology, "all_to_all", [range(4)], 1.0, "direct", lockstep=True)
    want = simulate(topology, workload_of(schedule, 1e6), options)
    found = simulate_flows(topology, want.flows(), options)
    assert found.time_s == pytest.approx(want.time_s)
    assert len(found.end_s) == 12
