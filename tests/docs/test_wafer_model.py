"""Figures of docs/explanation/wafer-model.md agree with the experiments that print them."""

import pytest

from docs.experiments.left_out import WORDS, with_vocabulary
from perfmodel.network.run import run_collective
from perfmodel.topology.parse import FABRICS, shared_topology

from .pages import ROOT

PAGE = (ROOT / "docs/explanation/wafer-model.md").read_text("utf-8")


def test_a_larger_vocabulary_takes_little_less() -> None:
    before_s, after_s = map(with_vocabulary, WORDS)
    assert after_s >= 0.96 * before_s
    for time_s in (before_s, after_s):
        assert f"{1e3 * time_s:.2f} ms" in PAGE.replace("\n", " ")


@pytest.mark.parametrize("name", [one for one in FABRICS if one.startswith("fred")])
def test_the_published_all_to_all_takes_its_printed_multiple_of_the_latency(name: str) -> None:
    fabric = shared_topology(name)
    latency_us, published_us = (
        1e6 * run_collective(fabric, "all_to_all", 1.0, algorithm=algorithm).time_s
        for algorithm in ("whole_all_gather:multicasts", "published")
    )
    text = f"{published_us / latency_us:.0f} times the latency of the longest route, "
    assert f"{text}{published_us:.3f} µs instead of {latency_us:.3f} µs" in PAGE.replace("\n", " ")
