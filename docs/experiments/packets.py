"""Print how much less time a little more data take in the network model packet.

docs/explanation/wafer-model.md has the figures. Run as
``.venv/bin/python docs/experiments/packets.py``; it takes 70 s of processor time.
"""

import random
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from perfmodel.network.run import profile
from perfmodel.topology.graph import Topology
from perfmodel.topology.mesh import MeshFile

__all__ = ["MORE", "PATTERNS", "endpoints", "saved"]

SEED, NPUS, LARGEST = 1, 6, 800
PAIRS = {"ring": 200, "bidirectional_ring": 500, "direct": 1000}
"""Pairs of sizes of each algorithm."""

PATTERNS = ("all_reduce", "reduce_scatter", "all_gather", "all_to_all")
MORE = (1, 2, 8, 64)
"""Flits by which the second size of a pair is larger."""


def endpoints() -> Topology:
    """Return a mesh of 3 x 2 NPUs with the endpoints of the record."""
    return MeshFile(kind="mesh", columns=3, rows=2, endpoint_record="endpoint").build("mesh")


def saved(
    mesh: Topology, pattern: str, algorithm: str, order: Sequence[int], flits: int, more: int
) -> tuple[float, float]:
    """Return the time of some flits in a group of four and one of two, and what more flits save.

    Both are in seconds; what more flits save is negative if they take longer.
    """
    timing = mesh.endpoint
    assert timing is not None
    groups = [order[:4], order[4:]]
    before_s, after_s = (
        profile(
            mesh, pattern, count * timing.flit_bytes, groups, algorithm, network_model="packet"
        )[0].time_s
        for count in (flits, flits + more)
    )
    return before_s, before_s - after_s


def main() -> None:
    """Print a line for each algorithm."""
    mesh = endpoints()
    for algorithm, pairs in PAIRS.items():
        chance, worst, most = random.Random(SEED), "", 0.0
        patterns = [one for one in PATTERNS if algorithm == "direct" or one != "all_to_all"]
        for _ in range(pairs):
            pattern, order = chance.choice(patterns), chance.sample(range(NPUS), NPUS)
            flits, more = chance.randint(8, LARGEST), chance.choice(MORE)
            before_s, less_s = saved(mesh, pattern, algorithm, order, flits, more)
            if less_s > most * before_s:
                most = less_s / before_s
                worst = f": {pattern}, {flits} and {flits + more} flits, NPUs {order}"
        sys.stdout.write(f"{algorithm}: {pairs} pairs, up to {most:.1%} less time{worst}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
