"""Attack whole fabrics with random legal work, seed after seed, for some minutes.

Campaigns are those of ``testbench.campaigns``: plans of each fabric, and "loads" of strategies.

Prints each failure with a part of its plan that still fails; returns 1 if there was one.
"""

import argparse
import sys
import time
from functools import partial

from testbench.campaigns.fabrics import FABRICS
from testbench.campaigns.loads import run_loads_seed
from testbench.campaigns.run import run_seed

LOADS = "loads"
CAMPAIGNS = (*FABRICS, LOADS)


def say(text: str) -> None:
    """Print a line."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main() -> int:
    """Run all campaigns of a seed, then those of the next one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1000, help="first seed")
    parser.add_argument("--seeds", type=int, default=1 << 30, help="how many seeds at most")
    parser.add_argument("--minutes", type=float, default=10, help="time after which no seed begins")
    parser.add_argument("--campaigns", nargs="+", choices=CAMPAIGNS, default=CAMPAIGNS)
    parser.add_argument("--tries", type=int, default=40, help="runs to make a failure smaller")
    given = parser.parse_args()
    end, done, failed = time.monotonic() + 60 * given.minutes, 0, 0
    for seed in range(given.seed, given.seed + given.seeds):
        for name in given.campaigns:
            if time.monotonic() > end:
                break
            done += 1
            seen = run_loads_seed if name == LOADS else partial(run_seed, name)
            if what := seen(seed, given.tries):
                failed += 1
                say(f"FAILS: {what}")
    say(f"{done} campaigns, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
