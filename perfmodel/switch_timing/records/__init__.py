"""Timing records of the standard wafer, written by ``fred characterize``."""
