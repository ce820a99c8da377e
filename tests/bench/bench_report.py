"""Measure `fred report` without options: seconds of processor time of a first and a second call.

Each is to take less than ``MOST_S`` on a quiet machine. Returns 1 if one of them does not.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

MOST_S = 20.0
"""Processor time of the command and of its simulators."""

FRED = Path(sys.executable).with_name("fred")


def main() -> int:
    """Print a line per call; return 1 if one is slow."""
    slow = False
    with tempfile.TemporaryDirectory() as folder:
        for call in ("first", "second"):
            before = os.times()
            subprocess.run(
                [FRED, "report", "-o", "report"], cwd=folder, check=True, capture_output=True
            )
            after = os.times()
            seconds = after.children_user + after.children_system
            seconds -= before.children_user + before.children_system
            met = seconds < MOST_S
            slow |= not met
            verdict = f"{'meets' if met else 'MISSES'} {MOST_S:g} s"
            sys.stdout.write(f"fred report, {call} call: {seconds:.1f} s, {verdict}\n")
    return int(slow)


if __name__ == "__main__":
    sys.exit(main())
