"""Clock goals in each library, equivalent to the clock of the fabric."""

from fred_hw.adder_delays import REFERENCE_NS

__all__ = ["GOAL_CLOCKS_NS"]

GOAL_CLOCKS_NS = {"nangate45": REFERENCE_NS, "ASAP7": 0.63, "sky130hd": 3.40}
"""Clock goal by library [ns], without wires. The fabric's clock is for 45 nm; goals of other
libraries are the largest equivalents, scaled by the design that the library speeds up or slows down
least or most: docs/how-to/synth.md lists the same designs in each library.

The switch of four ports takes 0.767 ns in nangate45, 0.569 in ASAP7 and 3.06 in sky130hd, so
0.853 x 0.569 / 0.767 = 0.63 and 0.853 x 3.06 / 0.767 = 3.40.
"""
