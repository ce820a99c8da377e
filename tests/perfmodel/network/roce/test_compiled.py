"""Tests of perfmodel.network.roce.compiled."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from perfmodel.network.roce import compiled, thresholds

pytest.importorskip("numba")

_PROGRAM = """
from perfmodel.network.roce.parameters import SCHEMES, RoceFile
from perfmodel.network.roce.simulate import simulate
from perfmodel.network.roce.workload import Workload
from perfmodel.topology.clos import Clos, clos_file

clos = Clos(gpus_per_leaf=4, pods=(2,), widths=(2,), gbps=(200, 100), latency_us=(0.5, 1))
topology, work = clos_file(clos).build("clos"), Workload()
for source in range(1, 8):
    hops = topology.hops((source,), (0,))
    work.add(work.path_number(link for link, _ in hops), 60_000)
for scheme in SCHEMES:
    found = simulate(topology, work, RoceFile(congestion_control=scheme, error_rate=0.002))
    print(scheme, found.events, found.end_s.tolist(), found.marks, found.resent_bytes)
"""


def test_a_change_of_any_source_discards_compiled_functions(tmp_path: Path) -> None:
    sources, base = tmp_path / "sources", tmp_path / "base"
    (sources / "inner").mkdir(parents=True)
    (sources / "a.py").write_text("one")
    (sources / "inner" / "b.py").write_text("two")
    before = compiled.cache_folder(base, sources)
    before.mkdir(parents=True)
    assert compiled.cache_folder(base, sources) == before
    assert before.exists()
    (sources / "inner" / "b.py").write_text("six")
    assert compiled.cache_folder(base, sources) != before
    assert not before.exists()


@pytest.mark.skipif("NUMBA_DISABLE_JIT" in os.environ, reason="compiles nothing")
def test_compiled_functions_are_kept_by_the_content_of_the_sources(tmp_path: Path) -> None:
    function: Any = thresholds.mark_probability
    assert compiled.cache_folder(tmp_path).name in Path(function.stats.cache_path).parts


@pytest.mark.slow
def test_compiled_and_interpreted_event_cores_agree_to_the_last_bit() -> None:
    found = [
        subprocess.run(
            [sys.executable, "-c", _PROGRAM],
            env={**os.environ, "NUMBA_DISABLE_JIT": disabled},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for disabled in ("0", "1")
    ]
    assert found[0] == found[1]
    assert len(found[0].splitlines()) == 6
