"""Figures of docs/explanation/wafer-model.md agree with the experiments that print them."""

from docs.experiments.left_out import WORDS, with_vocabulary

from .pages import ROOT

PAGE = (ROOT / "docs/explanation/wafer-model.md").read_text("utf-8")


def test_a_larger_vocabulary_takes_little_less() -> None:
    before_s, after_s = map(with_vocabulary, WORDS)
    assert after_s >= 0.96 * before_s
    for time_s in (before_s, after_s):
        assert f"{1e3 * time_s:.2f} ms" in PAGE.replace("\n", " ")
