"""cocotb tests of the unicast throughput of the whole switch."""

from typing import Any

from testbench.agents.measurements import record
from testbench.agents.switch import SwitchBench

from .tb_switch import PORTS, PROTOCOL, SPEC, scenario, started

MOST = PROTOCOL.packet_flits
COUNT = max(24, 3 * PROTOCOL.ack_interval)
# With five ports one of three virtual channels has two of the four bursts of a port, in a row.
# With two middle subswitches the only path of a unicast may have to wait for another unicast's.
RING, ALL = (0.96, 0.45 if PORTS == 5 else 0.55) if SPEC.middle_switches > 2 else (0.4, 0.4)
test = scenario(PORTS >= 3 and PROTOCOL.buffer_flits >= 20)


def rate(bench: SwitchBench) -> float:
    """Return the data flits per port and cycle, from the first flit to the last."""
    cycles = [beat.cycle for watch in bench.outputs for beat in bench.data(watch)]
    return len(cycles) / PORTS / (max(cycles) - min(cycles) + 1)


@test
async def unicasts_of_all_circuits_go_together(dut: Any) -> None:
    """Send from each port to the next, on one of three virtual channels."""
    bench, _ = await started(dut, 0.0)
    for source in range(PORTS):
        bench.unicast(source, (source + 1) % PORTS, COUNT, MOST, source % 3)
    await bench.drain()
    record(
        "unicast_ring_rate",
        rate(bench),
        "flits/cycle",
        "Data flits per port while each port sends to the next, on one of three virtual channels",
    )
    assert rate(bench) >= RING
    bench.finish()


@test
async def all_ports_send_to_all_others_at_a_time(dut: Any) -> None:
    """Send from each port to all others; on each virtual channel many compete for a port."""
    bench, _ = await started(dut, 0.0)
    for source in range(PORTS):
        for offset in range(PORTS - 1):
            to = (source + 1 + offset) % PORTS
            bench.unicast(source, to, COUNT, MOST, (source + offset) % 3)
    await bench.drain()
    record(
        "all_to_all_rate",
        rate(bench),
        "flits/cycle",
        "Data flits per port while each port sends to all others",
    )
    # After a burst a virtual channel waits for its acks, and at the end ports wait for others.
    assert rate(bench) >= ALL
    bench.finish()
