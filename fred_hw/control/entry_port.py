"""Layout of configuration memory entries, and the port that writes them."""

from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from fred_hw.member import Bundle, member
from fred_hw.spec import SwitchSpec

from .phase_entry import phase_fields

__all__ = ["EntryPort", "entry_layout", "number_bits"]


def entry_layout(spec: SwitchSpec) -> data.StructLayout:
    """Return the layout of ``phase_fields``; ``inputs`` and ``outputs`` are indexed by port."""
    by_port = data.ArrayLayout(spec.ports.bit_length(), spec.ports)
    return data.StructLayout({**phase_fields(spec), "inputs": by_port, "outputs": by_port})


def number_bits(spec: SwitchSpec) -> int:
    """Return the bits of a phase number, excluding that of unicasts."""
    return max(1, (spec.protocol.phases - 1).bit_length())


class EntryPort(Bundle):
    """Write and read port for entries, as seen by the unit that writes and reads."""

    write = member(Out, 1)
    """High until and with ``done``; ``entry`` and ``number`` stay meanwhile."""
    number = member(Out, number_bits)
    """Phase to write or to read."""
    entry: data.View = member(Out, entry_layout)
    """Entry to write."""
    done = member(In, 1)
    """High for one cycle when the entry was dealt with, in the first cycle of ``write`` at the
    earliest."""
    accepted = member(In, 1)
    """Whether the entry was taken, in the cycle of ``done``."""
    stored: data.View = member(In, entry_layout)
    """Entry of phase ``number``, at the latest 2 cycles after ``number`` has changed and ``write``
    is low."""
