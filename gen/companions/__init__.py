"""Companion files of the Verilog, one writer each; a new one is a new module here."""
