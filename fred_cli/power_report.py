"""Power of hardware under workloads: synthesis, co-simulation, replay on the netlist, energies."""

from collections.abc import Callable, Sequence
from math import isqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fred_hw.mesh.spec import MeshSpec
from fred_hw.optional import needed
from fred_hw.published import PORT_BYTES_PER_S
from fred_hw.spec import SwitchSpec

if TYPE_CHECKING:
    from synth.power import Watts
    from synth.replayed_parts import ReplayedParts
    from synth.synthesis import Source, Synthesis

__all__ = ["POWER_LEVELS", "compared", "mesh_beside", "power_report"]

POWER_LEVELS = ("interconnect", "crossbar", "benes", "switch", "mesh")
"""Levels with workloads."""


def power_report(
    spec: SwitchSpec | MeshSpec,
    level: str,
    source: "Source",
    synthesis: "Synthesis",
    work: Path,
    *,
    cycles: int,
    seed: int,
    progress: Callable[[str], None],
    workloads: Sequence[str] = (),
) -> dict[str, Any]:
    """Return the power of a synthesized design under each workload, as JSON values.

    The power of a mesh is the sum over its routers.

    Parameters
    ----------
    spec, level : SwitchSpec or MeshSpec, str
        Specification, and one of ``POWER_LEVELS``.
    source, synthesis : Source, Synthesis
        Its Verilog, and that mapped to cells.
    work : Path
        Folder for logs and recordings of the co-simulation.
    cycles, seed : int
        Length of the counted window, and seed of the stimulus.
    progress, workloads : Callable, sequence of str
        Called with a description of each step, and workloads; all if empty. Energies above idle
        need ``idle`` as the first.

    Raises
    ------
    InputError
        The library has no energies, or mapping has changed what the design does.
    SimulatorError
        The simulator is not installed or failed.
    """
    with needed("numba", "power", "fred-hw[synth]"):
        from synth.activity import Trace
    from synth.replayed_parts import ReplayedParts
    from testbench.cosimulation.activity import record_workloads

    clock_ns, mapped, cells = synthesis.target_ns, synthesis.mapped, synthesis.libraries
    parts = ReplayedParts(mapped, cells, source.units, apart=isinstance(spec, MeshSpec))
    progress("co-simulating the workloads")
    options: dict[str, Any] = {"cycles": cycles, "seed": seed, "workloads": workloads}
    simulator, recordings = record_workloads(
        spec, level, parts.ports, work, modules=parts.modules, **options
    )
    rows: list[dict[str, Any]] = []
    for one in recordings:
        progress(f"replaying {one.workload} on the netlist")
        trace = Trace(f"workload {one.workload}", one.values, *one.window)
        power = parts.power(trace, clock_ns)
        idle_w = rows[0]["total"]["total_w"] if rows else power.total.total_w
        energy = _energy(one.counts, power.total, idle_w, clock_ns * cycles, spec)
        row = {"workload": one.workload, "cycles": cycles, **one.counts, **_row(power, source)}
        rows.append({**row, "energy": energy})
    tools = {**synthesis.to_dict()["provenance"], "simulator": simulator, "seed": seed}
    return _report(spec, level, synthesis, parts, rows) | {"provenance": tools}


