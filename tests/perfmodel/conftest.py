"""Timing records with a whole switch that is made up, so that times can be worked out by hand."""

from tests.records import give_whole_switches

__all__ = ["give_whole_switches"]
