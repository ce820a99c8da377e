"""Simulators of Verilog, a file each."""
