"""Layout of configuration memory entries, and the port that writes them."""

from amaranth.hdl import Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from fred_hw.spec import SwitchSpec

from .phase_entry import phase_fields

__all__ = ["EntryPort", "entry_layout", "entry_port_signature", "number_bits"]


class EntryPort(wiring.PureInterface):
    """Write and read port for entries."""

    write: Signal
    number: Signal
    entry: data.View
    done: Signal
    accepted: Signal
    stored: data.View


def entry_layout(spec: SwitchSpec) -> data.StructLayout:
    """Return the layout of ``phase_fields``; ``inputs`` and ``outputs`` are indexed by port."""
    by_port = data.ArrayLayout(spec.ports.bit_length(), spec.ports)
    return data.StructLayout({**phase_fields(spec), "inputs": by_port, "outputs": by_port})


def number_bits(spec: SwitchSpec) -> int:
    """Return the bits of a phase number, excluding that of unicasts."""
    return max(1, (spec.protocol.phases - 1).bit_length())


def entry_port_signature(spec: SwitchSpec) -> wiring.Signature:
    """Return the signature of a unit that writes and reads entries.

    Members
    -------
    entry, number : Out(entry_layout(spec)), Out(number_bits(spec))
        Entry to write, and phase to write or to read.
    write : Out(1)
        High until and with ``done``; ``entry`` and ``number`` stay meanwhile.
    done, accepted : In(1), In(1)
        High for one cycle when the entry was dealt with, in the first cycle of ``write`` at the
        earliest; whether it was taken, in that cycle.
    stored : In(entry_layout(spec))
        Entry of phase ``number``, at the latest 2 cycles after ``number`` has changed and ``write``
        is low.
    """
    entry = entry_layout(spec)
    members = {
        "write": Out(1),
        "number": Out(number_bits(spec)),
        "entry": Out(entry),
        "done": In(1),
        "accepted": In(1),
        "stored": In(entry),
    }
    return wiring.Signature(members)
