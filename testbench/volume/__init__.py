"""Millions of flits and operands through Verilated units, driven by C++."""
