"""Tests of perfmodel.topology.ns3."""

from pathlib import Path

import pytest

from fred_hw.errors import InputError
from perfmodel.topology.clos import Clos, clos_file
from perfmodel.topology.ns3 import links_text, read_links
from perfmodel.topology.parse import parse_topology

TEXT = "3 1 2\n2\n0 2 200Gbps 0.005ms 0\n1 2 100Gbps 500ns 0\n"


def _read(folder: Path, text: str) -> object:
    path = folder / "net.txt"
    path.write_text(text)
    return read_links(path)


def test_rates_and_delays_are_read(tmp_path: Path) -> None:
    (tmp_path / "net.txt").write_text(TEXT)
    topology = parse_topology(str(tmp_path / "net.txt"))
    found = [(one.bytes_per_s, one.latency_s) for one in topology.links[:4:2]]
    assert found == [(25e9, pytest.approx(5e-6)), (12.5e9, pytest.approx(5e-7))]
    assert [node.name for node in topology.nodes[:3]] == ["npu_0", "npu_1", "switch_0"]


def test_hosts_and_switches_may_be_mixed(tmp_path: Path) -> None:
    (tmp_path / "net.txt").write_text("3 1 2\n0\n0 1 1Gbps 1us 0\n0 2 1Gbps 1us 0\n")
    topology = parse_topology(str(tmp_path / "net.txt"))
    assert [link for link, _ in topology.hops((0,), (1,))] == [1, 2]


@pytest.mark.parametrize("nvswitches", [0, 6])
def test_what_is_written_is_read_again(nvswitches: int, tmp_path: Path) -> None:
    clos = Clos(
        gpus_per_leaf=8,
        pods=(2,),
        widths=(2,),
        gbps=(200, 400),
        latency_us=(5, 12.5),
        nvswitches=nvswitches,
    )
    text = links_text(clos_file(clos))
    (tmp_path / "net.txt").write_text(text)
    again = read_links(tmp_path / "net.txt")
    assert links_text(again) == text
    assert len(again.links) == 16 + 4 + 16 * nvswitches


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: must have the counts of nodes, switches and links"),
        ("x 1 2\n", "line 1: must be 3 whole numbers, not 'x 1 2'"),
        (
            "3 2 1\n1 2\n",
            "line 1: must have 2 or more hosts and at most 8192 nodes, not 3 nodes, 2 ",
        ),
        (
            TEXT.replace("\n2\n", "\n7\n"),
            "line 2: must name switches from 0 to 2, each once, not 7",
        ),
        (TEXT.replace("3 1 2", "3 1 3"), "line 1: must give the number of links, 2, not 3"),
        (TEXT.replace("1 2 100", "1 9 100"), "line 4: must join nodes from 0 to 2, not '9'"),
        (TEXT.replace("100Gbps", "fast"), "line 4: must have a rate such as 200Gbps, not 'fast'"),
        (TEXT.replace("500ns", "-1ns"), "line 4: must have a delay such as 0.005ms, not '-1ns'"),
        (TEXT.replace("500ns 0", "500ns 0.1"), "line 4: must have the error rate 0, not '0.1'"),
        (TEXT.replace("500ns 0", "500ns"), "line 4: must have two nodes, a rate, a delay and an "),
    ],
)
def test_bad_lines_are_refused(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        _read(tmp_path, text)
    assert str(caught.value).startswith(f"{tmp_path / 'net.txt'}: {message}")


def test_too_many_hosts_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError) as refused:
        _read(tmp_path, "5001 1 1\n5000\n0 5000 1Gbps 1us 0\n")
    assert str(refused.value) == (
        f"{tmp_path / 'net.txt'}: npus: must be an integer from 2 to 4096, not 5000"
    )
