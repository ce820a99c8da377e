"""cocotb test of two endpoints connected back to back, for undefined values."""

import random
from collections import deque
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge

from testbench.volume.link import ALL_FLOWS

_LINK = ("last", "data", "header", "crc")


@cocotb.test(timeout_time=100, timeout_unit="us")
async def payload_crosses_a_link_that_loses_flits(dut: Any, packets: int = 20) -> None:
    """Control signals must be 0 or 1: ``int`` refuses undefined values."""
    rng = random.Random(cocotb.RANDOM_SEED)
    waiting = {flow: deque[tuple[int, int]]() for flow in ALL_FLOWS}
    wanted = {flow: deque[tuple[int, int]]() for flow in ALL_FLOWS}
    for flow, words in waiting.items():
        for _ in range(packets):
            length = rng.randint(1, 4)
            words.extend((rng.getrandbits(32), int(k == length - 1)) for k in range(length))
        dut[f"phase{flow}"].value = flow % 3
        dut[f"i{flow}_valid"].value = 0
        dut[f"o{flow}_ready"].value = 0
    for end in range(2):
        dut[f"s{end}_valid"].value = 0
        dut[f"m{end}_ready"].value = 1
    dut.clear.value = 0
    dut.rst.value = 1
    Clock(dut.clk, 10, unit="ns", impl="gpi").start()
    for _ in range(3):
        await RisingEdge(dut.clk)
    dut.rst.value = 0
    left = sum(len(words) for words in waiting.values())
    while left or int(dut.idle.value) != (1 << len(ALL_FLOWS)) - 1:
        await FallingEdge(dut.clk)
        flits = [_flit(dut, end) for end in range(2)]
        for flow in ALL_FLOWS:
            left -= _move(dut, flow, waiting[flow], wanted[flow])
        assert int(dut.error.value) == 0
        await RisingEdge(dut.clk)
        for end, flit in enumerate(flits):
            dut[f"s{1 - end}_valid"].value = int(flit is not None and rng.random() >= 0.01)
            for name, value in (flit or {}).items():
                dut[f"s{1 - end}_{name}"].value = value
        for flow in ALL_FLOWS:
            offered = bool(waiting[flow])
            dut[f"i{flow}_valid"].value = int(offered)
            if offered:
                dut[f"i{flow}_data"].value, dut[f"i{flow}_last"].value = waiting[flow][0]
            dut[f"o{flow}_ready"].value = int(rng.random() >= 0.2)
    assert not any(wanted.values())


def _flit(dut: Any, end: int) -> dict[str, int] | None:
    if not int(dut[f"m{end}_valid"].value):
        return None
    return {name: int(dut[f"m{end}_{name}"].value) for name in _LINK}


def _move(
    dut: Any, flow: int, waiting: deque[tuple[int, int]], wanted: deque[tuple[int, int]]
) -> int:
    """Record the transfers of a flow; return the number of words it sent."""
    if int(dut[f"i{flow}_ready"].value) and int(dut[f"i{flow}_valid"].value):
        wanted.append(waiting.popleft())
    if not int(dut[f"o{flow}_valid"].value) or not int(dut[f"o{flow}_ready"].value):
        return 0
    got = int(dut[f"o{flow}_data"].value), int(dut[f"o{flow}_last"].value)
    want = wanted.popleft()
    assert got == want, f"flow {flow}: got {got}, want {want}"
    return 1
