"""Operation: addition."""

from typing import TYPE_CHECKING

from fred_hw.formats.number_format import IntFormat, NumberFormat
from fred_hw.formats.values import Words, encoded, values_of

from .operation import OPERATIONS, Operation

if TYPE_CHECKING:
    from fred_hw.arith.lane_unit import LaneUnit

__all__ = ["Sum"]


class Sum(Operation):
    """IEEE 754-2019 addition with ties to even and one NaN; integers saturate or wrap."""

    description = (
        "IEEE 754-2019 addition, ties to even, every NaN the same one. Sums of integers saturate "
        "by default, and saturating sums depend on the order of addition, which the routing fixes; "
        "with `overflow: wrap` they do not"
    )
    overflows = True

    def registers(self, number_format: NumberFormat) -> int:
        """Return the fewest registers that reach 0.853 ns (``gen/clock.py``), without wires.

        In ns, printed by ``fred synth SPEC --liberty FILE`` with ASAP7 (three libraries, typical)
        of two ports with one lane (``--set ports=2``, ``lanes``, ``format``, ``adder_registers``):

        ============= ===== ===== ===== ===== ===== =====
        registers     fp16  bf16  fp32  int8  int16 int32
        ============= ===== ===== ===== ===== ===== =====
        0             1.212 1.203 1.834 0.271 0.452 0.790
        1             0.913 0.854 1.270
        2             0.592 0.623 0.846
        ============= ===== ===== ===== ===== ===== =====

        Those are of single modules, where 0.63 ns stand for 0.853 ns in a 45 nm library. Sized as
        a whole in such a library (nangate45, ``fred_hw/adder_delays.json``) fp16 and bf16 reach it
        with one register in four ports of one lane, which ``clock_ns`` takes; without it they keep
        2, as shipped records are of that hardware (docs/decisions/0017). Other floating-point
        formats have 2 as well: narrow ones need fewer, which ``clock_ns`` takes.
        """
        return 0 if isinstance(number_format, IntFormat) else 2

    def unit(self, number_format: NumberFormat, overflow: str, registers: int) -> "LaneUnit":
        from fred_hw.arith.float_add import FloatAdd
        from fred_hw.arith.int_add import IntAdd

        if isinstance(number_format, IntFormat):
            return IntAdd(number_format=number_format, overflow=overflow, registers=registers)
        return FloatAdd(number_format=number_format, registers=registers)

    def golden(self, a: Words, b: Words, number_format: NumberFormat, overflow: str) -> Words:
        import numpy as np

        with np.errstate(invalid="ignore"):  # of infinities of unlike sign comes a NaN
            total = values_of(a, number_format) + values_of(b, number_format)
        return encoded(total, number_format, overflow)


OPERATIONS.add("sum", Sum(), rank=1)
