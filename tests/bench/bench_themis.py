"""Times the plan and the simulation of 64 chunks in three dimensions; prints milliseconds.

Returns 1 if the median of an order takes 50 ms or more. Run as
``.venv/bin/python tests/bench/bench_themis.py``.
"""

import sys
import time
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from perfmodel.collectives.themis.network import QueueDimension
from perfmodel.collectives.themis.plan import POLICIES
from perfmodel.collectives.themis.run import Queuing, run_chunks

__all__ = ["main"]

GOAL_MS = 50.0
DIMENSIONS = (
    QueueDimension(8, 175 * 2.0**30, 11e-9, "fully_connected"),
    QueueDimension(16, 100 * 2.0**30, 11e-9, "ring"),
    QueueDimension(8, 50 * 2.0**30, 22e-9, "switch"),
)


def main() -> int:
    """Measure every order of dimensions; return 1 if one misses the goal."""
    missed = False
    for policy in POLICIES:
        found: list[float] = []
        for _ in range(15):
            begin = time.perf_counter()
            run_chunks(DIMENSIONS, 2.0**30, "all_reduce", Queuing(policy))
            found.append(1e3 * (time.perf_counter() - begin))
        missed |= median(found) >= GOAL_MS
        sys.stdout.write(f"{policy:16} {median(found):6.1f} ms, least {min(found):.1f} ms\n")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
