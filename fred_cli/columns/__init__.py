"""Columns of the tables that commands print and write."""
