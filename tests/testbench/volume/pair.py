"""A switch of two ports with broken units to choose from, which tests of one worker share.

Two ports are enough for a broken unit to show, and quick to build. While none is chosen it is the
switch that users get.
"""

from functools import cache
from pathlib import Path

from fred_hw.protocol import ProtocolSpec
from fred_hw.spec import SwitchSpec
from testbench.faults.fault import FaultyEmitter, noticed_by
from testbench.volume.switch import build_switch

__all__ = ["FAULTS", "PAIR", "faulty_pair"]

PAIR = SwitchSpec(
    ports=2, lanes=2, format="int16", overflow="wrap", protocol=ProtocolSpec(phases=4)
)

FAULTS = noticed_by("loaded switch")


@cache
def faulty_pair() -> tuple[Path, FaultyEmitter]:
    """Return its program, and what chooses broken units."""
    emitter = FaultyEmitter(FAULTS)
    return build_switch(PAIR, emitter), emitter
