"""Time `make demo` after set-up, and check what it prints.

The limit is wall-clock time on two cores with nothing else running. Each step is to print one line
with the number to look at, and none is to print hexadecimal words. Returns 1 if a goal is missed.
"""

import re
import subprocess
import sys
import time
from pathlib import Path

__all__ = ["LIMIT_S", "faults"]

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S = 90.0


def faults(output: str) -> list[str]:
    """Return what is wrong with the output of the demo."""
    found: list[str] = []
    _, *steps = re.split(r"^== ", output, flags=re.MULTILINE)
    if not steps:
        found.append("no step")
    for step in steps:
        looks = len(re.findall(r"^-> ", step, re.MULTILINE))
        if looks != 1:
            found.append(f"step {step.partition('.')[0]} has {looks} lines with '->', not 1")
    if words := re.findall(r"\b0x\w+", output):
        found.append(f"hexadecimal words: {' '.join(words)}")
    return found


def main() -> int:
    """Run the demo once and print its time; return 1 if it fails or a goal is missed."""
    subprocess.run(["make", "setup"], cwd=ROOT, check=True, capture_output=True)
    begun_s = time.monotonic()
    done = subprocess.run(
        ["make", "demo"], cwd=ROOT, check=False, stdout=subprocess.PIPE, text=True
    )
    seconds = time.monotonic() - begun_s
    wrong = ["make demo fails"] if done.returncode else faults(done.stdout)
    verdict = "meets" if seconds <= LIMIT_S else "MISSES"
    lines = [f"make demo: {seconds:.0f} s, {verdict} {LIMIT_S:g} s", *wrong]
    sys.stdout.write("\n".join(lines) + "\n")
    return int(bool(wrong) or seconds > LIMIT_S)


if __name__ == "__main__":
    sys.exit(main())
