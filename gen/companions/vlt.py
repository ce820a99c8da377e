"""Lint waivers of Verilator."""

from .companion import COMPANIONS, Companion

__all__ = ["lint_waivers"]

_WAIVERS = (
    ("DECLFILENAME", "all modules of a switch stand in one file, named after the top one"),
    ("UNUSEDSIGNAL", "the carry out of an adder is written down though nothing needs it"),
    ("WIDTH", "Verilog adds leading zeros that are left out, and cuts differences known to fit"),
)
"""Waived rules, under names that Verilator 5.006 knows and later versions still accept."""


def lint_waivers(name: str) -> str:
    """Return a Verilator control file that waives a few rules in ``name``.v, with reasons."""
    lines = ["`verilator_config"]
    for rule, reason in _WAIVERS:
        lines += [f"// {reason}", f'lint_off -rule {rule} -file "*{name}.v"']
    return "\n".join(lines) + "\n"


COMPANIONS.add(
    "lint waivers",
    Companion(".vlt", lambda design: lint_waivers(design.name), fileset="lint", file_type="vlt"),
    rank=7,
)
