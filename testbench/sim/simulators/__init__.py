"""Verilog simulators, one module each."""
