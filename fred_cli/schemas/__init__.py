"""Kinds of files that users write, one module each; a new one is a new file here."""
