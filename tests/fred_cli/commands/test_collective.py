"""Tests of `fred collective`."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from perfmodel.derived import ALL_REDUCE_BANDWIDTH
from tests.fred_cli.fred import Fred


@pytest.mark.parametrize("topology", ALL_REDUCE_BANDWIDTH)
def test_all_reduce_runs_at_the_published_bandwidth(fred: Fred, topology: str) -> None:
    published = ALL_REDUCE_BANDWIDTH[topology].value
    said = fred.json("collective", "--topology", topology, "--size", "1GiB", "--protocol", "ideal")
    assert said["npu_bandwidth"] == pytest.approx(published, rel=0.05)
    assert said["time_s"] == pytest.approx(2 * 19 / 20 * 2**30 / said["npu_bandwidth"])
    assert said["bytes_per_npu"] > 0
    assert set(said["bottleneck"]) == {"link", "carried_bytes", "utilisation"}
    assert 0 < said["bottleneck"]["utilisation"] <= 1


def test_collective_takes_group_pattern_and_chunks(fred: Fred) -> None:
    arguments = ("--group", "0,1,4-7", "--pattern", "broadcast", "--chunks", "3", "--size", "1MB")
    said = fred.json("collective", "--topology", "fred-c", *arguments)
    assert said["groups"] == [[0, 1, 4, 5, 6, 7]]
    assert (said["pattern"], said["chunks"], said["size_bytes"]) == ("broadcast", 3, 1e6)


def test_collective_says_the_same_to_a_reader(fred: Fred) -> None:
    arguments = ("collective", "--topology", "fred-d", "--size", "64MB")
    said = fred.json(*arguments)
    out = fred.out(*arguments)
    assert out.startswith("all_reduce of 64MB on fred-d")
    assert f"{said['time_s'] * 1e6:,.2f} us" in out
    assert f"{said['npu_bandwidth'] / 1e12:.3f} TB/s" in out
    assert "record l1-12" in out and "assumed: " in out


def test_collective_checks_and_draws_its_schedule(fred: Fred, place: Path) -> None:
    arguments = ("--group", "0-5", "--algorithm", "halving_doubling", "--draw", "drawn.svg")
    said = fred.json("collective", "--topology", "fred-c", *arguments, "--check")
    assert said["checked"] is True and said["algorithm"] == "halving-doubling"
    root = ElementTree.parse(place / "drawn.svg").getroot()
    arrows = [one for one in root.iter() if one.get("marker-end")]
    # Two lend to the core of four and get back; the core halves and doubles in two steps each.
    assert len(arrows) == 2 + 4 * 2 + 4 * 2 + 2


def test_a_crowd_is_refused_before_the_collective_is_simulated(
    fred: Fred, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object) -> None:
        raise AssertionError("simulated")

    monkeypatch.setattr("perfmodel.collectives.run.run_collective", never)
    for group in ((), ("--group", "0-64")):
        status, out, err = fred(
            "collective", "--topology", "mesh:9x9", *group, "--draw", str(place / "drawn.svg")
        )
        count = 65 if group else 81
        assert (status, out) == (2, "")
        assert err == f"error: --draw: must show at most 64 NPUs, not {count}\n"
    assert not (place / "drawn.svg").exists()


def test_multitree_prints_steps_and_utilization(fred: Fred) -> None:
    said = fred.json("collective", "--topology", "torus:4x4", "--algorithm", "multitree")
    assert (said["steps"], said["link_utilization"]) == (5, 0.75)
    assert said["time_s"] > 0 and "details" not in said
    out = fred.out("collective", "--topology", "mesh:4x4", "--algorithm", "multitree")
    assert re.search(r"steps +10 +\n +link utilization +0\.5 ", out)


def test_synthesized_prints_its_own_time_and_that_of_the_best_other(fred: Fred) -> None:
    arguments = ("--group", "0-3", "--algorithm", "synthesized")
    said = fred.json("collective", "--topology", "fred-d", *arguments)
    assert said["fell_back"] is True and said["algorithm"] == "in-network"
    assert said["time_s"] == said["fixed_time_s"] < said["synthesized_time_s"]
    assert re.search(r"fell back +yes", fred.out("collective", "--topology", "fred-d", *arguments))


@pytest.mark.parametrize(
    ("target", "files"),
    [
        ("ring.xml", ["ring.xml"]),
        ("ring.goal", ["ring.goal"]),
        ("ring", [f"ring.{rank}.et" for rank in range(6)]),
        ("ring.et", [f"ring.{rank}.et" for rank in range(6)]),
    ],
)
def test_schedule_is_exported(fred: Fred, place: Path, target: str, files: list[str]) -> None:
    folder = place / "exported"
    folder.mkdir()
    arguments = ("--algorithm", "ring", "--export", str(folder / target))
    fred.json("collective", "--topology", "mesh:3x2", *arguments)
    assert sorted(path.name for path in folder.iterdir()) == files
    if target == "ring.goal":
        sent = re.findall(r"send (\d+)b", (folder / target).read_text())
        assert set(sent) == {str(round(2**30 / 6))} and len(sent) == 2 * 5 * 6


def test_what_switches_do_is_not_exported(fred: Fred, place: Path) -> None:
    folder = place / "exported"
    folder.mkdir()
    status, _, err = fred("collective", "--topology", "fred-d", "--export", str(folder / "a.xml"))
    assert status == 2 and list(folder.iterdir()) == []
    assert err.splitlines()[-1].startswith("error: --algorithm: must be one with messages between")
