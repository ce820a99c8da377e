"""Tests of fred_hw.link.crc: against Amaranth's model of the catalogue, and what it must detect."""

import random
from itertools import combinations

import pytest
from amaranth.lib.crc.catalog import CRC32_ISCSI
from hypothesis import given, settings
from hypothesis import strategies as st

from fred_hw.link.crc import FlitCrc, crc_masks
from fred_hw.protocol import CRC_BITS, HEADER_BITS
from tests.fred_hw.simulation import trace

LARGEST = HEADER_BITS + 4096


def crc(word: int, width: int) -> int:
    masks, zero = crc_masks(width)
    parities = sum(((word & mask).bit_count() & 1) << place for place, mask in enumerate(masks))
    return parities ^ zero


def test_check_value_of_the_catalogue() -> None:
    # CRC-32/ISCSI of "123456789".
    assert crc(int.from_bytes(b"123456789", "little"), 72) == 0xE3069283


@settings(max_examples=50, deadline=None)
@given(st.binary(min_size=1, max_size=80))
def test_masks_are_the_crc_of_the_catalogue(text: bytes) -> None:
    expected = CRC32_ISCSI(data_width=8).compute(text)
    assert crc(int.from_bytes(text, "little"), 8 * len(text)) == expected


def syndromes(width: int) -> list[int]:
    """Return for each bit of flit and CRC what an error there changes."""
    masks, _ = crc_masks(width)
    data = [
        sum((mask >> bit & 1) << place for place, mask in enumerate(masks)) for bit in range(width)
    ]
    return [*data, *(1 << place for place in range(CRC_BITS))]


@pytest.mark.slow
def test_largest_flit_shows_every_error_of_up_to_four_bits() -> None:
    # No error of 2 + 2 bits or less cancels: all sums of one and of two syndromes differ. Three
    # and four bits cancel only if two such sums are equal.
    found = syndromes(LARGEST)
    assert len(set(found)) == len(found) and 0 not in found
    pairs = set()
    for a, b in combinations(found, 2):
        pairs.add(a ^ b)
    assert len(pairs) == len(found) * (len(found) - 1) // 2
    assert 0 not in pairs and pairs.isdisjoint(found)


def test_largest_flit_shows_bursts() -> None:
    rng, found = random.Random(1), syndromes(LARGEST)
    for first in range(LARGEST - 32):
        length = rng.randint(2, 32)
        inside = rng.getrandbits(length) | 1 | 1 << (length - 1)
        error = 0
        for place in range(length):
            if inside >> place & 1:
                error ^= found[first + place]
        assert error


@pytest.mark.parametrize("data_width", [8, 32, 512])
def test_latency_is_a_cycle_and_throughput_a_flit_per_cycle(data_width: int) -> None:
    rng = random.Random(data_width)
    words = [rng.getrandbits(HEADER_BITS + data_width) for _ in range(20)]
    inputs = [{"word": word} for word in [*words, 0]]
    got = trace(FlitCrc(data_width=data_width), inputs, ["crc"])
    assert got[1:] == [crc(word, HEADER_BITS + data_width) for word in words]


@pytest.mark.parametrize(
    ("data_width", "message"),
    [
        (13, "FlitCrc data_width must be a multiple of 8, not 13"),
        (0, "FlitCrc data_width must be 8 or more, not 0"),
        (True, "FlitCrc data_width must be an integer, not True"),
    ],
)
def test_wrong_width_is_refused(data_width: int, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=f"^{message}$"):
        FlitCrc(data_width=data_width)
