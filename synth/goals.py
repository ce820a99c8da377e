"""Goals of clock in each library, equivalent to the fabric's clock."""

from fred_hw.adder_delays import REFERENCE_NS

__all__ = ["GOAL_CLOCKS_NS"]

GOAL_CLOCKS_NS = {"nangate45": REFERENCE_NS, "ASAP7": 0.63, "sky130hd": 3.40}
"""By library [ns], without wires. The clock of the fabric is one of 45 nm; elsewhere it is the most
that stands for it, by the design that the other library makes quicker or slower by the least or
the most: docs/how-to/synth.md has what the same designs take in each.

The switch of four ports takes 0.767 ns in nangate45, 0.569 in ASAP7 and 3.06 in sky130hd, so
0.853 x 0.569 / 0.767 = 0.63 and 0.853 x 3.06 / 0.767 = 3.40.
"""
