"""Reference models against which hardware is compared."""
