"""Register descriptions, from which hardware, pages and software access derive."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from fred_hw.checks import check_choice, check_int

__all__ = ["ACCESSES", "WORD_BITS", "WORD_BYTES", "Field", "Register", "RegisterMap", "Word"]

WORD_BITS = 32
WORD_BYTES = 4

ACCESSES = {
    "constant": "reads a fixed value",
    "ro": "reads a value from the hardware",
    "rw": "reads the value that software wrote or the hardware loaded",
    "w1c": "reads 1 after the hardware has set the bit; writing 1 clears it",
    "pulse": "a written value acts once; reads 0",
}
"""Effects of reading and writing a field."""

_FIELD_NAME = re.compile(r"[a-z][a-z0-9_]*")
_REGISTER_NAME = re.compile(r"[A-Z][A-Z0-9_]*")


@dataclass(frozen=True)
class Field:
    """Bit field of a register.

    Parameters
    ----------
    name : str
        Name in lower case.
    low : int
        Position of the lowest bit, 0 to 31.
    width : int
        Number of bits; none may be beyond bit 31.
    access : str
        One of ``ACCESSES``.
    description : str
        One sentence without its full stop.
    value : int
        Value of a constant, or of an ``rw`` field after reset; 0 for all others.
    loads : bool
        Whether the hardware can load the field, which must be ``rw``.
    names : tuple of str
        Names of the values 0, 1 and so on, in lower case, if they have any.

    Raises
    ------
    TypeError, ValueError
        A parameter has a wrong type, or is out of range.
    """

    name: str
    low: int
    width: int
    access: str
    description: str
    value: int = 0
    loads: bool = False
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not _FIELD_NAME.fullmatch(self.name):
            raise ValueError(f"field name must be a name in lower case, not {self.name!r}")
        check_int(f"low of field {self.name}", self.low, minimum=0, maximum=WORD_BITS - 1)
        space = WORD_BITS - self.low
        check_int(f"width of field {self.name}", self.width, minimum=1, maximum=space)
        check_choice(f"access of field {self.name}", self.access, ACCESSES)
        most = (1 << self.width) - 1 if self.access in ("constant", "rw") else 0
        check_int(f"value of field {self.name}", self.value, minimum=0, maximum=most)
        if len(self.names) > 1 << self.width:
            raise ValueError(
                f"field {self.name} of {self.width} bits must have at most "
                f"{1 << self.width} names, not {len(self.names)}"
            )
        if self.loads and self.access != "rw":
            raise ValueError(
                f"access of field {self.name} must be rw where loads is True, not {self.access!r}"
            )

    @property
    def mask(self) -> int:
        """The bits of the field in its register."""
        return ((1 << self.width) - 1) << self.low

    @property
    def writable(self) -> bool:
        """Whether a write has an effect."""
        return self.access in ("rw", "w1c", "pulse")


@dataclass(frozen=True)
class Register:
    """A 32-bit register, or an array of successive registers.

    Parameters
    ----------
    name : str
        Name in upper case.
    address : int
        Address of the first word [bytes], a multiple of 4.
    description : str
        One sentence or more.
    fields : tuple of Field
        Fields, the lowest first; other bits read 0 and ignore writes.
    count : int, optional
        Words of an array, 1 or more; without it the register is no array.
    total_bits : int, optional
        Total bits of an array with one field of 32 bits; the last word holds the remaining bits.
    lockable : bool
        Whether writes are refused while the hardware is busy.

    Raises
    ------
    TypeError, ValueError
        A parameter has a wrong type or is out of range, fields overlap, or two have one name.
    """

    name: str
    address: int
    description: str
    fields: tuple[Field, ...]
    count: int | None = None
    total_bits: int | None = None
    lockable: bool = False

    def __post_init__(self) -> None:
        if not _REGISTER_NAME.fullmatch(self.name):
            raise ValueError(f"register name must be a name in upper case, not {self.name!r}")
        check_int(f"address of {self.name}", self.address, minimum=0)
        if self.address % WORD_BYTES:
            raise ValueError(
                f"address of {self.name} must be a multiple of {WORD_BYTES}, not {self.address}"
            )
        if not self.fields:
            raise ValueError(f"fields of {self.name} must be 1 or more, not 0")
        names = [field.name for field in self.fields]
        if len(set(names)) < len(names):
            raise ValueError(f"fields of {self.name} must have different names, not {names}")
        for one, other in zip(self.fields, self.fields[1:], strict=False):
            if other.low < one.low + one.width:
                raise ValueError(
                    f"low of field {other.name} of {self.name} must be {one.low + one.width} or "
                    f"more, behind {one.name}, not {other.low}"
                )
        if self.count is not None:
            check_int(f"count of {self.name}", self.count, minimum=1)
        if self.total_bits is not None:
            self._check_total(self.total_bits)

    def _check_total(self, total: int) -> None:
        """Fail if the bits of an array's only field do not end in its last word."""
        if self.count is None or len(self.fields) > 1 or self.fields[0].width != WORD_BITS:
            raise ValueError(
                f"total_bits of {self.name} must be None unless it is an array of one field of "
                f"{WORD_BITS} bits, not {total}"
            )
        fewest, most = (self.count - 1) * WORD_BITS + 1, self.count * WORD_BITS
        check_int(f"total_bits of {self.name}", total, minimum=fewest, maximum=most)

    @property
    def words(self) -> int:
        """Number of words of the register."""
        return 1 if self.count is None else self.count

    @property
    def end(self) -> int:
        """First address after the register."""
        return self.address + WORD_BYTES * self.words

    @property
    def writable(self) -> bool:
        """Whether a write is answered with OKAY."""
        return any(field.writable for field in self.fields)

    def width(self, field: Field, index: int) -> int:
        """Return the bits of a field in one word of the register."""
        if self.total_bits is not None and index == self.words - 1:
            return self.total_bits - WORD_BITS * index
        return field.width

    def field(self, name: str) -> Field:
        """Return the field with a given name.

        Raises
        ------
        ValueError
            The register has no such field.
        """
        for field in self.fields:
            if field.name == name:
                return field
        known = ", ".join(field.name for field in self.fields)
        raise ValueError(f"field of {self.name} must be one of {known}, not {name!r}")


