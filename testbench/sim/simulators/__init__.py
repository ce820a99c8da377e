"""Verilog simulators, one file each."""
