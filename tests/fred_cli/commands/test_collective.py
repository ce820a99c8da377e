"""Tests of `fred collective`."""

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


def test_a_network_model_is_taken_by_name(fred: Fred) -> None:
    how = ("collective", "--topology", "fred-c", "--algorithm", "ring", "--size", "1MB")
    times = {
        name: fred.json(*how, "--network-model", name) for name in ("fluid", "aware", "unaware")
    }
    assert [one["network_model"] for one in times.values()] == [*times]
    assert times["unaware"]["time_s"] <= times["aware"]["time_s"]
    assert fred.json(*how) == times["fluid"]
    assert "network model" in fred.out(*how)


@pytest.mark.parametrize(
    ("model", "says"),
    [
        ("aware", "must be fluid or packet for messages that join or fork in switches"),
        (
            "loggops",
            (
                "must be fluid, packet, unaware, aware for a topology, not loggops, "
                "which takes GOAL schedules and traces"
            ),
        ),
    ],
)
def test_a_network_model_that_cannot_time_a_schedule_is_refused(
    fred: Fred, model: str, says: str
) -> None:
    how = ("--topology", "fred-d", "--algorithm", "published", "--network-model", model)
    assert fred("collective", *how) == (2, "", f"error: --network-model: {says}\n")


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

    monkeypatch.setattr("perfmodel.network.run.run_collective", never)
    for group in ((), ("--group", "0-64")):
        status, out, err = fred(
            "collective", "--topology", "mesh:9x9", *group, "--draw", str(place / "drawn.svg")
        )
        count = 65 if group else 81
        assert (status, out) == (2, "")
        assert err == f"error: --draw: must show at most 64 NPUs, not {count}\n"
    assert not (place / "drawn.svg").exists()
