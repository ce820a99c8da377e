"""A router of a mesh in co-simulation, without undefined outputs."""

from pathlib import Path

import pytest

from fred_hw.errors import InputError
from testbench.cosimulation.cosimulate_mesh import cosimulate_router
from tests.fred_hw.specs import MESH, TORUS

pytestmark = pytest.mark.sim


@pytest.mark.slow
def test_router_passes_its_regression_without_undefined_outputs(tmp_path: Path) -> None:
    run = cosimulate_router(MESH.with_changes(height=3), tmp_path, packets=2, outputs=True)
    assert run.failures == ()
    assert len(run.tests) == 6


def test_router_with_several_channels_per_class_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError) as refused:
        cosimulate_router(TORUS, tmp_path)
    assert "must have one virtual channel per class" in str(refused.value)
