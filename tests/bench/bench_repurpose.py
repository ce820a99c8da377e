"""Times placement, pruning and refit of a 4,096 x 4,096 layer on 16 workers.

Prints seconds, and those of processor time, which other work on the machine changes less.
Returns 1 if a form takes 60 s or more. Run as ``.venv/bin/python tests/bench/bench_repurpose.py``.
"""

import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from perfmodel.repurpose.calibrated import calibrate
from perfmodel.repurpose.crossings import crossings
from perfmodel.repurpose.network import INPUT, Network
from perfmodel.repurpose.operations import Linear
from perfmodel.repurpose.pruning import Penalties
from perfmodel.repurpose.restructure import Options, restructure

__all__ = ["main"]

GOAL_S = 60.0
SIZE, WORKERS, SAMPLES = 4096, 16, 512
PENALTIES = (Penalties(1e-5, 3e-3, "activation"), Penalties(1e-5, 5e-4, "edge"))


def main() -> int:
    """Measure both forms on a layer with hidden blocks; return 1 if one misses the goal."""
    rng = np.random.default_rng(1)
    block = SIZE // WORKERS
    hidden = rng.permutation(SIZE) // block
    weights = rng.normal(size=(SIZE, SIZE)) / np.sqrt(block)
    weights *= np.where(hidden[:, None] == np.arange(SIZE)[None, :] // block, 1.0, 0.1)
    layer = Linear("fc", (INPUT,), weights, rng.normal(size=SIZE))
    inputs = rng.normal(size=(SAMPLES, SIZE))
    missed = False
    for penalties in PENALTIES:
        begin, begin_cpu = time.perf_counter(), time.process_time()
        made = restructure(
            calibrate(Network("bench", (layer,)), inputs), Options(WORKERS, penalties)
        )
        seconds, spent = time.perf_counter() - begin, time.process_time() - begin_cpu
        missed |= seconds >= GOAL_S
        crossing = sum(one.activations for one in crossings(made))
        found = np.mean(made.owners("fc") == hidden)
        sys.stdout.write(
            f"{penalties.form:10} {seconds:5.1f} s, {spent:5.1f} s of processor time, "
            f"{crossing:6,} of {SIZE * (WORKERS - 1):,} activations cross, {found:.1%} of the "
            "neurons with their block\n"
        )
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
