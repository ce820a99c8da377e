"""Studies of switches: area and clock from synthesis, cycles and tests from co-simulation."""

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fred_cli.cell_options import read_cells
from fred_cli.cosimulation import REGRESSIONS, load_testbench, simulating
from fred_hw.choices import find_choice
from fred_hw.errors import InputError, one_line
from fred_hw.load import PRESETS, load_spec
from fred_hw.spec import SwitchSpec
from studies.study.axes import Value
from studies.study.contents import flat
from studies.study.file import SWITCH_FIGURES, SWITCH_ROOTS
from studies.study.kind import Kind, Resolver, Row
from studies.study.plan import KINDS
from studies.study.version import version_of

__all__ = ["SWITCHES"]

_DEFAULTS: Mapping[str, Value] = {
    "level": "interconnect",
    "liberty": "",
    "effort": "speed",
    "simulator": "",
    "regression": False,
    "seed": 1,
}

_MAX_SEED = 2**32 - 1


@dataclass(frozen=True)
class _Part:
    """A specification and one level of its Verilog.

    Parameters
    ----------
    name : str
        As the study file names it.
    spec : SwitchSpec
        The specification.
    sha256 : str
        Canonical hash of the Verilog.
    identity : str
        What figures depend on: the hash and the requested clock; of a simulation the hash, the
        specification, and the code that generates and runs it.
    """

    name: str
    spec: SwitchSpec
    sha256: str
    identity: str


@dataclass(frozen=True)
class _Library:
    """A cell library.

    Parameters
    ----------
    path : str
        Absolute path.
    identity : str
        Hash of the contents.
    """

    path: str
    identity: str


@dataclass(frozen=True)
class _Inputs:
    """All inputs of a switch's figures, except the version of the installed tools.

    Parameters
    ----------
    specification : _Part
        The switch.
    level, effort, simulator : str
        As for `fred synth` and `fred characterize`; no simulation without a simulator.
    liberty : _Library or None
        The cell library; no synthesis without one.
    regression : bool
        Whether the simulation is the regression of ``level`` as for `fred sim`.
    seed : int
        Seed of all stimulus of a simulation.
    """

    specification: _Part
    level: str
    liberty: _Library | None
    effort: str
    simulator: str
    regression: bool
    seed: int


class _Resolver(Resolver):
    """Resolver of the inputs of switches; each specification is generated once.

    Parameters are those of :class:`Resolver`.
    """

    def __init__(self, source: Path) -> None:
        super().__init__(source)
        self._specification = lru_cache(maxsize=4096)(self._generated)
        self._library = lru_cache(maxsize=1024)(self._checked_library)

    def inputs(self, values: Mapping[str, Value]) -> _Inputs:
        self.check_roots(values, SWITCH_ROOTS, _DEFAULTS)
        found = _Inputs(**{part: self.part(part, values) for part in _PARTS})
        if not (found.liberty or found.simulator):
            message = "must be given for area and clock, or simulator for cycles"
            raise self.refused("liberty", message)
        if found.regression and not found.simulator:
            raise self.refused("simulator", "must be given with regression")
        return found

    def part(self, part: str, values: Mapping[str, Value]) -> Any:
        if part == "specification":
            given = {name: one for name, one in values.items() if one is not None}
            changes = [
                (name.partition(".")[2], one)
                for name, one in given.items()
                if name.startswith("specification.")
            ]
            level = self.part("level", values)
            simulated = bool(self.part("simulator", values))
            return self._specification(given["specification"], level, simulated, *sorted(changes))
        value = values.get(part)
        if value is None:
            value = _DEFAULTS[part]
        if part == "regression":
            if not isinstance(value, bool):
                raise self.refused(part, f"must be true or false, not {value!r}")
            return value
        if part == "seed":
            seed = self.integer(part, value, 1, _MAX_SEED)
            # Without a simulation all seeds are one point.
            return seed if self.part("simulator", values) else _DEFAULTS[part]
        if part == "liberty":
            return self._library(str(value)) if value != "" else None
        return self.choice(part, str(value), _names(part))

    def _checked_library(self, text: str) -> _Library:
        """Return a cell library that can be read."""
        from synth.installed import library_path
        from synth.liberty import read_libraries

        try:
            path = (self.folder / library_path(text)).resolve()
            read_libraries([path])
        except InputError as error:
            raise self.refused_file("liberty", text, error) from None
        return _Library(str(path), hashlib.sha256(path.read_bytes()).hexdigest())

    def _generated(
        self, source: Value, level: str, simulated: bool, *changes: tuple[str, Value]
    ) -> _Part:
        if not isinstance(source, str):
            message = f"must be presets or files, not {source!r}"
            raise self.refused("specification", message)
        from gen.level import LEVELS

        preset = find_choice(source, PRESETS)
        path = preset or str(self.folder / source)
        try:
            spec = load_spec(path, dict(changes))
            LEVELS[level].check(spec, path)
        except InputError as error:
            changed = dict(changes).keys() & {error.field}
            field = f"specification.{error.field}" if changed else "specification"
            message = (
                error.message if changed or not error.field else f"{error.field}: {error.message}"
            )
            raise self.refused(field, message) from None
        from gen.canonical import canonical_hash

        digest = canonical_hash(_design(spec, level).verilog)
        # The requested clock changes how a design is mapped.
        identity = f"{digest} {spec.clock_ns}"
        if simulated:
            # A simulation has levels, schedules and expected results that the hash does not cover.
            code = version_of("gen", "fred_hw", "fred_cli")
            identity = f"{digest} {spec.model_dump_json()} {code}"
        return _Part(source, spec, digest, identity)


