"""Collectives as the system layer of ASTRA-sim does them: chunks, phases, messages."""
