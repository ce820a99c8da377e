"""What all records of synthesis say: configuration, library, tools and time."""

from typing import Annotated

from pydantic import Field

from fred_hw.files import FileModel

__all__ = ["Count", "Size", "SynthesizedRecord"]

Size = Annotated[float, Field(gt=0, lt=1e15)]
Count = Annotated[int, Field(ge=0, lt=1 << 40)]


class SynthesizedRecord(FileModel):
    """A record of designs with one configuration, mapped to one library.

    Parameters
    ----------
    format, lanes : str, int
        Format and lanes of all designs.
    library : str
        Description of the cell library.
    libraries, tools : dict of str to str
        Hash of each file of the library, and versions of the tools.
    effort, target_clock_ns : str, float
        Effort of the mapping, and requested clock period [ns].
    git_commit : str or None
        Revision of the sources.
    date, minutes : str, float
        Day of the measurement, and its processor time [min]; None if unknown.
    """

    format: str
    lanes: Annotated[int, Field(ge=1)]
    library: str
    libraries: dict[str, str]
    tools: dict[str, str]
    effort: str
    target_clock_ns: Size
    git_commit: str | None
    date: str | None = None
    minutes: Annotated[float, Field(ge=0)] | None = None
