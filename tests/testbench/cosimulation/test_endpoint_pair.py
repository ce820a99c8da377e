"""Two collective endpoints in co-simulation, without undefined outputs."""

from pathlib import Path

import pytest

from fred_hw.endpoint_spec import EndpointSpec
from fred_hw.spec import SwitchSpec
from testbench.cosimulation.cosimulate_pair import cosimulate_endpoint
from testbench.faults.fault import noticed_by
from tests.testbench.cases import SHORT

pytestmark = [pytest.mark.sim, pytest.mark.slow]

ENGINE = EndpointSpec(fsms=1, slots=2, chunk_flits=8, memory_reads=8)
SPEC = SwitchSpec(ports=2, lanes=1, format="int8", protocol=SHORT, endpoint=ENGINE)
FAULTS = noticed_by("endpoint")
LATENCY = "memory_is_read_soon_after_the_command"


@pytest.mark.long
def test_endpoints_pass_their_regression_without_undefined_outputs(tmp_path: Path) -> None:
    run = cosimulate_endpoint(SPEC, tmp_path, outputs=True)
    assert run.failures == ()
    assert len(run.tests) == 15
    assert run.measurements["endpoint_latency_cycles"] == 14


def test_a_register_without_reset_is_noticed_only_while_outputs_are_watched(
    tmp_path: Path,
) -> None:
    for fault, message in FAULTS.items():
        options = {"tests": [LATENCY], "faults": FAULTS, "fault": fault}
        assert cosimulate_endpoint(SPEC, tmp_path / "unwatched", **options).failures == ()
        (failed,) = cosimulate_endpoint(
            SPEC, tmp_path / "watched", outputs=True, **options
        ).failures
        assert message in failed.message
    assert cosimulate_endpoint(SPEC, tmp_path, outputs=True, tests=[LATENCY]).failures == ()
