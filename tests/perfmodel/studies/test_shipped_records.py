"""Every record of the package has a name, and `make records` measures all but the areas anew."""

import re
from pathlib import Path

from perfmodel.studies.rtl_iteration import SHIPPED_ITERATIONS
from perfmodel.studies.rtl_mesh import SHIPPED_MESH_CYCLES
from perfmodel.studies.rtl_shipped import SHIPPED_PLANES
from perfmodel.studies.saturation import SHIPPED_SATURATION
from perfmodel.switch_timing.areas import SHIPPED_AREAS
from perfmodel.switch_timing.endpoint import SHIPPED_ENDPOINTS
from perfmodel.switch_timing.record import RECORDS, SHIPPED
from perfmodel.switch_timing.router import SHIPPED_ROUTERS

MEASURED = [
    *SHIPPED,
    *SHIPPED_ROUTERS,
    *SHIPPED_ENDPOINTS,
    *SHIPPED_PLANES,
    SHIPPED_MESH_CYCLES.stem,
    SHIPPED_SATURATION.stem,
    *SHIPPED_ITERATIONS,
]


def test_every_file_has_one_name() -> None:
    found = [path.stem for path in RECORDS.glob("*.json")]
    assert sorted(found) == sorted([*MEASURED, SHIPPED_AREAS.stem])


def test_make_measures_each() -> None:
    makefile = (Path(__file__).parents[3] / "Makefile").read_text()
    [lines] = re.findall(r"^records:.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)
    [chiplets] = re.findall(r"for chiplet in (.*); do", lines)
    named = re.findall(r"(?:-o|--record) build/records/([\w-]+)\.json", lines)
    assert sorted([*chiplets.split(), *named]) == sorted(MEASURED)
