"""Tests of perfmodel.endpoint.closed_forms."""

import pytest

from perfmodel.endpoint.closed_forms import bandwidth_reduction, ring_reads, sent_per_byte

TORI = [(4, 2, 2), (4, 4, 2), (4, 4, 4), (4, 8, 4), (4, 8, 8)]


@pytest.mark.parametrize(("members", "reads"), [(2, 1), (4, 8 / 6), (8, 20 / 14), (16, 44 / 30)])
def test_reads_of_a_ring_approach_one_and_a_half(members: int, reads: float) -> None:
    assert ring_reads(members) == pytest.approx(reads, rel=1e-15)


@pytest.mark.parametrize(
    ("members", "printed"), [(4, "1.33"), (8, "1.43"), (16, "1.47"), (10_000, "1.50")]
)
def test_reads_of_a_ring_are_the_published_ones(members: int, printed: str) -> None:
    assert f"{ring_reads(members):.2f}" == printed


@pytest.mark.parametrize(
    ("torus", "sent", "reduction"),
    [
        ((4, 2, 2), 2.0, "3.00"),
        ((4, 4, 2), 2.125, "3.19"),
        ((4, 4, 4), 2.25, "3.38"),
        ((4, 8, 4), 2.3125, "3.47"),
        ((4, 8, 8), 2.375, "3.56"),
    ],
)
def test_four_phases_send_and_save_the_published_bytes(
    torus: tuple[int, ...], sent: float, reduction: str
) -> None:
    assert sent_per_byte(torus) == sent
    assert f"{bandwidth_reduction(torus):.2f}" == reduction


def test_reduction_of_a_cube_and_on_average() -> None:
    assert bandwidth_reduction((4, 4, 4)) == 3.375
    large = [bandwidth_reduction(one) for one in TORI[2:]]
    assert 3.3 < sum(large) / len(large) < 3.6


def test_one_dimension_is_a_ring() -> None:
    assert sent_per_byte((8,)) == 2 * 7 / 8


def test_a_ring_of_one_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^members must be 2 or more, not 1$"):
        ring_reads(1)
