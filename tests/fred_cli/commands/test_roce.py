"""Tests of `fred roce`, and of network model roce in other commands."""

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
    assert fred.json("roce", "topology", "clos", *output)["links"] == 192
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
            "--gpus-per-server: must divide the GPUs, 128, not 3",
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
        (["0 2 8Gbps 1us 0"], "links: must lead from each NPU to every other"),
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
