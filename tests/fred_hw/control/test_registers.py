"""Tests of fred_hw.control.registers."""

import re
from typing import Any

import pytest

from fred_hw.control.registers import Field, Register, RegisterMap

FIELD = Field("value", 0, 32, "rw", "Bits")


def field(**changes: Any) -> Field:
    given = {"name": "a", "low": 0, "width": 4, "access": "rw", "description": "Bits"}
    return Field(**{**given, **changes})


def register(**changes: Any) -> Register:
    given = {"name": "A", "address": 0, "description": "Word", "fields": (FIELD,)}
    return Register(**{**given, **changes})


@pytest.mark.parametrize(
    ("changes", "kind", "message"),
    [
        ({"name": "A"}, ValueError, "field name must be a name in lower case, not 'A'"),
        ({"name": "a b"}, ValueError, "field name must be a name in lower case, not 'a b'"),
        ({"low": 32}, ValueError, "low of field a must be 0 to 31, not 32"),
        ({"low": -1}, ValueError, "low of field a must be 0 to 31, not -1"),
        ({"low": 29}, ValueError, "width of field a must be 1 to 3, not 4"),
        ({"width": 0}, ValueError, "width of field a must be 1 to 32, not 0"),
        ({"width": True}, TypeError, "width of field a must be an integer, not True"),
        (
            {"access": "wo"},
            ValueError,
            "access of field a must be one of constant, ro, rw, w1c, pulse, not 'wo'",
        ),
        ({"value": 16}, ValueError, "value of field a must be 0 to 15, not 16"),
        ({"access": "ro", "value": 1}, ValueError, "value of field a must be 0 to 0, not 1"),
        (
            {"access": "ro", "loads": True},
            ValueError,
            "access of field a must be rw where loads is True, not 'ro'",
        ),
        (
            {"width": 1, "names": ("x", "y", "z")},
            ValueError,
            "field a of 1 bits must have at most 2 names, not 3",
        ),
    ],
)
def test_impossible_field_is_refused(
    changes: dict[str, Any], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=f"^{re.escape(message)}$"):
        field(**changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "a"}, "register name must be a name in upper case, not 'a'"),
        ({"address": 2}, "address of A must be a multiple of 4, not 2"),
        ({"address": -4}, "address of A must be 0 or more, not -4"),
        ({"fields": ()}, "fields of A must be 1 or more, not 0"),
        (
            {"fields": (field(), field(low=4))},
            "fields of A must have different names, not ['a', 'a']",
        ),
        (
            {"fields": (field(), field(name="b", low=3))},
            "low of field b of A must be 4 or more, behind a, not 3",
        ),
        (
            {"fields": (field(low=8), field(name="b"))},
            "low of field b of A must be 12 or more, behind a, not 0",
        ),
        ({"count": 0}, "count of A must be 1 or more, not 0"),
        (
            {"total_bits": 8},
            "total_bits of A must be None unless it is an array of one field of 32 bits, not 8",
        ),
        (
            {"total_bits": 8, "count": 1, "fields": (field(),)},
            "total_bits of A must be None unless it is an array of one field of 32 bits, not 8",
        ),
        ({"total_bits": 64, "count": 3}, "total_bits of A must be 65 to 96, not 64"),
        ({"total_bits": 97, "count": 3}, "total_bits of A must be 65 to 96, not 97"),
    ],
)
def test_impossible_register_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        register(**changes)


@pytest.mark.parametrize(
    ("registers", "message"),
    [
        ((), "registers must be 1 or more, not 0"),
        ((register(), register(address=4)), "registers must have different names, not ['A', 'A']"),
        ((register(), register(name="B")), "address of B must be 0x4 or more, behind A, not 0x0"),
        (
            (register(count=4), register(name="B", address=12)),
            "address of B must be 0x10 or more, behind A, not 0xc",
        ),
        (
            (
                register(name="A_B", fields=(field(name="c"),)),
                register(address=4, fields=(field(name="b_c"),)),
            ),
            "names of registers and fields must differ joined, not ['a_b_c']",
        ),
    ],
)
def test_impossible_map_is_refused(registers: tuple[Register, ...], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        RegisterMap("m", "", registers)


def test_names_are_found_and_others_refused() -> None:
    one = register(fields=(field(), field(name="b", low=4)))
    registers = RegisterMap("m", "", (one,))
    assert registers.register("A").field("b").mask == 0xF0
    with pytest.raises(ValueError, match=r"^register must be one of A, not 'B'$"):
        registers.register("B")
    with pytest.raises(ValueError, match=r"^field of A must be one of a, b, not 'c'$"):
        one.field("c")


def test_words_follow_each_other_by_four_and_the_last_has_the_rest() -> None:
    array = register(name="B", address=8, count=3, total_bits=70)
    registers = RegisterMap("m", "", (register(), array))
    assert [(word.address, word.register.name, word.index) for word in registers.words()] == [
        (0, "A", 0),
        (8, "B", 0),
        (12, "B", 1),
        (16, "B", 2),
    ]
    assert [array.width(FIELD, index) for index in range(3)] == [32, 32, 6]


@pytest.mark.parametrize(("address", "bits"), [(0, 12), (4092, 12), (4096, 13)])
def test_address_bits_reach_the_last_word(address: int, bits: int) -> None:
    assert RegisterMap("m", "", (register(address=address),)).address_bits == bits
