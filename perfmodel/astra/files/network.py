"""Network files of ASTRA-sim: ``topology``, ``npus_count``, ``bandwidth`` and ``latency``."""

from math import prod
from pathlib import Path
from typing import Annotated

from pydantic import Field

from fred_hw.errors import InputError
from fred_hw.files import FileModel, int_range, number_range, one_of, validate
from fred_hw.reading import read_data
from perfmodel.astra.network import Dimension, Network
from perfmodel.topology.blocks import BlockKind

__all__ = ["MAX_NPUS", "NetworkFile", "load_network"]

MAX_NPUS = 1 << 16

_KINDS: dict[str, BlockKind] = {
    "Ring": "ring",
    "FullyConnected": "fully_connected",
    "Switch": "switch",
}


class NetworkFile(FileModel):
    """Four lists with an entry for each dimension, the innermost first.

    Parameters
    ----------
    topology : list of str
        What joins the NPUs of each line along a dimension.
    npus_count : list of int
        NPUs in a line; at most 65536 in all.
    bandwidth : list of float
        Of each link, one direction [2^30 B/s].
    latency : list of float
        Of each link [ns]; through a switch it counts twice.
    """

    topology: Annotated[list[Annotated[str, one_of(*_KINDS)]], Field(min_length=1)]
    npus_count: list[Annotated[int, int_range(2, MAX_NPUS)]]
    bandwidth: list[Annotated[float, number_range(1e-6, 1e12)]]
    latency: list[Annotated[float, number_range(0, 1e12)]]

    def network(self, source: str) -> Network:
        """Return what it describes.

        Raises
        ------
        InputError
            The lists are not equally long, or there are too many NPUs.
        """
        count = len(self.topology)
        for field in ("npus_count", "bandwidth", "latency"):
            if len(getattr(self, field)) != count:
                message = (
                    f"must have as many entries as topology, {count}, "
                    f"not {len(getattr(self, field))}"
                )
                raise InputError(source, field, message)
        if prod(self.npus_count) > MAX_NPUS:
            message = f"must be at most {MAX_NPUS} NPUs in all, not {prod(self.npus_count)}"
            raise InputError(source, "npus_count", message)
        lists = zip(self.topology, self.npus_count, self.bandwidth, self.latency, strict=True)
        return Network(
            [
                Dimension(_KINDS[kind], npus, bandwidth, latency)
                for kind, npus, bandwidth, latency in lists
            ]
        )


def load_network(path: Path) -> Network:
    """Return the network of a file, YAML, or JSON if the name ends so.

    Raises
    ------
    InputError
        The file is unreadable, or a key is unknown, missing or has a value that is not allowed.
    """
    return validate(NetworkFile, read_data(path), str(path)).network(str(path))
