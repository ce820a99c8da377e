"""Tests of fred_hw.visible."""

import sys
import unicodedata

import pytest

from fred_hw.visible import visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("größe µ 名\ta\nb", "größe µ 名\ta\nb"),
        ("\x1b[31mred\x07\r\x7f\x9b", "\\x1b[31mred\\x07\\r\\x7f\\x9b"),
        ("a\u2028b\u202ec\ufeff", "a\\u2028b\\u202ec\\ufeff"),
        ("\udcff\ud800", "\\udcff\\ud800"),
        ("\U000e0001", "\\U000e0001"),
    ],
)
def test_what_does_not_print_is_escaped(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_no_control_character_is_left() -> None:
    kept = {one for one in map(chr, range(sys.maxunicode + 1)) if visible(one) == one}
    categories = {unicodedata.category(one) for one in kept - {"\n", "\t"}}
    assert not categories & {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
