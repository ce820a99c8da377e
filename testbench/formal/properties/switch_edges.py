"""Properties of a whole switch at its edges."""

from typing import Any

from amaranth.hdl import Cat, Signal

from fred_hw.link.axis import AXIS_FORTH
from fred_hw.protocol import ProtocolSpec
from fred_hw.spec import SwitchSpec
from fred_hw.switch.switch import Switch
from testbench.faults.switch_core import offer_changes
from testbench.formal.harness import Harness
from testbench.formal.properties.registers import axi_lite_rules
from testbench.formal.property import prove
from testbench.formal.sizes import SMALLEST_LINK

__all__: list[str] = []

SPEC = SwitchSpec(
    ports=2, lanes=1, format="int8", protocol=ProtocolSpec.model_validate(SMALLEST_LINK)
)


@prove(
    lambda: Switch(spec=SPEC),
    shows="AXI4-Stream and AXI4-Lite of a switch: an offered flit or response stays unchanged "
    "until it is taken. Link inputs always take flits. Each request has one response.",
    omits="larger switches; the contents of flits and responses; that every response arrives "
    "eventually",
    mutant=offer_changes,
    fast=False,
)
def switch_edges(c: Harness, u: Any) -> None:
    axi_lite_rules(c, u)
    offered = []
    for k in range(SPEC.ports):
        link = f"m{k}_axis_"
        valid, ready = getattr(u, f"{link}tvalid"), getattr(u, f"{link}tready")
        now = Cat(getattr(u, f"{link}{wire}") for wire in AXIS_FORTH)
        stalled, before = Signal(name=f"stalled_{k}"), Signal(len(now), name=f"before_{k}")
        c.m.d.sync += [stalled.eq(valid & ~ready), before.eq(now)]
        c.check(f"flit_{k}_stays", ~stalled | (now == before))
        c.check(f"takes_{k}", getattr(u, f"s{k}_axis_tready"))
        offered.append(stalled)
    c.cover("all_wait", Cat(offered).all() & u.s_axil_bvalid & u.s_axil_rvalid)
