"""FRED wafers joined by an Ethernet network, with the I/O controllers as NICs."""

from fred_hw.errors import InputError

from .graph import Topology
from .links import LinksFile, ethernet_file

__all__ = ["joined_wafers"]


def joined_wafers(network: LinksFile, wafer: Topology) -> LinksFile:
    """Return a network in which I/O controllers of identical wafers replace the GPUs.

    The first GPUs become the controllers of the first wafer, the next ones those of the second, and
    so on. NPUs are numbered wafer by wafer. Switches of the network come first, then for each wafer
    its switches and its controllers, which also forward. Links on a wafer have its payload
    bandwidth; half of the latency of a switch is added to each of its links.

    Parameters
    ----------
    network : LinksFile
        Network that connects the wafers.
    wafer : Topology
        A topology with switches and I/O controllers, such as ``fred-d``.

    Raises
    ------
    InputError
        The wafer has no switches or no controllers, or the GPUs are not those of whole wafers.
    """
    nics = wafer.io_controllers
    if not nics or all(node.kind != "switch" for node in wafer.nodes):
        message = f"must be a wafer with switches and I/O controllers, not {wafer.name}"
        raise InputError("wafer", "", message)
    count, rest = divmod(network.npus, nics)
    if rest or count < 1:
        message = (
            f"must have the {nics} I/O controllers of {wafer.name} for each wafer, and the network "
            f"has {network.npus} GPUs"
        )
        raise InputError("wafer", "", message)
    names: dict[str, str] = {}
    """Name of each GPU of the network."""
    links: list[tuple[str, str, float, float]] = []
    switches = network.switches
    for number in range(count):
        of_node: list[str] = []
        for node in wafer.nodes:
            if node.kind == "npu":
                of_node.append(f"npu_{number * wafer.npus + len(of_node)}")
            else:
                of_node.append(f"switch_{switches}")
                switches += 1
        for nic, node in enumerate(wafer.io_nodes):
            names[f"npu_{number * nics + nic}"] = of_node[node]
        for link, rate in zip(wafer.links, wafer.capacities, strict=False):
            if link.source < link.target:
                ends = wafer.nodes[link.source], wafer.nodes[link.target]
                late_s = link.latency_s + sum(one.latency_s for one in ends) / 2
                links.append((of_node[link.source], of_node[link.target], rate, late_s))
    for link in network.links:
        here, there = (names.get(end, end) for end in link.ends)
        links.append((here, there, *network.rate_and_latency(link)))
    return ethernet_file(count * wafer.npus, switches, links, wafer.name)
