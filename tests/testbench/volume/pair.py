"""A switch of two ports with broken units to choose from, which tests of one worker share.

Two ports are enough for a broken unit to show, and quick to build. While none is chosen it is the
switch that users get.
"""

from functools import cache
from pathlib import Path

from fred_hw.protocol import ProtocolSpec
from fred_hw.spec import SwitchSpec
from testbench.faults.fault import FaultyEmitter, noticed_by
from testbench.volume.loaded_switch import build_switch

__all__ = ["PAIR", "faulty_pair"]

PAIR = SwitchSpec(
    ports=2,
    lanes=2,
    format="int16",
    overflow="wrap",
    # Phases, packets and waits are few and short, so that all of them come often.
    protocol=ProtocolSpec(
        phases=6,
        round_trip_cycles=20,
        buffer_packets=6,
        ack_interval=4,
        window_packets=16,
        timeout_cycles=600,
        nack_timeout_cycles=40,
        packet_timeout_cycles=64,
        head_of_line_timeout_cycles=20_000,
    ),
)


@cache
def faulty_pair() -> tuple[Path, FaultyEmitter]:
    """Return its program, and what chooses broken units."""
    emitter = FaultyEmitter(noticed_by("loaded switch") | noticed_by("loaded fabric"))
    return build_switch(PAIR, emitter), emitter
