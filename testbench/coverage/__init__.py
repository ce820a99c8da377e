"""Coverage of the generated Verilog: its code, and cover points of its functions."""
