"""Routes every phase of every 3D-parallel strategy on every port count; prints a table.

Returns 1 if with three middle subswitches or more a phase has a conflict or none was found.
Run as ``.venv/bin/python tests/bench/bench_routing.py [--ports 8 64] [--middle 2 3]``. A phase that
several strategies have is routed once per port count and counted once.
"""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from fred_hw.compiler.placement import phases, strategies
from fred_hw.compiler.routing import route

__all__ = ["main"]

ENOUGH = 3
"""Middle subswitches with which every phase has a route (README.md)."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Route and print, one line per port count; return 1 if a phase has no route."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--ports", type=int, nargs="+", default=list(range(2, 65)))
    parser.add_argument("--middle", type=int, nargs="+", default=[2, 3])
    options = parser.parse_args(arguments)
    columns = [
        f"{word} m={m}" for m in options.middle_switches for word in ("conflicts", "unknown")
    ]
    lines = ["  ".join(["ports", "strategies", "phases", *columns, "unproven", "seconds"])]
    routed = without = 0
    for ports in options.ports:
        began = time.perf_counter()
        found = strategies(ports)
        distinct = list(dict.fromkeys(flows for each in found for flows in phases(each).values()))
        values, unproven = [], 0
        for middle in options.middle_switches:
            results = [route(flows, ports, middle) for flows in distinct]
            counts = Counter(result.status for result in results)
            unproven += sum(r.status == "conflict" and not r.smallest for r in results)
            values += [counts["conflict"], counts["unknown"]]
            if middle >= ENOUGH:
                routed += counts["routed"]
                without += counts.total() - counts["routed"]
        seconds = time.perf_counter() - began
        numbers = [ports, len(found), len(distinct), *values, unproven, f"{seconds:.2f}"]
        cells = zip(numbers, lines[0].split("  "), strict=True)
        lines.append("  ".join(f"{number:>{len(title)}}" for number, title in cells))
        sys.stdout.write("\n".join(lines[-2:] if len(lines) == 2 else lines[-1:]) + "\n")
    verdict = "MISSED" if without else "met"
    sys.stdout.write(
        f"with {ENOUGH} middle subswitches or more all phases route: {verdict}, {routed} do and "
        f"{without} do not\n"
    )
    return int(without > 0)


if __name__ == "__main__":
    sys.exit(main())
