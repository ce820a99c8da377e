"""The shared buffer of a switch: admission of packets, and pauses of the links they come by."""

from typing import Any

from .compiled import compiled
from .heap import push
from .state import Kind, State
from .thresholds import pause_threshold

__all__ = ["admit", "release"]

_PAUSE, _RESUME = Kind.PAUSE, Kind.RESUME


@compiled
def _shared_use(setting: Any, link: Any) -> float:
    """Return what a port uses of the shared buffer [B]; ``ingress`` is without headroom."""
    return max(0.0, link.ingress - setting.reserve)


@compiled
def _threshold(setting: Any, node: Any, link: Any) -> float:
    if not setting.dynamic:
        return setting.static
    return pause_threshold(node.pool - node.shared, link.shift)


@compiled
def admit(s: State, index: int, size: float) -> bool:
    """Take a packet of so many bytes that came by a link; return False if it is dropped.

    A packet fills the reserve of its port first, then shared buffer up to a threshold. Beyond the
    threshold it goes to the headroom of the port, and the sender is paused.
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
    """Free the space of a packet that came by a link and leaves; headroom is freed first."""
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
