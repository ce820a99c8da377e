"""Numbers of the urgency classes, virtual channels and buffers of a link, and their relation."""

from dataclasses import dataclass

__all__ = [
    "CLASS_BITS",
    "DEFAULT_CHANNELS",
    "DEFAULT_CLASSES",
    "MOST_CLASSES",
    "VirtualChannels",
    "class_number",
]

_NAMES = ("mp", "pp", "dp", "bulk")
"""Names of urgency classes, the most urgent first. The first three are virtual circuits of FRED
(arXiv 2406.19580)."""

DEFAULT_CLASSES = 3
"""Urgency classes of the published switch: MP, PP and DP."""

MOST_CLASSES = len(_NAMES)
CLASS_BITS = (MOST_CLASSES - 1).bit_length()
"""Bits of the number of an urgency class, in entries of phases, descriptors and hardware."""


def class_number(name: str) -> int:
    """Return the number of an urgency class, 0 for the most urgent one.

    Raises
    ------
    ValueError
        There is no class of this name.
    """
    if name not in _NAMES:
        raise ValueError(f"urgency class must be one of {', '.join(_NAMES)}, not {name!r}")
    return _NAMES.index(name)


@dataclass(frozen=True)
class VirtualChannels:
    """The virtual channels of a link for data, with a buffer of a receiver for each.

    An urgency class decides which packet goes first. It has ``each`` virtual channels; a routing
    chooses between them so that links do not wait for each other in a cycle. Buffer
    ``each * class + channel`` holds the packets of a channel. Flits carry the buffer's number.

    Parameters
    ----------
    classes : int
        Urgency classes, 1 to 4.
    each : int
        Virtual channels of each class, 1 or 2.

    Raises
    ------
    ValueError
        A parameter is out of range.
    """

    classes: int = DEFAULT_CLASSES
    each: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.classes <= MOST_CLASSES:
            raise ValueError(f"urgency classes must be 1 to {MOST_CLASSES}, not {self.classes}")
        if self.each not in (1, 2):
            raise ValueError(f"virtual channels of a class must be 1 or 2, not {self.each}")

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the urgency classes, the most urgent first."""
        return _NAMES[: self.classes]

    @property
    def buffers(self) -> tuple[str, ...]:
        """Names of the buffers, by number."""
        if self.each == 1:
            return self.names
        return tuple(f"{name}_{k}" for name in self.names for k in range(self.each))

    @property
    def channel_bits(self) -> int:
        """Low bits of a buffer's number that are the channel in its class."""
        return self.each.bit_length() - 1

    @property
    def buffer_bits(self) -> int:
        """Bits of a buffer's number in hardware; the high ``CLASS_BITS`` are its class."""
        return CLASS_BITS + self.channel_bits

    @property
    def suffix(self) -> str:
        """Part of a generated name, "" for the default."""
        classes = "" if self.classes == DEFAULT_CLASSES else f"_u{self.classes}"
        return classes + ("" if self.each == 1 else f"_v{self.each}")

    def buffers_of(self, number: int) -> range:
        """Return the buffers of an urgency class."""
        return range(number * self.each, (number + 1) * self.each)


DEFAULT_CHANNELS = VirtualChannels()
"""The virtual channels of links by default, as published."""