def mesh_beside(spec: SwitchSpec) -> MeshSpec:
    """Return the squarest mesh with an NPU for each port of a switch, and the same links."""
    height = max(n for n in range(1, isqrt(spec.ports) + 1) if spec.ports % n == 0)
    same = ("format", "lanes", "operation", "overflow", "protocol")
    fields = {key: getattr(spec, key) for key in same}
    return MeshSpec(width=spec.ports // height, height=height, controllers=False, **fields)


_COMPARED = (
    ("idle", "total_w", "power", "mW", 1e3),
    ("random", "total_w", "power", "mW", 1e3),
    ("random", "rate", "flits delivered", "per cycle", 1.0),
    ("random", "flit_pj", "energy of a flit", "pJ", 1.0),
    ("random", "flit_above_idle_pj", "energy of a flit, above idle", "pJ", 1.0),
    ("all_reduce", "total_w", "power", "mW", 1e3),
    ("all_reduce", "rate", "flits delivered", "per cycle", 1.0),
    ("all_reduce", "flit_pj", "energy of a flit", "pJ", 1.0),
    ("all_reduce", "flit_above_idle_pj", "energy of a flit, above idle", "pJ", 1.0),
    ("all_reduce", "reduced_byte_pj", "energy of a reduced byte", "pJ", 1.0),
    ("all_reduce", "reduced_byte_above_idle_pj", "energy of a reduced byte, above idle", "pJ", 1.0),
)


def compared(switch: dict[str, Any], mesh: dict[str, Any]) -> list[dict[str, Any]]:
    """Return figures of a switch and of a mesh of as many NPUs, from their reports.

    An all-reduce of a vector reduces as many bytes on both, so energies of a reduced byte compare
    the same work. A flit does not: an all-reduce takes fewer flits through a switch. Energies are
    None for a workload whose window has no flit.
    """
    found: list[dict[str, Any]] = []
    for workload, key, name, unit, scale in _COMPARED:
        pair: list[float | None] = []
        for report in (switch, mesh):
            (row,) = (one for one in report["workloads"] if one["workload"] == workload)
            rate = {"rate": row["flits"] / row["cycles"]}
            value = (rate | row["total"] | row["energy"])[key]
            pair.append(None if value is None else scale * value)
        ratio = pair[0] / pair[1] if pair[0] is not None and pair[1] else None
        values = {"switch": pair[0], "mesh": pair[1], "ratio": ratio}
        found.append({"figure": f"{workload}: {name}", "unit": unit, **values})
    return found


def _row(power: Any, source: "Source") -> dict[str, Any]:
    """Return power by class and module."""
    units = [
        {"module": name, "unit": source.units.get(name, "").split(".")[-1], **watts.to_dict()}
        for name, watts in power.modules.items()
    ]
    classes = [{"name": name, **watts.to_dict()} for name, watts in power.classes.items()]
    return {"total": power.total.to_dict(), "classes": classes, "units": units}


def _report(
    spec: SwitchSpec | MeshSpec,
    level: str,
    synthesis: "Synthesis",
    parts: "ReplayedParts",
    rows: list[dict[str, Any]],
) -> dict[str, Any]:
    """Return the report without its provenance."""
    return {
        "name": synthesis.name,
        "level": level,
        "clock_ns": synthesis.target_ns,
        "shortest_clock_ns": synthesis.timing.clock_ns,
        "effort": synthesis.effort,
        "volts": parts.volts,
        "wire_load": parts.wire_load,
        "memory_bits": synthesis.area.memory_bits,
        "area_um2": synthesis.area.area_um2,
        "routers": spec.routers if isinstance(spec, MeshSpec) else None,
        "workloads": rows,
        "wafer": _wafer(level, spec, rows),
    }


def _energy(
    counts: Any, total: "Watts", idle_w: float, window_ns: float, spec: SwitchSpec | MeshSpec
) -> dict[str, float | None]:
    """Return energies of units of work [pJ]: all of it, and what exceeds the idle design.

    A mesh moves the operands of additions, and its NPUs add them.
    """
    all_pj = total.total_w * window_ns * 1e3
    above_pj = (total.total_w - idle_w) * window_ns * 1e3
    link = spec.link if isinstance(spec, MeshSpec) else spec
    added_bytes = counts["additions"] * link.number_format.storage_bits / 8
    return {
        "flit_pj": _per(all_pj, counts["flits"]),
        "flit_above_idle_pj": _per(above_pj, counts["flits"]),
        "crossing_pj": _per(all_pj, counts["crossings"]),
        "crossing_above_idle_pj": _per(above_pj, counts["crossings"]),
        "addition_above_idle_pj": _per(
            above_pj, 0 if isinstance(spec, MeshSpec) else counts["additions"]
        ),
        "reduced_byte_pj": _per(all_pj, added_bytes),
        "reduced_byte_above_idle_pj": _per(above_pj, added_bytes),
    }


def _per(value: float, count: float) -> float | None:
    return value / count if count else None


def _wafer(
    level: str, spec: SwitchSpec | MeshSpec, rows: list[dict[str, Any]]
) -> dict[str, Any] | None:
    """Return the power of the interconnects of the published wafer at full rate.

    The energy of an all-reduce is taken as proportional to the bits of payload. Other levels have
    no estimate.
    """
    from perfmodel.published import SWITCH_POWER_W
    from perfmodel.wafer_cost.chiplets import chiplet_kinds, published_wafer

    found = [one["energy"]["flit_pj"] for one in rows if one["workload"] == "all_reduce"]
    if level != "interconnect" or not found:
        return None
    (energy,) = found
    assert isinstance(spec, SwitchSpec)
    ports = sum(one.chiplets * one.ports for one in chiplet_kinds(published_wafer()))
    flits_per_s = PORT_BYTES_PER_S / (spec.data_width / 8)
    return {
        "ports": ports,
        "port_bytes_per_s": PORT_BYTES_PER_S,
        "estimate_w": energy * 1e-12 * flits_per_s * ports,
        "published_w": SWITCH_POWER_W,
    }
