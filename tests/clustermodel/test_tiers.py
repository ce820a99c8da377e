"""Tests of clustermodel.tiers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clustermodel.tiers import ACCESS, MemoryTier, effective_bandwidth, expanded_share

LOCAL, SLOW = MemoryTier(80e9, 2e12), MemoryTier(240e9, 0.5e12)


@pytest.mark.parametrize("access", ACCESS)
def test_what_fits_the_local_memory_has_its_bandwidth(access: str) -> None:
    assert effective_bandwidth(80e9, LOCAL, SLOW, access) == 2e12
    assert effective_bandwidth(80e9, LOCAL, None, access) == 2e12
    assert expanded_share(80e9, LOCAL) == 0


def test_bandwidths_worked_by_hand() -> None:
    # Half of 160 GB is in the second memory, three quarters of 320 GB.
    assert effective_bandwidth(160e9, LOCAL, SLOW, "serial") == pytest.approx(0.8e12)
    assert effective_bandwidth(160e9, LOCAL, SLOW, "striped") == pytest.approx(1e12)
    assert effective_bandwidth(320e9, LOCAL, SLOW, "serial") == pytest.approx(1e12 / 1.625)
    assert expanded_share(320e9, LOCAL) == pytest.approx(0.75)
    # Striped, a tenth outside is as fast as both have work: 2 TB/s / 0.9.
    small = 80e9 / 0.9
    assert effective_bandwidth(small, LOCAL, SLOW, "striped") == pytest.approx(2e12 / 0.9)


@pytest.mark.parametrize("access", ACCESS)
def test_what_does_not_fit_has_none(access: str) -> None:
    assert effective_bandwidth(81e9, LOCAL, None, access) is None
    assert effective_bandwidth(321e9, LOCAL, SLOW, access) is None


@pytest.mark.parametrize("access", ACCESS)
def test_without_a_local_memory_the_bandwidth_is_that_of_the_second(access: str) -> None:
    assert expanded_share(1e9, MemoryTier(0, 2e12)) == 1
    assert effective_bandwidth(1e9, MemoryTier(0, 2e12), SLOW, access) == pytest.approx(0.5e12)


@given(st.floats(81e9, 320e9), st.floats(1, 100e9), st.sampled_from([1.0, 1.5, 8.0]))
def test_serial_bandwidth_falls_with_what_is_outside(
    size: float, more: float, faster: float
) -> None:
    larger = MemoryTier(1e15, SLOW.bytes_per_s)
    one = effective_bandwidth(size, LOCAL, larger, "serial")
    other = effective_bandwidth(size + more, LOCAL, larger, "serial")
    assert one is not None and other is not None and other < one < LOCAL.bytes_per_s
    for access in ACCESS:
        before = effective_bandwidth(size, LOCAL, larger, access)
        after = effective_bandwidth(size, LOCAL, MemoryTier(1e15, faster * 0.5e12), access)
        assert before is not None and after is not None and after >= before
