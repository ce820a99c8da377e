"""Time the tests of the edit loop and what CI runs, and compare both with their limits.

The limits are wall-clock times on two cores with nothing else running. Prints a line for each
command. Returns 1 if one fails or takes longer.
"""

import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIMITS_MIN = {"make test-fast": 3.0, ".ci/run": 40.0}
"""Limits of commands [min]."""


def within(limits_min: Mapping[str, float]) -> bool:
    """Run each command and print its time; return whether all succeed within their limits."""
    right = True
    for command, limit_min in limits_min.items():
        begun_s = time.monotonic()
        status = subprocess.run(command.split(), cwd=ROOT, check=False).returncode
        minutes = (time.monotonic() - begun_s) / 60
        met = status == 0 and minutes <= limit_min
        verdict = "FAILED" if status else "meets" if met else "MISSES"
        sys.stdout.write(f"{command}: {minutes:.1f} min, {verdict} {limit_min:g} min\n")
        sys.stdout.flush()
        right &= met
    return right


if __name__ == "__main__":
    sys.exit(0 if within(LIMITS_MIN) else 1)
