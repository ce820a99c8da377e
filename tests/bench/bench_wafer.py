"""Measure the wafer model: seconds per simulated 1 GiB all-reduce and for all estimates."""

import sys
import time

from perfmodel.collectives.run import run_collective
from perfmodel.compare import compare
from perfmodel.topology.parse import FABRICS, parse_topology


def main() -> None:
    """Print a line per fabric, then the time of the whole comparison."""
    out = sys.stdout.write
    out(f"{'fabric':10} {'TB/s':>8} {'seconds':>8}\n")
    for name in FABRICS:
        topology = parse_topology(name)
        begin = time.perf_counter()
        result = run_collective(topology, "all_reduce", 2.0**30)
        seconds = time.perf_counter() - begin
        out(f"{name:10} {result.npu_bandwidth_bytes_per_s / 1e12:8.3f} {seconds:8.3f}\n")
    begin = time.perf_counter()
    rows = compare()
    out(f"{len(rows)} estimates: {time.perf_counter() - begin:.2f} s\n")


if __name__ == "__main__":
    main()
