"""Standard streams that escape control characters in names."""

import io
from typing import Any

from fred_hw.visible import visible

__all__ = ["VisibleStream"]


class VisibleStream:
    """A text stream that writes ``visible`` text to another stream and otherwise acts like it.

    Parameters
    ----------
    stream : io.TextIOBase
        The other stream. What a terminal is to obey, such as colours, is written to it directly.
    """

    def __init__(self, stream: io.TextIOBase) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        """Write the text; return its length."""
        self.stream.write(visible(text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)
