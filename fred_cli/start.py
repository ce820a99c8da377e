"""Entry point of `fred`, robust against interrupts while modules are imported."""

import sys

__all__ = ["start"]


def start() -> None:
    """Run the command line and exit, with status 130 after an interrupt."""
    try:
        from .main import main

        main()
    except KeyboardInterrupt:  # before main handles the signal itself
        sys.stderr.write("interrupted\n")
        sys.exit(130)
