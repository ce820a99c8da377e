"""Flits of a small mesh as inputs of its units, and what comes out, shared by their tests."""

from collections.abc import Sequence
from typing import Any

from fred_hw.mesh.spec import MeshSpec
from fred_hw.protocol import CONTROL, Kind
from testbench.models.endpoint import Flit, FlitCodec
from tests.fred_hw.specs import MESH, kind_of

__all__ = ["CODEC", "greeting", "on_axis", "packet", "shown_data"]

CODEC = FlitCodec(MESH.link)


def packet(
    length: int, destination: int, source: int = 0, link_sequence: int = 0, **fields: int
) -> list[Flit]:
    """Return the flits of a unicast, whose data are 1 and so on."""
    about = {
        "unicast": 1,
        "destination": destination,
        "source": source,
        "link_sequence": link_sequence,
    }
    return [
        CODEC.pack(k + 1, index=k, last=length - 1, kind=Kind.DATA, **{**about, **fields})
        for k in range(length)
    ]


def on_axis(number: int, flits: Sequence[Flit | None]) -> list[dict[str, int]]:
    """Return flits as inputs of a link, a cycle each."""
    prefix = f"s{number}_axis_t"
    return [
        {f"{prefix}valid": 1, f"{prefix}data": flit.data, f"{prefix}user": flit.user}
        if flit
        else {}
        for flit in flits
    ]


def greeting(numbers: Sequence[int], mesh: MeshSpec = MESH) -> list[dict[str, int]]:
    """Return how neighbours greet, and tell of their space."""
    space = mesh.protocol.buffer_flits
    about = {
        "circuit": CONTROL,
        "session_id": 9,
        "peer_known": 1,
        "up": 1,
        "digest": mesh.link.digest,
    }
    told = {"kind": Kind.CREDIT, "circuit": CONTROL, "credit_limit": space}
    limits = [CODEC.pack(**told, credit_circuit=k) for k in range(len(MESH.protocol.buffers))]
    said = [CODEC.pack(kind=Kind.HANDSHAKE, **about), *[None] * 9, *limits, *[None] * 8]
    every = [on_axis(number, said) for number in numbers]
    return [{k: v for one in cycle for k, v in one.items()} for cycle in zip(*every, strict=True)]


def shown_data(seen: Sequence[Any], *, kind: Kind = Kind.DATA) -> list[tuple[int, int]]:
    """Return cycle and data of flits of a kind; ``seen`` is ``valid``, ``data`` and ``user``."""
    return [
        (cycle, data)
        for cycle, (valid, data, user) in enumerate(seen)
        if valid and kind_of(user) == kind
    ]
