"""Arithmetic units of one lane, each of which reduces two numbers to one."""
