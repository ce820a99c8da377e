"""Clos networks of Ethernet switches, with and without servers of NVSwitches."""

from dataclasses import dataclass
from math import prod

from fred_hw.errors import InputError

from .links import LinksFile, ethernet_file

__all__ = ["Clos", "clos_file"]

_GBPS = 0.125e9
_MAX_SWITCHES = 4096
_MAX_LINKS = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Clos:
    """A Clos network of one to four levels of switches.

    Level 1 consists of the leaves, which are connected to GPUs. A pod of level n has ``widths[n -
    1]`` switches of that level, each linked to every switch at the top of the ``pods[n - 1]`` pods
    below.

    Parameters
    ----------
    gpus_per_leaf : int
        GPUs of a leaf.
    pods : tuple of int
        For each level from 2 on, the pods of the level below in one pod; pods of level 1 are
        leaves.
    widths : tuple of int
        For each level from 2 on, the switches at the top of a pod.
    gbps : tuple of float
        Rate of a link of each level, level 1 first [Gb/s].
    latency_us : tuple of float
        Latency of a link of each level, level 1 first [us].
    gpus_per_server, nvswitches : int
        GPUs of a server, and its NVSwitches; 0 for none.
    nvlink_gbps, nvlink_latency_us : float
        Rate [Gb/s] and latency [us] of the link from a GPU to an NVSwitch of its server.
    """

    gpus_per_leaf: int
    pods: tuple[int, ...] = ()
    widths: tuple[int, ...] = ()
    gbps: tuple[float, ...] = (200.0,)
    latency_us: tuple[float, ...] = (5.0,)
    gpus_per_server: int = 8
    nvswitches: int = 0
    nvlink_gbps: float = 2400.0
    nvlink_latency_us: float = 0.025

    @property
    def levels(self) -> int:
        """Number of switch levels."""
        return 1 + len(self.pods)

    @property
    def gpus(self) -> int:
        """Number of GPUs."""
        return self.gpus_per_leaf * prod(self.pods)

    @property
    def switches(self) -> int:
        """Number of switches of all levels, without NVSwitches."""
        return self._tree()[0]

    @property
    def links(self) -> int:
        """Number of links of all levels, without those to NVSwitches."""
        return self._tree()[1]

    def _tree(self) -> tuple[int, int]:
        """Return the numbers of switches and links of all levels."""
        leaves = prod(self.pods)
        switches, links, pods, top = leaves, self.gpus, leaves, 1
        for below, width in zip(self.pods, self.widths, strict=True):
            links += pods * top * width
            pods, top = pods // below, width
            switches += pods * width
        return switches, links


def clos_file(clos: Clos) -> LinksFile:
    """Return a Clos network: GPUs, then leaves, spines and higher levels, NVSwitches last.

    Raises
    ------
    InputError
        ``gpus_per_server`` does not divide the number of GPUs, or ``widths`` give too many switches
        or links.
    """
    gpus = clos.gpus
    for what, most, count in (
        ("switches", _MAX_SWITCHES, clos.switches),
        ("links", _MAX_LINKS, clos.links),
    ):
        if count > most:
            message = f"must give at most {most} {what} with --pods, not {count}"
            raise InputError("widths", "", message)
    if clos.nvswitches and gpus % clos.gpus_per_server:
        message = f"must be a divisor of the number of GPUs, {gpus}, not {clos.gpus_per_server}"
        raise InputError("gpus_per_server", "", message)
    switches = 0
    links: list[tuple[str, str, float, float]] = []

    def connect(below: str, above: int, gbps: float, late_us: float) -> None:
        links.append((below, f"switch_{above}", _GBPS * gbps, 1e-6 * late_us))

    tops: list[list[int]] = []
    """Switches at the top of each pod of the last level."""
    for leaf in range(gpus // clos.gpus_per_leaf):
        for gpu in range(leaf * clos.gpus_per_leaf, (leaf + 1) * clos.gpus_per_leaf):
            connect(f"npu_{gpu}", switches, clos.gbps[0], clos.latency_us[0])
        tops.append([switches])
        switches += 1
    for level, (pods, width) in enumerate(zip(clos.pods, clos.widths, strict=True), start=1):
        above: list[list[int]] = []
        for first in range(0, len(tops), pods):
            top = list(range(switches, switches + width))
            switches += width
            for below in (one for pod in tops[first : first + pods] for one in pod):
                for switch in top:
                    connect(f"switch_{below}", switch, clos.gbps[level], clos.latency_us[level])
            above.append(top)
        tops = above
    if clos.nvswitches:
        for server in range(gpus // clos.gpus_per_server):
            members = range(server * clos.gpus_per_server, (server + 1) * clos.gpus_per_server)
            for switch in range(switches, switches + clos.nvswitches):
                for gpu in members:
                    connect(f"npu_{gpu}", switch, clos.nvlink_gbps, clos.nvlink_latency_us)
            switches += clos.nvswitches
    return ethernet_file(gpus, switches, links, "--pods")
