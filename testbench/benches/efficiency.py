"""Utilization of links at full load: shares of data, acks and other flits."""

from collections import Counter
from collections.abc import Iterable

from fred_hw.protocol import CRC_BITS, HEADER_BITS, KINDS
from fred_hw.published import FLIT_BYTES
from testbench.agents.axis import StreamMonitor
from testbench.agents.switch import SwitchBench

__all__ = ["shares"]

HEADER_AND_CRC = HEADER_BITS + CRC_BITS
PAYLOAD_BITS = 8 * FLIT_BYTES  # of a flit in the paper


def shares(bench: SwitchBench, watches: Iterable[StreamMonitor]) -> dict[str, float]:
    """Return shares of link cycles between the first and the last ack among data.

    That one is left out, so that each ack counts with the packets it is for.

    Parameters
    ----------
    bench : SwitchBench
        Whose flits they carry.
    watches : iterable of StreamMonitor
        Links that have carried data and acks at full load.
    """
    cycles = 0
    kinds: Counter[str] = Counter()
    for watch in watches:
        seen = [(beat.cycle, KINDS[bench.codec.unpack(beat.flit)["kind"]]) for beat in watch.beats]
        busy = max(cycle for cycle, kind in seen if kind == "data")
        acks = [cycle for cycle, kind in seen if kind == "ack" and cycle <= busy]
        first, last = acks[0], acks[-1]
        cycles += last - first
        kinds.update(kind for cycle, kind in seen if first <= cycle < last)
    data = kinds["data"] / cycles
    return {
        "data_flits_per_cycle": data,
        "ack_share": kinds["ack"] / cycles,
        "control_share": (kinds.total() - kinds["data"]) / cycles,
        "header_and_crc_bits": HEADER_AND_CRC,
        "payload_share": data * PAYLOAD_BITS / (PAYLOAD_BITS + HEADER_AND_CRC),
    }
