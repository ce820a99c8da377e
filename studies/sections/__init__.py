"""Sections of the table of published figures; each module registers its own."""
