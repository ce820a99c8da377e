"""A switch of 33 ports, compiled: an all-reduce of all ports is right to the bit."""

import random

import pytest

from fred_hw.compiler.flows import Flow
from fred_hw.protocol import ProtocolSpec
from fred_hw.spec import SwitchSpec
from testbench.stimulus.phases import Phase, make_phase_run
from testbench.stimulus.traffic import routed
from testbench.volume.loaded_switch import build_switch, run_switch
from testbench.volume.scenario import Burst
from testbench.volume.traffic import Traffic, configure


@pytest.mark.sim
@pytest.mark.long
@pytest.mark.timeout(1800)
def test_all_ports_of_a_large_switch_reduce_at_once() -> None:
    spec = SwitchSpec(ports=33, lanes=1, format="int8", protocol=ProtocolSpec(phases=1))
    everyone = tuple(range(spec.ports))
    flow = Flow(everyone, everyone)
    configuration = routed([flow], spec)
    assert configuration is not None
    phase = Phase(0, 0, (flow,), configuration)
    packets = 8
    turns = tuple(make_phase_run(random.Random(1), spec, phase, [4]) for _ in range(packets))
    traffic = Traffic((phase,), {0: turns}, (Burst(0, packets),), full=True)
    result = run_switch(build_switch(spec), spec, traffic, configure(spec, [phase]))
    assert result["right"], (result["messages"], result["state"])
    assert result["flits"] == spec.ports * packets * 4
