"""Collectives of ASTRA-sim's system layer: chunks, phases, messages."""
