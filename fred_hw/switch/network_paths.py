"""Tracing of configurations and matching of unicasts, for the network that a switch has."""

from collections.abc import Callable

from fred_hw.spec import SwitchSpec

from .crossbar_paths import CrossbarMatching, CrossbarTracer
from .matching import SwitchMatching
from .online_router import OnlineRouter
from .path_tracer import PathTracer, Tracer

__all__ = ["matching", "tracer"]


def matching(spec: SwitchSpec) -> SwitchMatching:
    """Return the unit that matches unicasts and configures their paths."""
    ports, middle, channels = spec.ports, spec.middle_switches, spec.protocol.channels
    made: dict[str, Callable[[], SwitchMatching]] = {
        "fred": lambda: OnlineRouter(ports=ports, middle_switches=middle, channels=channels),
        "crossbar": lambda: CrossbarMatching(ports=ports, channels=channels),
    }
    return made[spec.network]()


def tracer(spec: SwitchSpec) -> Tracer:
    """Return the unit that traces single bits along the paths of a configuration."""
    ports, middle = spec.ports, spec.middle_switches
    made: dict[str, Callable[[], Tracer]] = {
        "fred": lambda: PathTracer(ports=ports, middle_switches=middle),
        "crossbar": lambda: CrossbarTracer(ports=ports),
    }
    return made[spec.network]()
