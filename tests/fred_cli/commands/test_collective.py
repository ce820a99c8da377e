"""Tests of `fred collective`."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from fred_hw.errors import InputError
from perfmodel.collectives.schedule import Schedule
from perfmodel.collectives.themis.network import NEEDS
from perfmodel.derived import ALL_REDUCE_BANDWIDTH
from perfmodel.network.run import run_collective
from perfmodel.published import WAFER_BANDWIDTH
from perfmodel.topology.parse import parse_topology
from tests.fred_cli.fred import Fred

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("topology", ALL_REDUCE_BANDWIDTH)
def test_all_reduce_runs_at_the_published_bandwidth(fred: Fred, topology: str) -> None:
    published = ALL_REDUCE_BANDWIDTH[topology].value
    said = fred.json(
        "collective",
        "--topology",
        topology,
        "--size",
        "1GiB",
        "--protocol",
        "ideal",
        "--algorithm",
        "published",
    )
    bus = said["bus_bandwidth_bytes_per_s"]
    assert bus == pytest.approx(published, rel=0.05)
    assert said["time_s"] == pytest.approx(2 * 19 / 20 * 2**30 / bus)
    effective = said["effective_bandwidth_bytes_per_s"]
    assert effective == said["bytes_per_npu"] / said["time_s"]
    assert effective == pytest.approx(WAFER_BANDWIDTH[topology].value, rel=0.06)
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


LOGGOPS = "must be one of fluid, packet, unaware, aware, roce, not 'loggops'"


@pytest.mark.parametrize(
    ("model", "says"),
    [
        ("aware", "must be fluid or packet for messages that join or fork in switches"),
        ("loggops", LOGGOPS),
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
    assert f"{said['bus_bandwidth_bytes_per_s'] / 1e12:.3f} TB/s" in out
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


TUTORIAL = str(ROOT / "examples/switches-8x8x8.yaml")
MERGING = "fluid, unaware or aware for themis"
AWARE = "must be left out for themis with network model aware"
ORDERS = "dimension_order, round_robin, themis or themis_flex"


@pytest.mark.parametrize(
    ("options", "time_us", "utilization"),
    [
        (("themis", "--intra", "scf"), 13_635.871, 0.9759),
        (("themis", "--intra", "fifo"), 16_984.252, 0.78351),
        (("dimension-order",), 35_008.129, 0.38012),
        (("Round-Robin",), 14_404.621, 0.92382),
        (("themis_flex", "--compatible"), 13_803.793, 0.96403),
    ],
    ids=["scf", "fifo", "fixed", "turns", "flex"],
)
def test_orders_of_dimensions(
    fred: Fred, options: tuple[str, ...], time_us: float, utilization: float
) -> None:
    arguments = ("--topology", TUTORIAL, "--size", "1GiB", "--chunks", "64", "--algorithm")
    said = fred.json("collective", *arguments, *options)
    assert said["time_s"] * 1e6 == pytest.approx(time_us, rel=0.001)
    assert said["utilization"] == pytest.approx(utilization, rel=0.001)
    assert len(said["chunk_orders"]) == said["chunks"]
    assert sum(one["bytes"] for one in said["dimensions"]) == pytest.approx(2044 * 2**20, rel=1e-5)
    assert all(0 < one["busy_share"] <= 1 for one in said["dimensions"])
    sent_bytes = 2 * 2**30 * 511 / 512
    assert said["bus_bandwidth_bytes_per_s"] == pytest.approx(sent_bytes / said["time_s"])


def test_orders_of_dimensions_say_the_same_to_a_reader(fred: Fred) -> None:
    out = fred.out("collective", "--topology", "mesh:4x4", "--algorithm", "themis", "--check")
    assert out.startswith("all_reduce of 1GiB on mesh:4x4")
    assert "chunks in order 0, 1" in out and "% busy" in out
    assert "every NPU ends with what it should" in out


def test_a_network_of_astra_sim_has_dimensions(fred: Fred) -> None:
    name = str(ROOT / "examples/astra-network.yaml")
    said = fred.json("collective", "--topology", name, "--algorithm", "themis")
    rates = [one["bytes_per_s"] / 2**30 for one in said["dimensions"]]
    assert (said["topology"], rates) == (name, [400.0, 50.0])
    assert fred.json("collective", "--topology", name, "--algorithm", "ring")["time_s"] > 0


def test_chunks_are_drawn_in_their_dimensions(fred: Fred, place: Path) -> None:
    arguments = ("--topology", "mesh:5x4", "--chunks", "5", "--draw", "drawn.svg")
    fred.json("collective", *arguments, "--algorithm", "themis")
    root = ElementTree.parse(place / "drawn.svg").getroot()
    titles = [str(one.text) for one in root.iter() if one.tag.endswith("title")]
    # Three phases of the fixed order, whose last two are one, and four of Themis.
    assert len(titles) == 5 * 3 + 5 * 4
    texts = [str(one.text) for one in root.iter() if one.tag.endswith("text")]
    panels = [one for one in texts if "utilization" in one]
    assert [one.split(",")[0] for one in panels] == ["dimension_order", "themis"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("themis --intra sfc", "--intra: must be one of fifo, scf, not 'sfc'; did you mean 'scf'?"),
        ("themis --size 10B", "--chunks: must be at most 10, one for each byte of an NPU, not 64"),
        (
            "ring --intra scf",
            f"collective: --intra: must be with algorithm {ORDERS}, not ring",
        ),
        (
            "themis --group 0,1,4",
            f"--group: must be {NEEDS}, not 3 NPUs of fred-d",
        ),
        ("themis --chunks 257 --draw d.svg", "--draw: must show at most 256 chunks, not 257"),
        (
            "themis --draw d.svg",
            "--draw: must be for dimensions that share no links, not those of fred-d",
        ),
        ("themis --chart c.svg", "collective: --chart: must be left out with network model fluid"),
        ("themis --export a.txt", "--export: must not end in .txt with network model fluid"),
        *(
            (
                f"themis --network-model {model} --export a.goal",
                f"--export: must be with network model {MERGING}, not {model}",
            )
            for model in ("packet", "roce")
        ),
        *(
            (
                f"themis --network-model {model} --size 10B",
                "--size: must be at least 64 bytes, one for each chunk, not 10B",
            )
            for model in ("packet", "unaware", "aware", "roce")
        ),
        (
            "themis --network-model loggops",
            f"--network-model: {LOGGOPS}",
        ),
        *(
            (f"themis --network-model aware {option}", f"collective: {option.split()[0]}: {AWARE}")
            for option in ("--chunks 8", "--intra scf", "--latency pipelined", "--draw d.svg")
        ),
    ],
    ids=[
        *("intra", "bytes", "other", "group", "crowd", "shared", "chart", "txt"),
        *("export-packet", "export-roce"),
        *("size-packet", "size-unaware", "size-aware", "size-roce", "loggops"),
        *("aware-chunks", "aware-intra", "aware-latency", "aware-draw"),
    ],
)
def test_what_orders_of_dimensions_refuse(fred: Fred, options: str, message: str) -> None:
    arguments = ("--topology", "fred-d", "--algorithm", *options.split())
    assert fred("collective", *arguments) == (2, "", f"error: {message}\n")


@pytest.mark.parametrize("model", ["packet", "unaware", "aware", "roce"])
def test_orders_of_dimensions_run_on_links_with_other_network_models(
    fred: Fred, model: str
) -> None:
    arguments = ("--topology", "mesh:3x2", "--algorithm", "themis", "--size", "1MiB")
    said = fred.json("collective", *arguments, "--network-model", model, "--check")
    assert (said["network_model"], said["algorithm_name"]) == (model, "themis")
    fabric = parse_topology("mesh:3x2")
    alone = run_collective(fabric, "all_reduce", 2.0**20, algorithm="themis", network_model=model)
    assert said["time_s"] == alone.time_s and said["checked"] is True


@pytest.mark.parametrize("target", ["a.goal", "a.xml", "a"])
def test_chunks_in_orders_of_dimensions_are_exported(fred: Fred, place: Path, target: str) -> None:
    folder = place / "exported"
    folder.mkdir()
    arguments = ("--algorithm", "themis", "--chunks", "4", "--export", str(folder / target))
    fred.json("collective", "--topology", "mesh:2x2", "--size", "1MiB", *arguments)
    files = ["a.0.et", "a.1.et", "a.2.et", "a.3.et"] if target == "a" else [target]
    assert sorted(path.name for path in folder.iterdir()) == files
    if target == "a.goal":
        sent = [int(one) for one in re.findall(r"send (\d+)b", (folder / target).read_text())]
        assert sum(sent) == 4 * 2 * 3 * 2**20 // 4


@pytest.mark.parametrize("algorithm", ["auto", "ring", "in_network", "multitree", "synthesized"])
def test_more_chunks_than_bytes_are_refused(fred: Fred, algorithm: str) -> None:
    arguments = ("--topology", "fred-d", "--group", "0-3", "--size", "10B", "--chunks", "11")
    message = "error: --chunks: must be at most 10, one for each byte, not 11\n"
    assert fred("collective", *arguments, "--algorithm", algorithm) == (2, "", message)


def test_an_order_of_dimensions_takes_no_less_than_the_link_of_an_npu(fred: Fred) -> None:
    said = fred.json("collective", "--topology", "fred-d", "--algorithm", "themis")
    assert said["time_s"] >= 2 * 19 / 20 * 2**30 / 3e12


def test_a_misspelt_order_of_dimensions_is_suggested(fred: Fred) -> None:
    status, out, err = fred("collective", "--topology", "fred-d", "--algorithm", "themiss")
    assert (status, out) == (2, "")
    assert err.startswith("error: --algorithm: must be one of ")
    assert err.endswith(", not 'themiss'; did you mean 'themis'?\n")


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
        ("a.xml", ["a.xml"]),
        ("a.goal", ["a.goal"]),
        ("a", [f"a.{rank}.et" for rank in range(4)]),
        ("a.et", [f"a.{rank}.et" for rank in range(4)]),
        ("a.et.gz", [f"a.{rank}.et.gz" for rank in range(4)]),
    ],
)
@pytest.mark.parametrize("algorithm", ["ring", "multitree", "synthesized"])
def test_schedule_is_exported(
    fred: Fred, place: Path, algorithm: str, target: str, files: list[str]
) -> None:
    folder = place / "exported"
    folder.mkdir()
    arguments = ("--algorithm", algorithm, "--export", str(folder / target))
    said = fred.json("collective", "--topology", "mesh:2x2", *arguments)
    assert said["algorithm_name"] == algorithm
    assert sorted(path.name for path in folder.iterdir()) == files
    if target == "a.goal":
        sent = [int(one) for one in re.findall(r"send (\d+)b", (folder / target).read_text())]
        assert len(sent) >= 2 * 3 * 4 and len({*sent}) == 1
        assert sum(sent) == pytest.approx(2 * 3 * 2**30, rel=1e-6)
    if target == "a.et.gz":
        assert all(one.read_bytes().startswith(b"\x1f\x8b") for one in folder.iterdir())


@pytest.mark.parametrize("algorithm", ["ring", "multitree", "synthesized", "themis"])
def test_schedule_that_is_wrong_is_not_exported(
    fred: Fred, place: Path, monkeypatch: pytest.MonkeyPatch, algorithm: str
) -> None:
    def wrong(schedule: Schedule) -> None:
        raise InputError("schedule", "", f"must not send {len(schedule.messages)} messages")

    monkeypatch.setattr("perfmodel.collectives.replay.replay", wrong)
    folder = place / "exported"
    folder.mkdir()
    arguments = ("--algorithm", algorithm, "--export", str(folder / "a.goal"))
    status, out, err = fred("collective", "--topology", "mesh:2x2", *arguments)
    assert (status, out) == (2, "")
    assert re.search(r"^error: schedule: must not send \d+ messages\n$", err, re.MULTILINE)
    assert list(folder.iterdir()) == []


def test_what_switches_do_is_not_exported(fred: Fred, place: Path) -> None:
    folder = place / "exported"
    folder.mkdir()
    status, _, err = fred("collective", "--topology", "fred-d", "--export", str(folder / "a.xml"))
    assert status == 2 and list(folder.iterdir()) == []
    assert err.splitlines()[-1].startswith("error: --algorithm: must be one with messages between")
