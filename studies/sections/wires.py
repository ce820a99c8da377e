"""Wires of a wafer: LIBRA's optimum, compared with simulation.

No paper has these figures: the column "derived" has what LIBRA computes, and ours is simulated.
"""

from collections.abc import Iterator

from perfmodel.derived import Derived
from perfmodel.published import NPU_L1_BYTES_PER_S
from perfmodel.switch_timing.record import ProtocolModel
from studies.section import SECTIONS, ReproduceRow, Section, Setting, number
from studies.wires import (
    FRED,
    FRED_D_RATES,
    HYBRIDS,
    MESH,
    Split,
    best_of,
    best_split,
    given_split,
)

__all__ = ["WORKLOADS", "compared", "wires"]

WORKLOADS = ("transformer-17b", "gpt-3", "llama-3-70b", "mixtral-8x7b")
"""Workloads for which the wires are split."""


def wires(setting: Setting) -> Iterator[ReproduceRow]:
    """Yield exposed communication with wires as in FRED-D, relative to optimally split wires."""
    for name in WORKLOADS:
        yield from _of_workload(name, setting.protocol)


def compared(name: str, protocol: ProtocolModel) -> dict[str, Split]:
    """Return the splits compared for a workload, by name; all have the wires of FRED-D."""
    return {
        "FRED-D": given_split(FRED[5], name, protocol, FRED_D_RATES),
        "best FRED": best_of(FRED.values(), name, protocol),
        "best hybrid": best_of(HYBRIDS.values(), name, protocol),
        "mesh": best_split(MESH, name, protocol),
    }


def _of_workload(name: str, protocol: ProtocolModel) -> Iterator[ReproduceRow]:
    fred_d, best, hybrid, mesh = compared(name, protocol).values()
    yield _row(
        f"wires/split/{name}",
        f"exposed communication of {name}, FRED-D over FRED with its wires split best",
        fred_d,
        best,
    )
    yield _row(
        f"wires/npu-3/{name}",
        f"the same with at most {NPU_L1_BYTES_PER_S / 1e12:g} TB/s of an NPU, as its memory has",
        fred_d,
        best_of(FRED.values(), name, protocol, NPU_L1_BYTES_PER_S),
    )
    yield _row(
        f"wires/hybrid/{name}",
        f"exposed communication of {name}, best FRED over best mesh-switch hybrid, equal wires",
        best,
        hybrid,
    )
    yield _row(
        f"wires/mesh/{name}",
        f"exposed communication of {name}, mesh over best FRED, equal wires",
        mesh,
        best,
    )


def _row(name: str, what: str, one: Split, other: Split) -> ReproduceRow:
    computed = one.computed_s / other.computed_s
    steps = "LIBRA's formula on the bytes that each collective puts on the busiest links"
    return number(
        name,
        what,
        Derived(computed, steps),
        one.exposed_s() / other.exposed_s(),
        f"simulated: {one.words}; {other.words}",
    )


_SUBJECTS = {"wires": "Wires of a wafer: FRED, mesh-switch hybrids and the mesh"}
SECTIONS.add("wires", Section(wires, _SUBJECTS, "clarabel", "libra"), rank=5)
