"""Two link terminators in co-simulation, and broken ones that their bench must notice."""

from pathlib import Path

import pytest

from fred_hw.endpoint.terminator import SEND_CYCLES
from fred_hw.load import load_spec
from fred_hw.protocol import ProtocolSpec
from fred_hw.spec import SwitchSpec
from testbench.cosimulation.cosimulate_pair import cosimulate_terminator
from testbench.faults.fault import Fault, noticed_by
from tests.testbench.cases import small

pytestmark = pytest.mark.sim

FAULTS = noticed_by("terminator")
SPEC = load_spec("tiny-2")
ONE_PHASE = SwitchSpec(ports=3, lanes=2, format="fp16", protocol=ProtocolSpec(phases=1))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spec", "simulator", "seed"),
    [(SPEC, "icarus", 1), pytest.param(ONE_PHASE, "verilator", 2, marks=pytest.mark.long)],
    ids=["two ports", "one phase"],
)
def test_pair_passes_its_regression(
    spec: SwitchSpec, simulator: str, seed: int, tmp_path: Path
) -> None:
    run = cosimulate_terminator(spec, tmp_path, simulator=simulator, seed=seed)
    assert run.failures == ()
    assert len(run.tests) == 21
    assert run.measurements["terminator_latency_cycles"] == SEND_CYCLES
    assert run.measurements["flits_checked"] > 1000


@pytest.mark.slow
def test_pair_recovers_from_losses_at_each_flit_of_a_packet(tmp_path: Path) -> None:
    tests = [
        "timeout_inside_a_packet_sends_all_again",
        "acks_spare_packets_that_wait_to_be_sent_again",
        "flows_outlive_a_new_session_of_the_neighbour",
    ]
    run = cosimulate_terminator(small(2, form="int8"), tmp_path, tests=tests)
    assert run.failures == ()
    assert len(run.tests) == 5


@pytest.mark.slow
@pytest.mark.parametrize(("fault", "test"), FAULTS.items())
def test_fault_is_noticed(fault: Fault, test: str, tmp_path: Path) -> None:
    run = cosimulate_terminator(SPEC, tmp_path, tests=[test], faults=FAULTS, fault=fault)
    assert {outcome.name.partition("/")[0] for outcome in run.failures} == {test}


@pytest.mark.slow
def test_a_sound_pair_passes_what_notices_faults(tmp_path: Path) -> None:
    run = cosimulate_terminator(SPEC, tmp_path, tests=sorted({*FAULTS.values()}), faults=FAULTS)
    assert run.failures == ()
    assert {one.name.partition("/")[0] for one in run.tests} == {*FAULTS.values()}
