"""Measure the link: rate, control flits, and volume with pauses and faults, all of it checked."""

import sys
import time
from typing import Any

from fred_hw.link.spec import HEADER_BITS, LinkSpec
from testbench.link import build_link, run_link

CRC_BITS = 32


def main() -> int:
    """Print a line per run; return 1 if a flit was lost or wrong."""
    out = sys.stdout.write
    bad = 0
    full = LinkSpec()
    for room in (6, 7):
        program = build_link(LinkSpec(flit_bytes=4, buffer_packets=room))
        found = run_link(program, flits=2_000_000, delay=20, fixed=True)
        rate, control = (
            found["flits"] / found["span_cycles"],
            found["control_flits"] / found["flits"],
        )
        payload = full.data_width / (full.data_width + HEADER_BITS + CRC_BITS)
        out(
            f"{room} packets of room: {rate:.4f} flits per cycle, {control:.4f} control flits per "
            f"flit, payload {payload * rate / (1 + control):.4f} of the link at 512 B flits\n"
        )
    runs: dict[str, dict[str, Any]] = {
        "random pauses": {"flits": 10_000_000, "stall_percent": 30},
        "faults": {"flits": 2_000_000, "stall_percent": 20, "faults_per_million": 6_000},
        "many faults": {"flits": 300_000, "faults_per_million": 100_000},
    }
    for name, options in runs.items():
        begin = time.perf_counter()
        found = run_link(program, seed=1, **options)
        right = found["matched"] == found["flits"] and found["wrong"] == 0
        bad += not right
        out(
            f"{name}: {found['matched']:,} of {found['flits']:,} flits, {found['wrong']} wrong, "
            f"{found['faults']:,} faults, {found['retransmissions']:,} times back, "
            f"{time.perf_counter() - begin:.1f} s\n"
        )
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
