"""Reference models that hardware is compared with."""
