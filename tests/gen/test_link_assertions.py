"""Tests of gen.link_assertions: the header bits that flits may set."""

import re

import pytest

from fred_hw.protocol import Kind
from fred_hw.spec import SwitchSpec
from gen.link_assertions import link_module
from tests.fred_hw.specs import MESH

FIXED = MESH.with_changes(routing="xy").link
ADAPTIVE = MESH.with_changes(routing="odd_even_adaptive").link


def allowed(spec: SwitchSpec) -> dict[Kind, tuple[int, int]]:
    """Return the header bits that a flit of each kind may set: of a phase, and of a unicast."""
    text = link_module("rules", spec)
    found: dict[Kind, tuple[int, int]] = {}
    for kind, value in re.findall(r"3'd(\d): allowed = ([^;]+);", text):
        masks = [int(mask, 16) for mask in re.findall(r"64'h([0-9a-f]+)", value)]
        unicast, phase = masks[0], masks[-1]
        found[Kind(int(kind))] = phase, unicast
    return found


def test_kinds_set_the_fields_that_the_protocol_gives_them() -> None:
    credits_and_kind = 0b11111_1111 | 0x1FFF << 49
    flow = {"phase": 0x3F << 10 | 7 << 17, "unicast": 0x3FFF << 10}
    numbers = {
        Kind.DATA: 1 << 9 | 0xFF << 24 | 0xFF << 32 | 0x1FF << 40,
        Kind.ACK: 1 << 9 | 0xFF << 24,
        Kind.NACK: 1 << 9 | 0xFF << 24,
        Kind.ASK: 1 << 9,
    }
    others = {Kind.CREDIT: 0, Kind.SYNC: 0x1FF << 40, Kind.HANDSHAKE: 0x3FFFFFFFFF << 10}
    want = {
        kind: tuple(credits_and_kind | bits | one for one in flow.values())
        for kind, bits in numbers.items()
    }
    want |= {kind: 2 * (credits_and_kind | bits,) for kind, bits in others.items()}
    assert allowed(FIXED) == want


@pytest.mark.parametrize("kind", Kind)
def test_chosen_routes_and_loads_of_outputs_are_in_few_kinds(kind: Kind) -> None:
    """Data names the route that its source chose; acks, nacks and credits tell loads."""
    loads = 0xFFFF << 32
    more = {Kind.DATA: 1 << 62, Kind.ACK: loads, Kind.NACK: loads, Kind.CREDIT: loads}
    before, after = allowed(FIXED)[kind], allowed(ADAPTIVE)[kind]
    assert after == tuple(bits | more.get(kind, 0) for bits in before)
