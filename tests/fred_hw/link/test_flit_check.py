"""Contract of fred_hw.link.flit_check, cycle by cycle."""

from dataclasses import replace

from fred_hw.link.flit_check import FlitCheck
from fred_hw.protocol import CRC_BITS, HEADER_BITS, PROTOCOL_VERSION
from tests.fred_hw.simulation import trace
from tests.fred_hw.specs import CODEC, LINK, link_flit

GOOD = [CODEC.pack(k + 5, index=k, last=3, link_sequence=k) for k in range(3)]


def test_latency_is_a_cycle_and_throughput_a_flit_per_cycle() -> None:
    broken = replace(GOOD[1], crc=GOOD[1].crc ^ 1 << (CRC_BITS - 1))
    inputs = [link_flit(flit) for flit in (GOOD[0], broken, GOOD[2])] + [{}, {}]
    seen = trace(FlitCheck(spec=LINK), inputs, ["good", "bad", "header", "data"])
    assert [word[:2] for word in seen] == [(0, 0), (1, 0), (0, 1), (1, 0), (0, 0)]
    assert [word[2:] for word in seen[1:4]] == [(flit.header, flit.data) for flit in GOOD]


def test_any_wrong_bit_is_bad() -> None:
    flit = GOOD[2]
    wrong = [replace(flit, header=flit.header ^ 1 << k) for k in range(HEADER_BITS)]
    wrong += [replace(flit, data=flit.data ^ 1 << k) for k in range(16)]
    wrong += [replace(flit, crc=flit.crc ^ 1 << k) for k in range(CRC_BITS)]
    seen = trace(FlitCheck(spec=LINK), [*map(link_flit, wrong), {}], ["good", "bad"])
    assert seen == [(0, 0)] + [(0, 1)] * len(wrong)


def test_reset_forgets_the_flit() -> None:
    inputs = [link_flit(GOOD[0]) | {"rst": 1}, {}]
    assert trace(FlitCheck(spec=LINK), inputs, ["good", "bad"]) == [(0, 0)] * 2


def test_a_flit_of_another_version_is_bad_whatever_its_crc() -> None:
    flits = [CODEC.pack(5, version=k) for k in range(4)]
    seen = trace(FlitCheck(spec=LINK), [*map(link_flit, flits), {}], ["good", "bad"])
    assert seen == [(0, 0), *[(0, 1)] * PROTOCOL_VERSION, (1, 0)]
