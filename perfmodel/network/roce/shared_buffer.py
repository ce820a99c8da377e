"""Shared buffer of a switch: admission of packets, and pauses of incoming links."""

from typing import Any

from .compiled import compiled
from .heap import push
from .state import Kind, State
from .thresholds import pause_threshold

__all__ = ["admit", "release"]

_PAUSE, _RESUME = Kind.PAUSE, Kind.RESUME


@compiled
def _shared_use(setting: Any, link: Any) -> float:
    """Return a port's use of the shared buffer [B]; ``ingress`` is without headroom."""
    return max(0.0, link.ingress - setting.reserve)


@compiled
def _threshold(setting: Any, node: Any, link: Any) -> float:
    if not setting.dynamic:
        return setting.static
    return pause_threshold(node.pool - node.shared, link.shift)


@compiled
def admit(s: State, index: int, size: float) -> bool:
    """Store a packet in the buffer of the switch it arrived at; return False if it is dropped.

    A packet that would take a port above its reserve and its threshold is stored in the headroom of
    the port. The switch then pauses the link.

    Parameters
    ----------
    s : State
        The simulation.
    index : int
        Link that the packet came by.
    size : float
        Bytes of the packet on the wire [B].
    """
    link, setting = s.links[index], s.setting[0]
    node = s.nodes[link.target]
    threshold = _threshold(setting, node, link)
    after = link.ingress + size
    if after - setting.reserve > threshold:
        if link.spare + size > link.headroom:
            return False
        link.spare += size
    else:
        node.shared += max(0.0, after - setting.reserve) - _shared_use(setting, link)
        link.ingress = after
    if setting.lossless and not link.pausing:
        threshold = _threshold(setting, node, link)
        if link.spare > 0 or _shared_use(setting, link) >= threshold:
            link.pausing = 1
            link.pauses += 1
            push(s, s.totals[0].now + link.delay, index * 8 + _PAUSE)
    return True


@compiled
def release(s: State, index: int, size: float) -> None:
    """Free the space of a departing packet, headroom first; resume the link if possible.

    Parameters
    ----------
    s, index, size
        As for :func:`admit`.
    """
    link, setting = s.links[index], s.setting[0]
    node = s.nodes[link.target]
    spare = min(link.spare, size)
    link.spare -= spare
    before = _shared_use(setting, link)
    link.ingress -= size - spare
    node.shared -= before - _shared_use(setting, link)
    if link.pausing and link.spare <= 0:
        used = _shared_use(setting, link)
        if used <= 0 or used + setting.resume <= _threshold(setting, node, link):
            link.pausing = 0
            push(s, s.totals[0].now + link.delay, index * 8 + _RESUME)
