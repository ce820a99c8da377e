"""Network files of ASTRA-sim as topologies, for commands that do not read traces."""

from pathlib import Path

from fred_hw.errors import InputError
from fred_hw.reading import SUFFIXES, read_data
from perfmodel.switch_timing.record import ProtocolModel
from perfmodel.topology.blocks import MAX_NPUS, BlocksTopology
from perfmodel.topology.graph import Topology
from perfmodel.topology.parse import parse_topology

from .files.network import is_network, read_network
from .network import Network

__all__ = ["load_fabric"]


def load_fabric(text: str, protocol: ProtocolModel | None = None) -> Topology:
    """Return the topology with a given name or file, or an ASTRA-sim network file as blocks.

    Parameters
    ----------
    text, protocol : str, str or None
        See ``parse_topology``; links of ASTRA-sim have no protocol.

    Raises
    ------
    InputError
        As for ``parse_topology`` and ``read_network``, or the network has a dimension that is a
        fabric, or too many NPUs.
    """
    if not text.endswith(SUFFIXES) or not is_network(read_data(Path(text))):
        return parse_topology(text, protocol)
    if protocol == "measured":
        message = "must be ideal for a network of ASTRA-sim, which has no protocol, not 'measured'"
        raise InputError("protocol", "", message)
    network = read_network(Path(text))
    if not isinstance(network, Network):
        message = "must be made of Ring, FullyConnected and Switch, not a fabric"
        raise InputError(text, "topology", message)
    if network.npus > MAX_NPUS:
        message = f"must be at most {MAX_NPUS} NPUs in total, not {network.npus}"
        raise InputError(text, "npus_count", message)
    return BlocksTopology(name=text, blocks=[one.block for one in network.dimensions])
