"""Ports of a switch: queues, credits, headers, CRC."""
