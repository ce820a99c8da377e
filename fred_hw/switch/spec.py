"""Specification of the switch core: phases and buffers around an interconnect."""

from typing import Annotated

from fred_hw.files import FileModel, int_range

__all__ = ["DATA_CIRCUITS", "CoreSpec"]

DATA_CIRCUITS = ("mp", "pp", "dp")
"""Virtual circuits for data, the most urgent first (FRED, arXiv 2406.19580)."""


class CoreSpec(FileModel):
    """What a switch core has beside its interconnect; frozen and hashable.

    Parameters
    ----------
    phases : int
        Phases that it holds configurations for, 1 to 64.
    packet_flits : int
        Flits in the largest packet, 1 to 64.
    buffer_packets : int
        Largest packets that each virtual circuit of an input port has room for, 2 to 64.

    Raises
    ------
    pydantic.ValidationError
        A key is unknown or a value is out of range.
    """

    phases: Annotated[int, int_range(1, 64)] = 8
    packet_flits: Annotated[int, int_range(1, 64)] = 8
    buffer_packets: Annotated[int, int_range(2, 64)] = 6

    @property
    def phase_bits(self) -> int:
        """Bits of a phase's number."""
        return max(1, (self.phases - 1).bit_length())

    @property
    def buffer_flits(self) -> int:
        """Flits that each virtual circuit of an input port has room for."""
        return self.packet_flits * self.buffer_packets

    @property
    def suffix(self) -> str:
        """Part of a generated name that tells these sizes."""
        return f"f{self.phases}_k{self.packet_flits}_b{self.buffer_packets}"
