"""Endpoints on a switch, with memories and programs in Verilog: quick in any simulator."""