@dataclass(frozen=True)
class Word:
    """One word of a map: its address, and its position in the register."""

    address: int
    register: Register
    index: int


@dataclass(frozen=True)
class RegisterMap:
    """All registers of one slave.

    Parameters
    ----------
    name : str
        Part of generated names; maps of equal names are equal.
    description : str
        Paragraphs above the table.
    registers : tuple of Register
        Registers in the order of their addresses.

    Raises
    ------
    ValueError
        Registers overlap, or two have one name.
    """

    name: str
    description: str
    registers: tuple[Register, ...]

    def __post_init__(self) -> None:
        if not self.registers:
            raise ValueError("registers must be 1 or more, not 0")
        names = [register.name for register in self.registers]
        if len(set(names)) < len(names):
            raise ValueError(f"registers must have different names, not {names}")
        joined = [
            f"{one.name}_{field.name}".lower() for one in self.registers for field in one.fields
        ]
        twice = sorted({name for name in joined if joined.count(name) > 1})
        if twice:
            # Register A_B with field c, and A with field b_c, would get the same generated name.
            raise ValueError(f"names of registers and fields must differ joined, not {twice}")
        for one, other in zip(self.registers, self.registers[1:], strict=False):
            if other.address < one.end:
                raise ValueError(
                    f"address of {other.name} must be {one.end:#x} or more, behind {one.name}, "
                    f"not {other.address:#x}"
                )

    @property
    def address_bits(self) -> int:
        """Bits of an address, at least 12 (the smallest page)."""
        return max(12, (self.registers[-1].end - 1).bit_length())

    @cached_property
    def _by_name(self) -> dict[str, Register]:
        return {register.name: register for register in self.registers}

    def register(self, name: str) -> Register:
        """Return the register with a given name.

        Raises
        ------
        ValueError
            The map has no such register.
        """
        if name not in self._by_name:
            known = ", ".join(self._by_name)
            raise ValueError(f"register must be one of {known}, not {name!r}")
        return self._by_name[name]

    def words(self) -> Iterator[Word]:
        """Yield every word in the order of addresses."""
        for register in self.registers:
            for index in range(register.words):
                yield Word(register.address + WORD_BYTES * index, register, index)
