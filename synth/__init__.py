"""Synthesis: from Verilog to area and clock with a cell library."""
