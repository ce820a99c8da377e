"""Tests of `fred roce`, and of network model roce in other commands."""

import re
from pathlib import Path

import pytest

from docs.generate.reference import EXAMPLES
from tests.fred_cli.fred import Fred

SMALL = ("--gpus-per-leaf", "4", "--pods", "2", "--widths", "2")


@pytest.mark.parametrize("name", ["net.txt", "net.yaml"])
def test_a_network_is_written_and_used(name: str, tmp_path: Path, fred: Fred) -> None:
    path = str(tmp_path / name)
    said = fred.json("roce", "topology", "clos", *SMALL, "--output", path)
    assert (said["nodes"], said["gpus"], said["switches"], said["links"]) == (12, 8, 4, 12)
    run = ("collective", "--topology", path, "--network-model", "roce", "--algorithm", "ring")
    found = fred.json(*run, "--cc", "dcqcn", "--size", "1MB", "--chart", str(tmp_path / "c.svg"))
    assert found["congestion_control"] == "dcqcn"
    assert found["drops"] == 0 and len(found["flows"]) == 14 * 8
    assert (tmp_path / "c.svg").read_text().count("<polyline") == 3
    given = fred.json(*run, "--roce", str(EXAMPLES / "roce.yaml"), "--size", "1MB")
    assert given["congestion_control"] == "dcqcn"


def test_the_published_network_is_the_default(tmp_path: Path, fred: Fred) -> None:
    output = ("--output", str(tmp_path / "net.txt"))
    found = fred.json("roce", "topology", "clos", *output)
    assert (found["nodes"], found["gpus"], found["links"]) == (144, 128, 192)
    found = fred.json("roce", "topology", "clos", "--nvswitches", "6", *output)
    assert (found["nodes"], found["links"]) == (240, 960)


def test_formats_are_converted(tmp_path: Path, fred: Fred) -> None:
    first, second, third = (str(tmp_path / name) for name in ("a.txt", "b.yaml", "c.txt"))
    fred.json("roce", "topology", "clos", *SMALL, "--output", first)
    fred.json("roce", "topology", "convert", first, "--output", second)
    fred.json("roce", "topology", "convert", second, "--output", third)
    assert Path(first).read_text() == Path(third).read_text()
    links = fred.json(
        "roce", "topology", "convert", str(EXAMPLES / "links-6.yaml"), "--output", first
    )
    assert links["gpus"] == 6


def test_topologies_that_cannot_be_used_are_not_converted(tmp_path: Path, fred: Fred) -> None:
    twice, output = tmp_path / "twice.txt", tmp_path / "out.txt"
    twice.write_text("3 1 3\n2\n0 2 1Gbps 1us 0\n1 2 1Gbps 1us 0\n1 2 1Gbps 1us 0\n")
    blocks = EXAMPLES / "torus-64.yaml"
    for source, message in (
        (blocks, "kind: must be links, not 'blocks'"),
        (twice, "links.2.ends: must join nodes that no other link joins, not npu_1 to switch_0"),
    ):
        status, out, err = fred("roce", "topology", "convert", str(source), "--output", str(output))
        assert (status, out) == (2, "")
        assert err.startswith(f"error: {source}: {message}") and err.count("\n") == 1
        assert not output.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--pods", "0"), "--pods: must be whole numbers above 0, at most 1e6, not '0'"),
        (("--pods", "2,2"), "--pods: must be 1 number, not 2"),
        (("--gbps", "1,2,3"), "--gbps: must be 1 or 2 numbers, not 3"),
        (("--latency-us", ""), "--latency-us: must be numbers above 0, at most 1e6, not ''"),
        (
            ("--widths", "1000000"),
            "--widths: must give at most 4096 switches with --pods, not 1000008",
        ),
        (
            ("--levels", "3", "--pods", "1", "--widths", "1000"),
            "--widths: must give at most 100000 links with --pods, not 1001016",
        ),
        (("--gbps", "nan"), "--gbps: must be numbers above 0, at most 1e6, not 'nan'"),
        (("--pods", "4096"), "--gpus-per-leaf: must give 2 to 4096 GPUs with --pods, not 65536"),
        (("--output", "x.json"), "--output: must end in .txt or .yaml, not 'x.json'"),
        (
            ("--nvswitches", "1", "--gpus-per-server", "3"),
            "--gpus-per-server: must be a divisor of the number of GPUs, 128, not 3",
        ),
    ],
)
def test_bad_networks_are_refused(
    arguments: tuple[str, ...], message: str, tmp_path: Path, fred: Fred
) -> None:
    output = () if "--output" in arguments else ("--output", str(tmp_path / "net.txt"))
    status, out, err = fred("roce", "topology", "clos", *arguments, *output)
    assert (status, out, err) == (2, "", f"error: {message}\n")
    assert not (tmp_path / "net.txt").exists()


