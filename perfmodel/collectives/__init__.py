"""Collectives: schedules of transfers, their symbolic check and their simulation."""
