"""The compiled event core finds what the interpreted one does, to the last bit."""

import os
import subprocess
import sys

import pytest

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


@pytest.mark.slow
def test_both_agree() -> None:
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