def test_options_of_other_models_are_refused(tmp_path: Path, fred: Fred) -> None:
    run = ("collective", "--topology", "mesh:2x2", "--size", "1MB")
    for option, value in (("--cc", "hpcc"), ("--chart", str(tmp_path / "c.svg"))):
        status, _, err = fred(*run, option, value)
        message = f"error: collective: {option}: must be left out with network model fluid\n"
        assert (status, err) == (2, message)


def test_a_buffer_smaller_than_its_headroom_is_one_line(tmp_path: Path, fred: Fred) -> None:
    (tmp_path / "small.yaml").write_text("congestion_control: hpcc\nbuffer_mib: 0.01\n")
    path = str(tmp_path / "net.txt")
    fred.json("roce", "topology", "clos", *SMALL, "--output", path)
    run = ("collective", "--topology", path, "--network-model", "roce", "--size", "1MB")
    status, out, err = fred(*run, "--roce", str(tmp_path / "small.yaml"))
    assert (status, out) == (2, "")
    assert err.startswith("error: buffer_mib: must be at least ") and err.count("\n") == 1


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            ["0 0 8Gbps 1us 0", "1 2 8Gbps 1us 0"],
            "links.0.ends: must be two nodes, not npu_0 twice",
        ),
        (["0 2 8Gbps 1us 0"], "links: must connect every NPU with every other"),
    ],
)
def test_networks_that_do_not_work_are_not_converted(
    lines: list[str], message: str, tmp_path: Path, fred: Fred
) -> None:
    source = tmp_path / "net.txt"
    source.write_text("\n".join([f"3 1 {len(lines)}", "2", *lines]) + "\n")
    status, out, err = fred(
        "roce", "topology", "convert", str(source), "--output", str(tmp_path / "net.yaml")
    )
    assert (status, out) == (2, "")
    assert err.startswith(f"error: {source}: {message}") and err.count("\n") == 1
    assert not (tmp_path / "net.yaml").exists()


def test_flows_of_a_collective_are_written_and_simulated(tmp_path: Path, fred: Fred) -> None:
    net, flows, chart = (str(tmp_path / name) for name in ("net.txt", "flows.txt", "c.svg"))
    fred.json("roce", "topology", "clos", *SMALL, "--output", net)
    run = ("--topology", net, "--network-model", "roce", "--cc", "dctcp", "--size", "1MB")
    given = fred.json(
        *("collective", "--pattern", "all_to_all", "--algorithm", "direct", *run, "--export", flows)
    )
    assert Path(flows).read_text().startswith("56\n")
    options = ("--topology", net, "--cc", "dctcp", "--congestion-chart", chart)
    found = fred.json("roce", "run", flows, *options)
    assert found["time_s"] == pytest.approx(given["time_s"])
    assert {(one["bytes"], one["begin_s"]) for one in found["flows"]} == {(125_000, 0.0)}
    keys = ("source", "target", "bytes")
    listed = [sorted([one[key] for key in keys] for one in e["flows"]) for e in (given, found)]
    assert listed[0] == listed[1]
    assert "<polyline" in Path(chart).read_text()
    assert "pauses" in fred.out("roce", "run", flows, *options)


@pytest.mark.parametrize(
    ("scheme", "packets", "wrong"),
    [
        ("dcqcn", 16, True),
        ("timely", 2, True),
        ("hpcc", 16, False),
        ("dcqcn", 1, False),
        ("timely", None, False),
    ],
)
def test_assumptions_of_trains_are_printed(
    scheme: str, packets: int | None, wrong: bool, tmp_path: Path, fred: Fred
) -> None:
    net, flows, given = (tmp_path / name for name in ("net.txt", "flows.txt", "roce.yaml"))
    net.write_text("3 1 2\n2\n0 2 200Gbps 1us 0\n1 2 200Gbps 1us 0\n")
    flows.write_text("1\n0 1 3 100 5000 0\n")
    given.write_text(
        f"congestion_control: {scheme}\n" + (f"train_packets: {packets}\n" if packets else "")
    )
    run = ("roce", "run", str(flows), "--topology", str(net), "--roce", str(given))
    text = f"results of {scheme} can be wrong by factors; use train_packets: 1"
    assert (f"  assumed: {text}\n" in fred.out(*run)) is wrong
    assumptions = fred.json(*run)["provenance"]["assumptions"]
    assert (text in assumptions) is wrong
    assert ("each packet is simulated alone" in assumptions) is (packets in (1, None))


