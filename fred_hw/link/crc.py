"""CRC of a whole flit in one cycle."""

from collections.abc import Sequence

from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib.wiring import In, Out

from fred_hw.protocol import HEADER_BITS
from fred_hw.unit import Unit

from .flit import CRC

__all__ = ["FlitCrc", "crc_masks"]


def crc_masks(width: int) -> tuple[Sequence[int], int]:
    """Return for each bit of the CRC the bits of a word that it is the parity of, and a constant.

    The CRC is linear: that of a word is the exclusive or of those of its bits, and of the
    constant, which is the CRC of 0. Bit 0 goes first, as in a byte string with the low byte first.

    Parameters
    ----------
    width : int
        Bits of the word, a multiple of 8.
    """
    reflected = int(f"{CRC.polynomial:0{CRC.crc_width}b}"[::-1], 2)
    masks = [0] * CRC.crc_width
    state = reflected  # of a word with its last bit set alone
    for bit in reversed(range(width)):
        for place in range(CRC.crc_width):
            masks[place] |= (state >> place & 1) << bit
        state = state >> 1 ^ (reflected if state & 1 else 0)
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

    Members
    -------
    word : In(48 + data_width)
        Header in the low bits, payload above.
    crc : Out(32)
        Its CRC-32C.

    Timing
    ------
    Latency : 1 cycle.
    Throughput : one flit per cycle.
    Paths : none.
    Reset : none; a CRC means something a cycle after its word.
    """

    word: Signal
    crc: Signal

    resettable = False

    def __init__(self, *, data_width: int) -> None:
        self.data_width = data_width
        self.unit_name = f"flit_crc_w{data_width}"
        super().__init__({"word": In(HEADER_BITS + data_width), "crc": Out(CRC.crc_width)})

    def build(self, platform: object) -> Module:
        m = Module()
        masks, zero = crc_masks(len(self.word))
        parities = Cat((self.word & Const(mask, len(self.word))).xor() for mask in masks)
        register = Signal(CRC.crc_width, reset_less=True)
        m.d.sync += register.eq(parities ^ zero)
        m.d.comb += self.crc.eq(register)
        return m
