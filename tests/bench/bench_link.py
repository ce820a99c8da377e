"""Measure the link: rate, control flits, and volume with pauses and faults, all of it checked."""

import sys
import time
from typing import Any

from fred_hw.protocol import CRC_BITS, HEADER_BITS
from fred_hw.published import FLIT_BYTES
from fred_hw.spec import SwitchSpec
from testbench.volume.link import ALL_FLOWS, LinkRun, build_link, run_link

DATA_BITS = 8 * FLIT_BYTES


def main() -> int:
    """Print a line per run; return 1 if a flit was lost or wrong, or a rule was broken."""
    out = sys.stdout.write
    bad = 0
    program = build_link(SwitchSpec(ports=2, lanes=2))
    payload = DATA_BITS / (DATA_BITS + HEADER_BITS + CRC_BITS)
    for name, flows in {"one flow": (0,), "six flows, both directions": ALL_FLOWS}.items():
        found = run_link(program, LinkRun(flits=2_000_000, fixed=True, flows=flows))
        bad += not found["right"]
        directions = len({flow // 3 for flow in flows})
        sent = [found[f"from_{end}"] for end in range(2)]
        # Acks cross against the payload that they are for; credits ride along with it, if any goes.
        acks = sum(one["ack"] + one["nack"] for one in sent) / found["flits"]
        credit = sum(one["credit"] for one in sent) / found["flits"]
        rate = found["flits"] / directions / found["span_cycles"]
        out(
            f"{name}: {rate:.4f} flits per cycle and direction, {acks:.4f} acks and {credit:.4f} "
            f"credit flits per flit, payload {payload * rate:.4f} of the link at 512 B flits\n"
        )
    runs: dict[str, dict[str, Any]] = {
        "random pauses": {"flits": 10_000_000, "stall_percent": 30, "rounds": 50},
        "faults": {"flits": 10_000_000, "stall_percent": 20, "faults_per_million": 1_000},
        "many faults": {"flits": 300_000, "faults_per_million": 50_000, "rounds": 10},
    }
    for name, options in runs.items():
        begin = time.perf_counter()
        found = run_link(program, LinkRun(seed=1, **options))
        bad += not found["right"]
        out(
            f"{name}: {found['matched']:,} of {found['flits']:,} flits, {found['wrong']} wrong, "
            f"{found['violations']} rules broken, {sum(found['faults'].values()):,} faults, "
            f"{found['rewinds']:,} rewinds, {time.perf_counter() - begin:.1f} s\n"
        )
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
