"""Units with separate wires for links and payload, which a C++ harness drives."""

# Amaranth has no type hints.
# pyright: reportAttributeAccessIssue=false, reportReturnType=false, reportArgumentType=false

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from amaranth.hdl import Cat, Module
from amaranth.lib.wiring import In, Member, Out

from fred_hw.protocol import CRC_BITS, HEADER_BITS
from fred_hw.spec import SwitchSpec
from fred_hw.unit import Unit
from gen.emitter import VerilogEmitter
from testbench.sim.harness import build_harness

from .program import harness_sources

__all__ = ["build_wired", "join_link", "join_payload", "wires"]

PAYLOAD = ("valid", "ready", "last", "data")
LINK = (*PAYLOAD, "header", "crc")


def build_wired(
    bench: str,
    top: Unit,
    spec: SwitchSpec,
    emitter: VerilogEmitter | None,
    *,
    flows: int,
    links: int,
    more: Sequence[str],
) -> Path:
    """Verilate a unit with separate wires; its harness binds them through ``pins.hpp``.

    ``more`` are names of other members of each flow, without its number; else as ``build_link``.
    """
    if not 32 <= spec.data_width <= 64:
        raise ValueError(f"data_width must be 32 to 64 for the harness, not {spec.data_width}")
    payload = ", ".join(f"&top_.{side}##n##_{name}" for side in "io" for name in PAYLOAD)
    flow = [f"{{{payload}}}", *(f"&top_.{name}##n" for name in more)]
    link = [f"&top_.{side}##n##_{name}" for side in "ms" for name in LINK]
    lines = [
        f"#define FLOW_PINS(n) FlowPins{{{', '.join(flow)}}}",
        f"#define LINK_PINS(n) LinkPins{{{', '.join(link)}}}",
        f"#define EACH_FLOW(DO) {', '.join(f'DO({k})' for k in range(flows))}",
        f"#define EACH_LINK(DO) {', '.join(f'DO({k})' for k in range(links))}",
    ]
    return build_harness(top, harness_sources(bench, top.unit_name, spec, lines), emitter)


def wires(spec: SwitchSpec, links: int, flows: int) -> dict[str, Member]:
    """Return members ``m<k>_...`` and ``s<k>_...`` of links, ``o<n>_...`` and ``i<n>_...``."""
    widths = {"data": spec.data_width, "header": HEADER_BITS, "crc": CRC_BITS}
    members: dict[str, Member] = {}
    for out, into, names, count in (("m", "s", LINK, links), ("o", "i", PAYLOAD, flows)):
        for k in range(count):
            for name in names:
                forth, back = (In, Out) if name == "ready" else (Out, In)
                members[f"{out}{k}_{name}"] = forth(widths.get(name, 1))
                members[f"{into}{k}_{name}"] = back(widths.get(name, 1))
    return members


def join_link(m: Module, top: Any, k: int, unit: Any, port: str = "") -> None:
    """Connect the wires of link ``k`` to a port of a unit."""

    def mine(name: str) -> Any:
        return getattr(top, f"{name[0]}{k}{name[1:]}")

    def its(name: str) -> Any:
        return getattr(unit, f"{name[0]}{port}_axis_t{name[2:]}")

    m.d.comb += [
        Cat(mine("m_header"), mine("m_crc")).eq(its("m_user")),
        its("s_user").eq(Cat(mine("s_header"), mine("s_crc"))),
        its("m_ready").eq(mine("m_ready")),
        mine("s_ready").eq(its("s_ready")),
    ]
    for name in ("valid", "last", "data"):
        m.d.comb += [
            mine(f"m_{name}").eq(its(f"m_{name}")),
            its(f"s_{name}").eq(mine(f"s_{name}")),
        ]


def join_payload(m: Module, top: Any, n: int, sent: Any, received: Any) -> None:
    """Connect the wires of payload ``n`` to an input and an output."""
    m.d.comb += [
        getattr(top, f"i{n}_ready").eq(sent.ready),
        received.ready.eq(getattr(top, f"o{n}_ready")),
    ]
    for name in ("valid", "last", "data"):
        m.d.comb += [
            getattr(sent, name).eq(getattr(top, f"i{n}_{name}")),
            getattr(top, f"o{n}_{name}").eq(getattr(received, name)),
        ]
