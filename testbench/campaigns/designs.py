"""Random legal specifications of small wafers, meshes, tori and switches, from choices by name."""

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fred_hw.endpoint_spec import EndpointSpec
from fred_hw.mesh.spec import MeshSpec
from fred_hw.protocol import ProtocolSpec
from fred_hw.spec import SwitchSpec
from fred_hw.wafer.spec import WaferSpec

__all__ = [
    "RANDOM_MESHES",
    "RANDOM_SWITCHES",
    "RANDOM_WAFERS",
    "Choices",
    "Designs",
    "random_choices",
    "simpler_choices",
]

Choices = Mapping[str, Any]

_LINKS: Mapping[str, tuple[Any, ...]] = {
    "format": ("fp16", "bf16", "int16"),
    "packet_flits": (2, 1, 4, 8),
    "buffer_packets": (6, 9, 13),
    "round_trip_cycles": (12, 6, 24),
    "ack_interval": (1, 2, 4),
    "window_packets": (32, 16, 64),
    "timeout_cycles": (300, 600, 1024),
    "nack_timeout_cycles": (16, 40, 64),
    "packet_timeout_cycles": (64, 128),
}
_ENDPOINTS: Mapping[str, tuple[Any, ...]] = {
    "fsms": (1, 2),
    "slots": (2, 3, 4),
    "chunk_flits": (16, 24),
    "memory_reads": (16, 4),
    "read_ports": (1, 2),
}


def _protocol(choices: Choices, **more: Any) -> ProtocolSpec:
    names = ProtocolSpec.model_fields
    return ProtocolSpec(**{key: choices[key] for key in choices if key in names}, **more)


def _endpoint(choices: Choices) -> EndpointSpec:
    return EndpointSpec(**{key: choices[key] for key in _ENDPOINTS})


def _wafer(choices: Choices) -> WaferSpec:
    """Return a wafer with one switch, or with two below a third."""
    count, npus = choices["switches"], choices["npus"]
    if npus < 2 * count:
        raise ValueError(f"npus must be {2 * count} or more for {count} switches, not {npus}")
    own = [[*range(npus * k // count, npus * (k + 1) // count)] for k in range(count)]
    above = {"above": "top", "uplinks": 1} if count > 1 else {}
    middle = {"middle_switches": choices["middle_switches"], "chiplets": 1}
    switches = [
        {"name": f"s{k}", "ports": len(one) + len(above) // 2, "npus": one, **above, **middle}
        for k, one in enumerate(own)
    ]
    top = [{"name": "top", "ports": count, **middle}] * bool(above)
    return WaferSpec.model_validate(
        {
            "npus": npus,
            "lanes": 1,
            "format": choices["format"],
            "protocol": _protocol(choices, phases=8),
            "endpoint": _endpoint(choices),
            "switches": top + switches,
        }
    )


def _mesh(choices: Choices) -> MeshSpec:
    """Return a mesh or a torus of up to five routers."""
    width, height = choices["width"], choices["height"]
    if width * height not in range(2, 6):
        raise ValueError(f"a mesh of an attack must have 2 to 5 routers, not {width * height}")
    return MeshSpec(
        width=width,
        height=height,
        wrap=choices["routing"] == "dateline",
        routing=choices["routing"],
        controllers=False,
        lanes=1,
        format=choices["format"],
        protocol=_protocol(choices),
        endpoint=_endpoint(choices),
    )


def _switch(choices: Choices) -> SwitchSpec:
    """Return a single switch of two or three ports."""
    return SwitchSpec(
        ports=choices["ports"],
        middle_switches=choices["middle_switches"],
        lanes=2,
        format="int16",
        overflow="wrap",  # the sum does not depend on the order
        protocol=_protocol(choices, phases=6, head_of_line_timeout_cycles=20_000),
    )


@dataclass(frozen=True, eq=False)
class Designs:
    """Specifications to choose from.

    Parameters
    ----------
    choices : mapping of str to tuple
        Values of each choice, the simplest first.
    spec : callable
        Makes the specification of choices; raises a ``ValueError`` if it is not legal.
    """

    choices: Mapping[str, tuple[Any, ...]]
    spec: Callable[[Choices], Any]


RANDOM_WAFERS = Designs(
    {
        "npus": (3, 4),
        "switches": (1, 2),
        "middle_switches": (3, 2),
        **_LINKS,
        **_ENDPOINTS,
    },
    _wafer,
)
RANDOM_MESHES = Designs(
    {
        "width": (2, 3, 4, 5),
        "height": (1, 2),
        "routing": ("xy", "odd_even_adaptive", "dateline"),
        **_LINKS,
        **_ENDPOINTS,
    },
    _mesh,
)
RANDOM_SWITCHES = Designs(
    {
        "ports": (2, 3),
        "middle_switches": (3, 2),
        **{key: values for key, values in _LINKS.items() if key != "format"},
        "timeout_cycles": (600, 1024),
    },
    _switch,
)


def random_choices(designs: Designs, rng: random.Random) -> dict[str, Any]:
    """Return choices of a legal specification."""
    while True:
        found = {name: rng.choice(values) for name, values in designs.choices.items()}
        if _is_legal(designs, found):
            return found


def simpler_choices(designs: Designs, choices: Choices) -> Iterator[dict[str, Any]]:
    """Yield legal choices that have one simpler value each, those that differ most first."""
    for name, values in designs.choices.items():
        for value in values[: values.index(choices[name])]:
            found = {**choices, name: value}
            if _is_legal(designs, found):
                yield found


def _is_legal(designs: Designs, choices: Choices) -> bool:
    try:
        designs.spec(choices)
    except ValueError:
        return False
    return True
