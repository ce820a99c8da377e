"""The commands, one file each: `fred NAME` is the object ``command`` in NAME.py."""
