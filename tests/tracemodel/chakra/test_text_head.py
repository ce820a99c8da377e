"""Tests of tracemodel.chakra.text_head."""

import pytest

from fred_hw.errors import InputError
from tracemodel.chakra.text_head import TextHead, parse_head

KNOWN = ("DATA", "HYBRID_DLRM", "HYBRID_TRANSFORMER", "HYBRID_TRANSFORMER_FWD_IN_BCKWD")
GPT = "HYBRID_TRANSFORMER_FWD_IN_BCKWD"


def parsed(line: str, layers: int = 8) -> TextHead:
    words = line.split()
    return parse_head(words, words[0], KNOWN, layers, "w.txt", 1)


def test_head_says_what_its_parallelism_needs() -> None:
    assert parsed("DATA") == TextHead("DATA")
    assert parsed("HYBRID_DLRM 3") == TextHead("HYBRID_DLRM", 3)
    group = "model_parallel_NPU_group: 4"
    assert parsed(f"HYBRID_TRANSFORMER {group}") == TextHead("HYBRID_TRANSFORMER", 0, 4)
    line = f"{GPT} {group} checkpoints: 2 0 4 checkpoint_initiates: 2 7 3"
    assert parsed(line) == TextHead(GPT, 0, 4, {3: 0, 7: 4})
    assert parsed(f"{GPT} {group} checkpoints: 0 checkpoint_initiates: 0").recomputed == {}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("HYBRID_CUSTOMIZED x: 1", "must begin with one of DATA, .*, not 'HYBRID_CUSTOMIZED'"),
        ("DATA x", "the last bottom layer must be an integer .*, not 'x'"),
        ("HYBRID_TRANSFORMER", "HYBRID_TRANSFORMER must have model_parallel_NPU_group: N, .*"),
        (
            "HYBRID_TRANSFORMER checkpoints: 1 0",
            "HYBRID_TRANSFORMER must have only the keys model_parallel_NPU_group:, not 'check.*",
        ),
        (
            f"{GPT} model_parallel_NPU_group: 8 ep: 1 pp: 1",
            f"{GPT} must have only the keys .*, checkpoint_initiates:, not 'ep:'",
        ),
        (f"{GPT} model_parallel_NPU_group: 0", f"{GPT} must have model_parallel_NPU_group: N, .*"),
        (f"{GPT} model_parallel_NPU_group:", "model_.*: must be an integer from 0 .*, not ''"),
        (f"{GPT} checkpoints: 2 0", "a layer of checkpoints: must be an integer .*, not ''"),
        (f"{GPT} checkpoints: 1 8", "checkpoints: must be layers 0 to 7, not 8"),
        (
            f"{GPT} model_parallel_NPU_group: 2 checkpoints: 1 3 checkpoint_initiates: 1 2",
            "checkpoint_initiates: layer 2 must not be a checkpoint, and must have one before it",
        ),
        (
            f"{GPT} model_parallel_NPU_group: 2 checkpoints: 2 0 2 checkpoint_initiates: 1 2",
            "checkpoint_initiates: layer 2 must not be a checkpoint, and must have one before it",
        ),
        (
            f"{GPT} model_parallel_NPU_group: 2 checkpoints: 1 0 checkpoint_initiates: 2 2 5",
            "checkpoint_initiates: layer 5 must not .*, and must have one before it, after layer 2",
        ),
    ],
)
def test_bad_head_is_refused(line: str, message: str) -> None:
    with pytest.raises(InputError, match=rf"^w\.txt: line 1: {message}$"):
        parsed(line)
