"""Every record of the package has a name, by which `fred records` knows it."""

from fred_cli.records.registry import ENTRIES
from perfmodel.switch_timing.areas import SHIPPED_AREAS
from perfmodel.switch_timing.endpoint import SHIPPED_ENDPOINTS
from perfmodel.switch_timing.networks import SHIPPED_NETWORKS
from perfmodel.switch_timing.record import RECORDS, SHIPPED
from perfmodel.switch_timing.router import SHIPPED_ROUTERS
from studies.rtl_iteration import SHIPPED_ITERATIONS
from studies.rtl_mesh import SHIPPED_MESH_CYCLES, SHIPPED_TREE_CYCLES
from studies.rtl_shipped import SHIPPED_PLANES
from studies.saturation import SHIPPED_SATURATION

MEASURED = [
    *SHIPPED,
    *SHIPPED_ROUTERS,
    *SHIPPED_ENDPOINTS,
    *SHIPPED_PLANES,
    SHIPPED_MESH_CYCLES.stem,
    SHIPPED_TREE_CYCLES.stem,
    "mesh-4x4-trees",
    SHIPPED_SATURATION.stem,
    *SHIPPED_ITERATIONS,
]
MAPPED = (SHIPPED_AREAS.stem, SHIPPED_NETWORKS.stem)


def test_every_file_has_one_name() -> None:
    found = [path.stem for path in RECORDS.glob("*.json")]
    among_the_model = sorted(name for name, one in ENTRIES.items() if one.path is None)
    assert sorted(found) == sorted([*MEASURED, *MAPPED]) == among_the_model