def test_hosts_of_flows_have_the_numbers_of_the_topology(tmp_path: Path, fred: Fred) -> None:
    net, flows = tmp_path / "net.txt", tmp_path / "flows.txt"
    net.write_text("3 1 2\n1\n0 1 200Gbps 1us 0\n2 1 200Gbps 1us 0\n")
    flows.write_text("1\n0 2 3 100 5000 0.001\n")
    found = fred.json("roce", "run", str(flows), "--topology", str(net))
    assert found["flows"][0] | {"end_s": 0} == {
        "source": 0,
        "target": 1,
        "bytes": 5000,
        "begin_s": 0.001,
        "end_s": 0,
    }
    flows.write_text("1\n0 1 3 100 5000 0\n")
    status, _, err = fred("roce", "run", str(flows), "--topology", str(net))
    message = "line 2: must join hosts of the topology, from 0 to 2, not 1"
    assert (status, err) == (2, f"error: {flows}: {message}\n")


def test_flows_need_network_model_roce(tmp_path: Path, fred: Fred) -> None:
    path = tmp_path / "flows.txt"
    status, _, err = fred("collective", "--topology", "fred-d", "--export", str(path))
    message = "must not end in .txt with network model fluid"
    assert (status, err) == (2, f"error: --export: {message}\n")
    assert not path.exists()


def test_wafers_are_nodes_by_their_controllers(tmp_path: Path, fred: Fred) -> None:
    nics = ("--gpus-per-leaf", "18", "--pods", "2", "--widths", "9", "--gbps", "1024")
    nics += ("--latency-us", "0.5")
    make = ("roce", "topology", "clos", *nics, "--wafer")
    path = str(tmp_path / "net.txt")
    assert fred.json(*make, "fred-d", "--output", path)["gpus"] == 40
    run = ("--network-model", "roce", "--algorithm", "ring", "--size", "1MB")
    assert fred.json("collective", "--topology", path, *run)["drops"] == 0
    status, _, err = fred(*make, "mesh:5x4", "--output", path)
    message = "must be a wafer with switches and I/O controllers, not mesh:5x4"
    assert (status, err) == (2, f"error: --wafer: {message}\n")


def test_stages_of_a_collective_are_drawn_one_after_the_other(tmp_path: Path, fred: Fred) -> None:
    net, chart = str(tmp_path / "net.txt"), tmp_path / "c.svg"
    fred.json("roce", "topology", "clos", *SMALL, "--output", net)
    stages = ("--algorithm", "reduce_scatter:direct+all_gather:direct", "--size", "1MB")
    run = ("collective", "--topology", net, "--network-model", "roce", *stages)
    flows = tmp_path / "flows.txt"
    found = fred.json(*run, "--chart", str(chart), "--export", str(flows))
    first, second = found["stages"]
    assert chart.read_text().count("<polyline") == 2 * 3
    starts = [float(line.split()[5]) for line in flows.read_text().splitlines()[1:]]
    assert starts == pytest.approx([0.0] * 56 + [first["simulated_s"]] * 56)
    assert first["simulated_s"] + second["simulated_s"] == pytest.approx(found["time_s"])


def test_parameters_are_written_as_a_configuration(tmp_path: Path, fred: Fred) -> None:
    first, second = tmp_path / "a.txt", tmp_path / "b.txt"
    write = ("roce", "config", str(EXAMPLES / "roce.yaml"), "--output", str(first))
    assert fred.json(*write) == {"lines": 35, "output": str(first)}
    assert "CC_MODE 1\n" in first.read_text() and "RP_TIMER 300\n" in first.read_text()
    said = fred.out("roce", "config", str(first), "--output", str(second))
    assert said == f"35 lines in {second}\n"
    assert second.read_text() == first.read_text()
    path = str(tmp_path / "net.txt")
    fred.json("roce", "topology", "clos", *SMALL, "--output", path)
    run = ("collective", "--topology", path, "--network-model", "roce", "--size", "1MB")
    given = fred.json(*run, "--algorithm", "ring", "--roce", str(second))
    assert given["congestion_control"] == "dcqcn"


@pytest.mark.parametrize(
    ("text", "output", "message"),
    [
        ("timely: {t_low_us: 7}", "c.txt", "{0}: timely.t_low_us: must be 50 in an ns-3 .*, not 7"),
        ("buffer_mib: 1.5", "c.txt", "{0}: buffer_mib: must be a whole number in .*, not 1.5"),
        ("pfc: true", "c.yaml", "--output: must end in .txt, not 'c.yaml'"),
        ("kind: links", "c.txt", "{0}: must be parameters of .*"),
    ],
    ids=["no key", "not whole", "ending", "kind"],
)
def test_what_is_no_configuration_is_refused(
    text: str, output: str, message: str, tmp_path: Path, fred: Fred
) -> None:
    source = tmp_path / "roce.yaml"
    source.write_text(text + "\n")
    status, out, err = fred("roce", "config", str(source), "--output", str(tmp_path / output))
    assert (status, out) == (2, "") and err.count("\n") == 1
    assert re.match(f"error: {message}".format(source), err)
    assert not (tmp_path / output).exists()
