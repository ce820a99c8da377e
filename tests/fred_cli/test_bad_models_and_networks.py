"""Models, ns-3 and InfraGraph files that must be refused in one line."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from docs.generate.reference import EXAMPLES
from tests.fred_cli.fred import Fred
from tests.written import written

TENSORS: dict[str, Any] = {"fc0.weight": np.ones((6, 4)), "fc1.weight": np.ones((4, 6))}

RUN = ("--network-model", "roce", "--size", "1MB")


def _infragraph(folder: Path) -> str:
    """Return a description with a link to a switch that does not exist."""
    text = """
infrastructure:
  name: net
  instances:
  - {name: host, device: server, count: 2}
  - {name: leaf, device: switch, count: 1}
  links:
  - name: eth
    physical: {bandwidth: {choice: gigabits_per_second, gigabits_per_second: 100}}
  connections:
  - host.0.nic.0.eth.leaf.0.port.0
  - host.1.nic.0.eth.leaf.7.port.1
"""
    return str(written(folder / "net.yaml", text))


def _one_line(found: tuple[int, str, str], message: str) -> None:
    status, out, err = found
    assert (status, out) == (2, "")
    assert err.startswith("error: ") and err.count("\n") == 1
    assert message in err


@pytest.mark.parametrize(
    ("changes", "more", "message"),
    [
        ({"fc1.weight": None, "fc1.bias": np.ones(4)}, (), "fc1.bias: must be the weight"),
        ({"fc1.weight": np.ones((4, 5))}, (), "fc1: must have weights for inputs of shape (6,)"),
        ({"fc0.bias": np.ones(5)}, (), "fc0.bias: must"),
        ({"fc0.weight": np.full((6, 4), np.nan)}, (), "fc0.weight: must have numbers of at most"),
        ({}, ("--capacity", "fc0=2,2"), "fc0: must have 2 capacities that sum up to 6 or more"),
        ({}, ("--workers", "5"), "input: must have 5 or more neurons, heads or inputs"),
    ],
    ids=["missing", "misshapen", "bias", "nan", "capacities", "workers"],
)
def test_bad_models_are_refused(
    changes: dict[str, Any], more: tuple[str, ...], message: str, tmp_path: Path, fred: Fred
) -> None:
    tensors = {name: value for name, value in {**TENSORS, **changes}.items() if value is not None}
    np.savez(tmp_path / "m.npz", **tensors)
    np.savez(tmp_path / "d.npz", inputs=np.ones((8, 4)))
    given = ("--workers", "2", "--calibration", str(tmp_path / "d.npz"), *more)
    _one_line(fred("repurpose", str(tmp_path / "m.npz"), *given), message)


def _commands(path: str) -> list[tuple[str, ...]]:
    """Return command lines that read a topology in any way."""
    step = ("--system", f"{EXAMPLES}/astra-system.yaml")
    step += ("--workload", f"{EXAMPLES}/astra-step/step")
    return [
        ("collective", "--topology", path, *RUN),
        ("estimate", "--topology", path, "--workload", "resnet-152"),
        ("estimate", "--network", path, *step),
        ("estimate", "--network", path, *step, "--network-model", "roce"),
        ("roce", "topology", "convert", path, "--output", f"{path}.txt"),
        ("roce", "run", path, "--topology", path),
    ]


@pytest.mark.parametrize("number", range(6))
@pytest.mark.parametrize("kind", ["ns3", "infragraph"])
def test_links_to_nodes_that_do_not_exist_are_refused(
    kind: str, number: int, tmp_path: Path, fred: Fred
) -> None:
    if kind == "ns3":
        text = "3 1 2\n2\n0 2 200Gbps 1us 0\n1 7 200Gbps 1us 0\n"
        path, message = str(written(tmp_path / "net.txt", text)), "line 4: must join nodes from 0"
    else:
        path, message = _infragraph(tmp_path), "connections.1: must"
    _one_line(fred(*_commands(path)[number]), message)


@pytest.mark.parametrize("number", [0, 3, 5])
def test_buffers_smaller_than_their_headroom_are_refused(
    number: int, tmp_path: Path, fred: Fred
) -> None:
    text = "6 2 5\n4 5\n" + "".join(f"{one} {4 + one // 2} 200Gbps 5us 0\n" for one in range(4))
    path = str(written(tmp_path / "net.txt", text + "4 5 200Gbps 5us 0\n"))
    roce = str(written(tmp_path / "roce.yaml", "buffer_mib: 0.5\n"))
    command = [*_commands(path)[number], "--roce", roce]
    if number == 3:
        command += ["--memory", f"{EXAMPLES}/astra-memory.yaml"]
        command += ["--groups", f"{EXAMPLES}/astra-groups.yaml"]
    if number == 5:
        command[2] = str(written(tmp_path / "flows.txt", "1\n0 1 3 100 5000 0\n"))
    _one_line(fred(*command), "buffer_mib: must be at least 1.")


@pytest.mark.slow
def test_published_infragraph_like_files_are_networks_of_traces(tmp_path: Path, fred: Fred) -> None:
    text = Path(_infragraph(tmp_path)).read_text().replace("leaf.7", "leaf.0")
    path = written(
        tmp_path / "net.yaml",
        text.replace("count: 2", "count: 4").rstrip()
        + """
  - host.2.nic.0.eth.leaf.0.port.2
  - host.3.nic.0.eth.leaf.0.port.3
