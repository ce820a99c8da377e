"""Tests of `fred repurpose`."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from docs.generate.reference import EXAMPLES
from perfmodel.repurpose.reader import read_network
from tests.fred_cli.fred import Fred

MODEL = str(EXAMPLES / "repurpose/hidden-blocks.npz")
SAMPLES = ("--calibration", str(EXAMPLES / "repurpose/samples.npz"))
FOUR = (MODEL, "--workers", "4", *SAMPLES)


def test_hidden_blocks_are_found(fred: Fred) -> None:
    found = fred.json("repurpose", *FOUR, "--max-error", "0.3", "--form", "edge")
    assert found["error"] <= 0.3
    assert found["crossings_split"] == 288  # 3 layers, 32 inputs, 3 other workers
    assert found["crossings"] == 0
    assert found["reordering_error"] < 1e-9
    assert found["partition_error"] < 1e-9
    assert found["error"] <= found["error_bound"]
    assert [one["name"] for one in found["layers"]] == ["fc0", "fc1", "fc2"]
    for workers in found["placement"].values():
        assert np.bincount(workers).tolist() == [8, 8, 8, 8]
    assert sorted(found["permutations"]["fc0"]) == list(range(32))
    assert found["permutations"]["fc2"] == list(range(32))
    assert found["accuracy_before"] is None
    assert found["nonzeros"] < found["weights"]


def test_multicasts_are_what_crosses(fred: Fred) -> None:
    found = fred.json("repurpose", *FOUR, "--lambda1", "0.01")
    assert [one["before"] for one in found["traffic"]] == ["fc0", "fc1", "fc2"]
    pairs = sum(
        len(cast["channels"]) * len(cast["targets"])
        for one in found["traffic"]
        for cast in one["multicasts"]
    )
    assert pairs == found["crossings"] == found["numbers_received"] > 0


def test_latency_is_told_of_each_topology(fred: Fred) -> None:
    topologies = ("--topology", "fred-d", "--topology", "mesh:2x2")
    found = fred.json("repurpose", *FOUR, *topologies)
    rows = [(one["placed"]["topology"], one["placed"]["trees"]) for one in found["latencies"]]
    assert rows == [("fred-d", "topology"), ("mesh:2x2", "topology"), ("mesh:2x2", "multitree")]
    for one in found["latencies"]:
        steps = one["placed"]["steps"]
        total = sum(step["time_s"] for step in steps)
        assert one["speedup"] == pytest.approx(
            sum(step["time_s"] for step in one["contiguous"]["steps"]) / total
        )
        assert one["placed"]["provenance"]["records"]


def test_written_weights_are_the_pruned_ones_in_the_order_of_workers(
    fred: Fred, place: Path
) -> None:
    found = fred.json("repurpose", *FOUR, "-o", "out.npz", "--csv", "layers.csv")
    written, model = read_network(place / "out.npz"), read_network(Path(MODEL))
    with np.load(EXAMPLES / "repurpose/samples.npz") as samples:
        inputs = samples["inputs"].astype(float)
    right = model.run(inputs)
    change = np.linalg.norm(written.run(inputs) - right) / np.linalg.norm(right)
    assert change == pytest.approx(found["error"], rel=1e-3)
    weights = written.products[0].weight
    order = found["permutations"]["fc0"]
    workers = np.array(found["placement"]["fc0"])[order]
    assert (np.diff(workers) >= 0).all()
    assert np.count_nonzero(weights) == found["layers"][0]["nonzeros"]
    with (place / "layers.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [int(row["kept"]) for row in rows] == [one["nonzeros"] for one in found["layers"]]


def test_accuracy_is_told_where_labels_are_known(fred: Fred, place: Path) -> None:
    with np.load(EXAMPLES / "repurpose/samples.npz") as samples:
        inputs = samples["inputs"]
    labels = read_network(Path(MODEL)).run(inputs).argmax(axis=1)
    np.savez(place / "test.npz", inputs=inputs, labels=labels)
    found = fred.json("repurpose", *FOUR, "--test", "test.npz")
    assert found["accuracy_before"] == 1.0
    assert 0.8 < found["accuracy_after"] <= 1.0
    assert found["test_error"] == pytest.approx(found["error"])
    out = fred.out("repurpose", *FOUR, "--test", "test.npz")
    assert "accuracy: 100.00 % before, " in out


@pytest.mark.slow
@pytest.mark.parametrize("label", [-1, 32])
@pytest.mark.parametrize("option", ["--test", "--calibration"])
def test_labels_that_are_no_outputs_are_refused(
    label: int, option: str, refused: Callable[..., str], place: Path
) -> None:
    np.savez(place / "d.npz", inputs=np.ones((3, 32)), labels=np.array([0, 31, label]))
    said = refused("repurpose", *FOUR, option, "d.npz", "-o", "out.npz")
    assert said == (f"error: d.npz: labels: must be numbers of outputs, from 0 to 31, not {label}")
    assert not (place / "out.npz").exists()


def test_chart_has_the_curves_of_the_json(fred: Fred, place: Path) -> None:
    words = ("--max-error", "0.1", "--baselines", "--chart", "c.html")
    found = fred.json("repurpose", *FOUR, *words)
    assert [one["method"] for one in found["baselines"]] == ["contiguous", "random", "magnitude"]
    assert all(one["error"] <= found["error"] for one in found["baselines"])
    methods = [curve[0]["method"] for curve in found["curves"]]
    assert methods == ["repurpose"] * 3 + ["contiguous", "random", "magnitude"]
    page = (place / "c.html").read_text()
    data: Any = json.loads(page.split('<script type="application/json">')[1].split("</script>")[0])
    assert len(data["data"]) == 7
    assert sorted(data["data"][0]["x"]) == pytest.approx(
        sorted(100 * point["error"] for point in found["curves"][0])
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((MODEL, "--workers", "0", *SAMPLES), "--workers: must be 1 to 4096, not 0"),
        (
            (MODEL, "--workers", "33", *SAMPLES),
            f"{MODEL}: input: must have 33 or more neurons, heads or inputs for 33 workers, not 32",
        ),
        ((*FOUR, "--lambda1", "nan"), "--lambda1: must be a number from 0 to 1e+30, not 'nan'"),
        ((*FOUR, "--max-error", "-1"), "--max-error: must be a number from 0 to 1e+30, not '-1'"),
        ((*FOUR, "--pin", "fc0"), "--pin: must be LAYER=WORKER, not 'fc0'"),
        ((*FOUR, "--pin", "fc0=1,2"), "--pin: fc0: must be one worker, not 2"),
        ((*FOUR, "--pin", "fc9=1"), f"{MODEL}: must be a layer that is placed, such as input, fc0"),
        (
            (*FOUR, "--capacity", "fc0=8,8,8,7"),
            f"{MODEL}: fc0: must have 4 capacities that sum up to 32 or more, not 8,8,8,7, which",
        ),
        ((*FOUR, "--capacity", "fc0=a"), "--capacity: must be LAYER=NUMBER,NUMBER,..., not 'fc"),
        ((*FOUR, "-o", "out.onnx"), "out.onnx: must have a name that ends in .npz or .safetensors"),
        (
            (*FOUR, "--topology", "mesh:1x2"),
            "mesh:1x2: must have 4 or more NPUs for as many workers, not 2",
        ),
        (
            (MODEL, "--workers", "4", "--calibration", MODEL),
            f"{MODEL}: fc0.weight: must be inputs or labels",
        ),
        (("no.npz", *FOUR[1:]), "no.npz: must be an existing file, not a missing one"),
    ],
    ids=[
        *("workers", "neurons", "nan", "error", "pin", "pins", "layer", "capacities"),
        *("capacity", "ending", "npus", "samples", "missing"),
    ],
)
def test_what_is_not_allowed_is_refused(
    words: tuple[str, ...], message: str, refused: Callable[..., str]
) -> None:
    assert refused("repurpose", *words).startswith(f"error: {message}")


def test_samples_that_do_not_fit_are_refused(refused: Callable[..., str], place: Path) -> None:
    np.savez(place / "d.npz", inputs=np.zeros((3, 31)))
    said = refused("repurpose", MODEL, "--workers", "4", "--calibration", "d.npz")
    assert said.endswith("fc0: must have weights for inputs of shape (31,), not for 32 channels")
    np.savez(place / "d.npz", inputs=np.full((3, 32), np.inf))
    said = refused("repurpose", MODEL, "--workers", "4", "--calibration", "d.npz")
    assert said == (
        "error: d.npz: inputs: must have numbers of at most 1e+60, not NaN, infinity or larger ones"
    )
