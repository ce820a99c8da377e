"""Who has waited for long in fred_hw.switch.scheduler, cycle by cycle."""

from fred_hw.switch.scheduler import LATE_CYCLES, SEEK_CYCLES
from tests.fred_hw.specs import LINK
from tests.fred_hw.switch.test_scheduler import (
    DP,
    EQUAL,
    HIGH,
    LOAD,
    LOW,
    MP,
    ONLINE,
    PP,
    RUNS,
    STANDS,
    loads,
    seen,
    unicast,
    waits,
)

BOTH = waits(0, PP, 3) | waits(1, PP, 3)
"""All of phase 3."""
FULL = {"ports[3].space": 0}
"""Phase 2 has no space, as is seen."""


def test_what_is_claimed_is_ready_whatever_space_is_seen() -> None:
    assert loads([EQUAL | FULL | STANDS] * 6) == []
    assert loads([EQUAL | FULL | STANDS | {"claims": 1 << 2}] * 6) == [(3, 2)]
    # No unicast reaches its output.
    lone = unicast(DP) | {"ports[3].reaches": 0}
    claim = {"claims": 1 << LINK.protocol.phases + DP}
    assert loads([lone | STANDS] * 6) == []
    assert loads([lone | STANDS | claim] * 6) == [(2, ONLINE)]


def test_of_a_circuit_that_is_held_only_what_claims_is_chosen() -> None:
    held = LOW | EQUAL | unicast(PP) | STANDS | {"holds": 0b110, "claims": 1 << 2}
    assert loads([held] * 20) == [(2, 2)]
    assert loads([held | {"claims": 0}] * 20) == []
    assert loads([held | HIGH] * 12)[0] == (2, 1)


def test_unicasts_give_way_at_once_to_who_has_waited_for_long() -> None:
    # One starts in every third cycle, so that there is never nothing for as long as they seek.
    runs = {"service.ran": 1 << MP, "service.under": 1 << MP}
    cycles = [LOW | unicast(MP) | (STANDS if t % 3 else runs) for t in range(2 * LATE_CYCLES)]
    found = loads([unicast(MP) | STANDS] * 3 + cycles)
    assert found[0] == (2, ONLINE)
    assert found[1][1] == 0
    assert LATE_CYCLES < found[1][0] < LATE_CYCLES + 3 + 2 * SEEK_CYCLES


def test_unicasts_that_give_way_do_so_whatever_comes_meanwhile() -> None:
    # An urgent unicast comes while the packet of a less urgent one is still under way.
    slow = RUNS | {"service.under": 1 << DP}
    cycles = [*[unicast(DP) | STANDS] * 4, slow, *[BOTH | slow] * 4]
    urgent = [unicast(MP) | BOTH | slow] * 4
    found = seen([*cycles, *urgent, BOTH], ["service.leaving", LOAD])
    assert found[len(cycles) :] == [*[(1, 0)] * 4, (1, 1)]
    # Without a phase that is ready they go on.
    found = seen([*cycles[:5], *[unicast(MP) | slow] * 6], ["service.leaving", LOAD])
    assert found[5:] == [(0, 0)] * 6
