"""The commands, one file each: `fred NAME` is `command` in NAME.py."""
