"""Arithmetic units of one lane, which reduce two numbers to one."""
