"""Execution traces: Chakra files, and their simulation by the rules of ASTRA-sim."""