def _names(part: str) -> Collection[str]:
    if part == "level":
        from gen.level import unit_levels

        return unit_levels()
    if part == "effort":
        from synth.mapping import EFFORTS

        return tuple(EFFORTS)
    from testbench.sim.simulator import SIMULATORS

    return ("", *SIMULATORS)


def _design(spec: SwitchSpec, level: str) -> Any:
    from gen.design import generate

    return generate(spec, level=level)


def _identity(part: _Part | _Library | str | int | None) -> str:
    """Return the identity of a part of the inputs."""
    return part.identity if isinstance(part, _Part | _Library) else str(part)


def _derived(inputs: _Inputs) -> dict[str, Any]:
    part = inputs.specification
    spec = part.spec.model_dump(mode="json", exclude_none=True)
    given = {name: getattr(inputs, name) for name in _DEFAULTS}
    given["liberty"] = inputs.liberty and inputs.liberty.path
    named = {name: None if one == "" else one for name, one in given.items()}
    found = {"specification": part.name, **named, "verilog_sha256": part.sha256}
    return {**found, **dict(flat("specification", spec))}


def _evaluate(inputs: _Inputs) -> Row:
    row: Row = {"records": ""}
    if inputs.liberty:
        row |= _synthesized(inputs, inputs.liberty)
    if inputs.simulator:
        row |= _tested(inputs) if inputs.regression else _simulated(inputs)
    return row


def _synthesized(inputs: _Inputs, library: _Library) -> Row:
    """Return area and clock of a switch, from synthesis."""
    from gen.clock import CLOCK_NS
    from synth.synthesis import from_spec, synthesize

    libraries, part = read_cells([Path(library.path)]), inputs.specification
    result = synthesize(
        from_spec(part.spec, inputs.level, part.name),
        libraries,
        clock_ns=part.spec.clock_ns or CLOCK_NS,
        effort=inputs.effort,
    )
    report = result.to_dict()
    names = ("area_um2", "clock_ns", "cells", "flip_flops", "memory_bits")
    return {**{name: report[name] for name in names}, "records": result.provenance}


def _simulated(inputs: _Inputs) -> Row:
    """Return cycle counts of a switch, from co-simulation."""
    names = load_testbench(inputs.simulator)
    from testbench.characterize import SwitchMeasurement

    spec = inputs.specification.spec
    measured = SwitchMeasurement(spec=spec, simulators=names, seed=inputs.seed)
    with TemporaryDirectory() as folder, simulating("simulator", inputs.simulator):
        record = measured.record(Path(folder))
    names = ("latency_cycles", "throughput_flits_per_cycle", "reconfiguration_cycles")
    whole = {f"switch.{name}": record["switch"][name] for name in names[:1]}
    return {**{name: record[name] for name in names}, **whole}


def _tested(inputs: _Inputs) -> Row:
    """Return how many tests of a switch's regression passed and failed, and what failed."""
    load_testbench(inputs.simulator)
    run, spec = REGRESSIONS[inputs.level].run, inputs.specification.spec
    with TemporaryDirectory() as folder, simulating("simulator", inputs.simulator):
        found = run(spec, Path(folder), simulator=inputs.simulator, seed=inputs.seed)
    failed = found.failures
    row: Row = {"tests_passed": len(found.tests) - len(failed), "tests_failed": len(failed)}
    if failed:
        said = "; ".join(f"{one.name}: {one.message}" for one in failed)
        row["error"] = one_line(f"{found.simulator}: tests failed: {said}")
    return row


def _depends(name: str) -> Collection[str]:
    root = name.partition(".")[0]
    return {root} if root in SWITCH_ROOTS else {*SWITCH_ROOTS}


def _version() -> str:
    """Return the version of synthesis and benches; other code is part of the inputs if needed."""
    return version_of("synth", "testbench")


_PARTS: Mapping[str, Collection[str]] = {
    "specification": ("specification", "level", "simulator"),
    **{name: (name,) for name in _DEFAULTS},
    "seed": ("seed", "simulator"),
}

SWITCHES = KINDS["specification"] = Kind(
    required=("specification",),
    parts=_PARTS,
    figures=SWITCH_FIGURES,
    resolver=_Resolver,
    derived=_derived,
    evaluate=_evaluate,
    identity=_identity,
    needs={
        "area_um2": "liberty",
        "clock_ns": "liberty",
        "latency_cycles": "simulator",
        "tests_failed": "regression",
    },
    depends=_depends,
    version=_version,
)
