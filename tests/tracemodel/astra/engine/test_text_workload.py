"""A text workload of ASTRA-sim 1.0 through converter and engine, as its documentation runs it."""

from pathlib import Path

from tests.tracemodel.chakra.test_text import resnet
from tracemodel.astra.network import Dimension, Network
from tracemodel.chakra.text import from_text
from tracemodel.rank_times import RankTimes

from .nodes import run, setup


def test_resnet_50_exposes_its_last_all_reduce_alone(tmp_path: Path) -> None:
    """Data-parallel on a ring of eight: 1,082,478,600 ns, of which 28,600 are exposed."""
    net = Network([Dimension("ring", 8, 50, 500)])
    given = setup(8, network=net, preferred_dataset_splits=4, endpoint_delay=10)
    times, spans = run(given, *from_text(resnet(tmp_path), npus=8))
    # All-reduces of a few hundred bytes take their latency, and are sooner done than asked for.
    assert times == tuple(
        RankTimes(rank, 1_082_478_600, 1_082_450_000, 48 * 28_600, 47 * 28_600, 28_600)
        for rank in range(8)
    )
    assert len(spans) == 8 * (54 * 3 - 1 + 48)
