"""Assertions on AXI4-Lite accesses to registers, and on configuration through them."""

from collections.abc import Iterable

from fred_hw.control.registers import Register, RegisterMap

from .assertion import Assertion
from .ports import bit_range

__all__ = ["register_assertions"]

_CHANNELS = {"aw": ("awaddr", "awprot"), "w": ("wdata", "wstrb"), "ar": ("araddr", "arprot")}
"""Payload of each channel that the integrator drives."""

_SOFTWARE_CAUSES = ("operation", "alignment", "flow", "size", "full", "schedule")
"""Bits of ERROR of an endpoint that only a wrong descriptor sets."""


def register_assertions(registers: RegisterMap) -> tuple[list[str], list[Assertion]]:
    """Return the declarations and the assertions of a slave.

    Parameters
    ----------
    registers : RegisterMap
        Registers of the slave, whose ports are ``s_axil_*``.
    """
    body, configured = _configured(registers)
    return [*_accesses(registers), *body], [*_bus(), *configured]


def _within(registers: Iterable[Register], address: str) -> str:
    """Return the condition that an aligned address belongs to one of the registers."""
    spans: list[list[int]] = []
    for one in registers:
        if spans and spans[-1][1] == one.address:
            spans[-1][1] = one.end
        else:
            spans.append([one.address, one.end])
    # An address is at least 0 without a comparison, of which lint would complain.
    parts = [
        f"{address} < 'h{end:x}" if low == 0 else f"{address} >= 'h{low:x} && {address} < 'h{end:x}"
        for low, end in spans
    ]
    inside = " || ".join(f"({part})" for part in parts)
    return f"{address}[1:0] == 2'd0 && ({inside})"


def _accesses(registers: RegisterMap) -> list[str]:
    """Return declarations: which accesses are legal, and the latest ones that were taken."""
    address = bit_range(registers.address_bits)
    writable = [one for one in registers.registers if one.writable]
    return [
        "  wire write_known = " + _within(writable, "s_axil_awaddr") + ";",
        "  wire read_known = " + _within(registers.registers, "s_axil_araddr") + ";",
        f"  logic {address}read;",
        "  logic written_known, written_whole, answered;",
        "  always_ff @(posedge clk) begin",
        "    if (s_axil_awvalid && s_axil_awready) written_known <= write_known;",
        "    if (s_axil_wvalid && s_axil_wready) written_whole <= s_axil_wstrb == 4'hf;",
        "    if (s_axil_arvalid && s_axil_arready) read <= s_axil_araddr;",
        "    answered <= !rst && s_axil_bvalid;",
        "  end",
        "  wire answer = s_axil_bvalid && !answered;",
    ]


def _bus() -> list[Assertion]:
    """Return the rules of AXI4-Lite, and those that each access must keep."""
    stable = [
        Assertion(
            f"axil_{channel}_stable",
            f"$past(!rst && s_axil_{channel}valid && !s_axil_{channel}ready) |-> "
            f"s_axil_{channel}valid"
            + "".join(f" && $stable(s_axil_{name})" for name in payload if "prot" not in name),
            f"{channel}valid and its payload must stay until {channel}ready",
        )
        for channel, payload in _CHANNELS.items()
    ]
    return [
        *stable,
        Assertion(
            "axil_write_register",
            "s_axil_awvalid |-> write_known",
            "awaddr must be the aligned address of a writable register",
        ),
        Assertion(
            "axil_write_whole",
            "s_axil_wvalid |-> s_axil_wstrb == 4'hf",
            "wstrb must select all four bytes",
        ),
        Assertion(
            "axil_read_register",
            "s_axil_arvalid |-> read_known",
            "araddr must be the aligned address of a register",
        ),
        Assertion(
            "axil_write_unlocked",
            "answer && written_known && written_whole |-> s_axil_bresp == 2'b00",
            "a locked register must not be written while the hardware is busy",
        ),
    ]


def _configured(registers: RegisterMap) -> tuple[list[str], list[Assertion]]:
    """Return the rules of commands, as the registers that software reads show them."""
    names = {one.name for one in registers.registers}
    if "COMMAND_STATUS" in names:
        return _of_switch(registers)
    error = registers.register("ERROR")
    mask = sum(one.mask for one in error.fields if one.name in _SOFTWARE_CAUSES)
    return [], [
        Assertion(
            "descriptor_accepted",
            f"s_axil_rvalid && read == 'h{error.address:x} |-> "
            f"(s_axil_rdata & 32'h{mask:x}) == 32'd0",
            "a descriptor was refused; the bits of ERROR name the reason",
        )
    ]


def _of_switch(registers: RegisterMap) -> tuple[list[str], list[Assertion]]:
    status, phase = registers.register("COMMAND_STATUS"), registers.register("PHASE")
    phases = registers.register("SHAPE").field("phases").value
    refused, busy = (status.field(name).low for name in ("refused", "busy"))
    body = [
        f"  logic {bit_range(registers.address_bits)}written;",
        "  logic [31:0] value;",
        "  always_ff @(posedge clk) begin",
        "    if (s_axil_awvalid && s_axil_awready) written <= s_axil_awaddr;",
        "    if (s_axil_wvalid && s_axil_wready) value <= s_axil_wdata;",
        "  end",
    ]
    return body, [
        Assertion(
            "phase_exists",
            f"answer && written_known && written == 'h{phase.address:x} |-> value < 32'd{phases}",
            f"PHASE must be 0 to {phases - 1}",
        ),
        Assertion(
            "command_accepted",
            f"s_axil_rvalid && read == 'h{status.address:x} |-> "
            f"s_axil_rdata[{busy}] || !s_axil_rdata[{refused}]",
            "COMMAND was refused: PHASE is out of range, or the entry joins two flows",
        ),
    ]