""",
    )
    files = (f"--{name}={EXAMPLES}/astra-{name}.yaml" for name in ("system", "memory", "groups"))
    step = ("estimate", *files, f"--workload={EXAMPLES}/astra-step/step", f"--network={path}")
    found = fred.json(*step, "--network-model", "roce", "--cc", "hpcc")
    assert found["congestion"]["drops"] == 0 and found["congestion"]["packets"] > 0
    assert found["total_ns"] > fred.json(*step)["total_ns"]


def test_congestion_of_traces_is_drawn(tmp_path: Path, fred: Fred) -> None:
    net, chart = str(tmp_path / "net.txt"), tmp_path / "c.svg"
    small = ("--gpus-per-leaf", "2", "--pods", "2", "--widths", "1", "--output", net)
    fred.json("roce", "topology", "clos", *small)
    files = (f"--{name}={EXAMPLES}/astra-{name}.yaml" for name in ("system", "memory", "groups"))
    step = ("estimate", *files, f"--workload={EXAMPLES}/astra-step/step", "--network", net)
    model = ("--network-model", "roce", "--cc", "dcqcn")
    out = fred.out(*step, *model, "--congestion-chart", str(chart))
    assert "dcqcn: " in out and chart.read_text().count("<polyline") == 3
    assert "congestion" not in fred.json(*step)
    for more, message in (
        (("--cc", "dcqcn"), "estimate: --cc: must be left out with network model fluid"),
        (("--network-model", "packet"), "must be a network of ASTRA-sim alone"),
    ):
        _one_line(fred(*step, *more), message)
    astra = ("--network", f"{EXAMPLES}/astra-network.yaml", *model)
    message = "must be a topology alone with network model roce, not a network of ASTRA-sim"
    _one_line(fred(*step[:-2], *astra), message)


@pytest.mark.slow(15)
def test_an_iteration_on_several_wafers_has_congestion(tmp_path: Path, fred: Fred) -> None:
    net = str(tmp_path / "wafers.txt")
    nics = ("--gpus-per-leaf", "18", "--pods", "2", "--widths", "9", "--gbps", "1024")
    nics += ("--latency-us", "0.5", "--wafer", "fred-d", "--output", net)
    fred.json("roce", "topology", "clos", *nics)
    run = ("estimate", "--topology", net, "--workload", "resnet-152", "--strategy", "MP1-DP40-PP1")
    fluid_s = fred.json(*run)["iteration_time_s"]
    found = fred.json(*run, "--network-model", "roce", "--algorithm", "ring", "--cc", "hpcc")
    assert found["iteration_time_s"] > fluid_s
    assumed = found["provenance"]["assumptions"]
    assert "up to 16 packets of a flow are simulated as one" in assumed


def test_congestion_of_an_iteration_is_drawn(tmp_path: Path, fred: Fred) -> None:
    net, chart = str(tmp_path / "net.txt"), tmp_path / "c.svg"
    small = ("--gpus-per-leaf", "2", "--pods", "2", "--widths", "1", "--output", net)
    fred.json("roce", "topology", "clos", *small)
    run = ("estimate", "--topology", net, "--workload", "resnet-152", "--strategy", "MP1-DP4-PP1")
    model = ("--network-model", "roce", "--cc", "timely")
    given = fred.json(*run, *model)
    assert fred.json(*run, *model, "--congestion-chart", str(chart)) == given
    assert chart.read_text().count("<polyline") >= 3
    _one_line(fred(*run, "--congestion-chart", str(chart)), "--congestion-chart: must be left out")
