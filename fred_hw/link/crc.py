"""CRC of a whole flit in one cycle."""

from collections.abc import Sequence

from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib.crc import Algorithm
from amaranth.lib.wiring import In, Out

from fred_hw.checks import check_int
from fred_hw.member import member
from fred_hw.protocol import CRC_BITS, CRC_POLYNOMIAL, CRC_REFLECTED, HEADER_BITS
from fred_hw.unit import Unit

__all__ = ["CRC", "FlitCrc", "crc_masks"]

CRC = Algorithm(
    crc_width=CRC_BITS,
    polynomial=CRC_POLYNOMIAL,
    initial_crc=(1 << CRC_BITS) - 1,
    reflect_input=True,
    reflect_output=True,
    xor_output=(1 << CRC_BITS) - 1,
)
"""The CRC of flits, in Amaranth's description."""


def crc_masks(width: int) -> tuple[Sequence[int], int]:
    """Return, for each bit of the CRC, the word bits of its parity and a constant.

    The CRC is linear: that of a word is the exclusive or of those of its bits, and of the
    constant, which is the CRC of 0. Bit 0 goes first, as in a byte string with the low byte first.

    Parameters
    ----------
    width : int
        Bits of the word, a multiple of 8.
    """
    masks = [0] * CRC_BITS
    state = CRC_REFLECTED  # state of a word in which only the last bit is set
    for bit in reversed(range(width)):
        for place in range(CRC_BITS):
            masks[place] |= (state >> place & 1) << bit
        state = state >> 1 ^ (CRC_REFLECTED if state & 1 else 0)
    zero = CRC(data_width=8).compute(bytes(width // 8))
    return masks, zero


class FlitCrc(Unit):
    """Compute the CRC of header and payload.

    Each bit is the parity of some bits of the word. (Amaranth's own generator makes a chain of
    gates for each bit, which is too deep for its converter from a few hundred bits on.)

    Parameters
    ----------
    data_width : int
        Bits of payload, a multiple of 8.

    Timing
    ------
    Latency : 1 cycle, from ``word`` to ``crc``.
    Throughput : one flit per cycle.
    Paths : none.
    Reset : none; a CRC means something a cycle after its word.

    Raises
    ------
    TypeError
        ``data_width`` is no integer.
    ValueError
        ``data_width`` is no multiple of 8, or below 8.
    """

    word = member(In, lambda u: HEADER_BITS + u.data_width)
    """Header in the low bits, payload above."""
    crc = member(Out, CRC_BITS)
    """Its CRC-32C."""

    resettable = False

    def __init__(self, *, data_width: int) -> None:
        self.data_width = check_int("FlitCrc data_width", data_width, minimum=8)
        if data_width % 8:
            raise ValueError(f"FlitCrc data_width must be a multiple of 8, not {data_width}")
        self.unit_name = f"flit_crc_w{data_width}"
        super().__init__()

    def build(self, m: Module) -> None:
        masks, zero = crc_masks(len(self.word))
        parities = Cat((self.word & Const(mask, len(self.word))).xor() for mask in masks)
        register = Signal(CRC_BITS, reset_less=True)
        m.d.sync += register.eq(parities ^ zero)
        m.d.comb += self.crc.eq(register)
