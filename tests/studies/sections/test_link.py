"""Tests of studies.sections.link."""

from studies.reproduce import reproduce
from studies.section import Setting


def test_buffer_is_nine_packets_where_bandwidth_and_round_trip_make_six() -> None:
    buffer = next(row for row in reproduce(["link"], Setting("ideal")) if row.id == "link/buffer")
    assert (buffer.model, buffer.published) == (9 * 4, 6 * 4)
    assert [reading.model for reading in buffer.readings] == [6 * 4]
