"""Levels of generation, one file each; a new level is a new file here."""
