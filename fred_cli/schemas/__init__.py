"""Kinds of input files, one module each; a new kind is a new module here."""
