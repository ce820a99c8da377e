"""Studies of switches: area and clock from synthesis, and cycles from co-simulation."""

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fred_cli.cell_options import read_cells
from fred_cli.cosimulation import load_testbench
from fred_hw.choices import find_choice, not_one_of
from fred_hw.errors import InputError
from fred_hw.load import PRESETS, load_spec
from fred_hw.spec import SwitchSpec
from perfmodel.studies.study.axes import Value
from perfmodel.studies.study.file import SWITCH_FIGURES, SWITCH_ROOTS
from perfmodel.studies.study.inputs import flat, key_of
from perfmodel.studies.study.kind import Kind, Row, check_roots
from perfmodel.studies.study.plan import KINDS
from perfmodel.studies.study.version import version_of

__all__ = ["SWITCHES"]

_DEFAULTS = {"level": "interconnect", "liberty": "", "effort": "speed", "simulator": ""}


@dataclass(frozen=True)
class _Part:
    """A specification and one level of its Verilog, identified by the hash of the Verilog."""

    name: str
    spec: SwitchSpec
    sha256: str


@dataclass(frozen=True)
class _Inputs:
    """All inputs of a switch's figures, except the version of the installed tools.

    Parameters
    ----------
    specification : _Part
        The switch.
    level, effort, simulator : str
        As for `fred synth` and `fred characterize`; no simulation without a simulator.
    liberty : str
        Path of the cell library; no synthesis if it is empty.
    """

    specification: _Part
    level: str
    liberty: str
    effort: str
    simulator: str

    def key(self, version: str) -> str:
        """Return the hash of these inputs and of a version."""
        parts = (_identity(getattr(self, one.name)) for one in fields(self))
        return key_of(version, parts)


class _Resolver:
    """Resolver of the inputs of switches; each specification is generated once.

    Parameters
    ----------
    source : Path
        The study file; files that it names are relative to its folder.
    """

    def __init__(self, source: Path) -> None:
        self._source, self._folder = str(source), source.parent
        self._specification = lru_cache(maxsize=4096)(self._generated)

    def inputs(self, values: Mapping[str, Value]) -> _Inputs:
        """Return the inputs of a switch.

        Raises
        ------
        InputError
            A field or a value is not allowed; names the study file and the field.
        """
        check_roots(values, SWITCH_ROOTS, _DEFAULTS, self._source)
        found = _Inputs(**{part: self.part(part, values) for part in _PARTS})
        if not (found.liberty or found.simulator):
            message = "must be given for area and clock, or simulator for cycles"
            raise self._refused("liberty", message)
        return found

    def part(self, part: str, values: Mapping[str, Value]) -> Any:
        """Return a part of the inputs with a given name."""
        if part == "specification":
            given = {name: one for name, one in values.items() if one is not None}
            changes = [
                (name.partition(".")[2], one)
                for name, one in given.items()
                if name.startswith("specification.")
            ]
            level = self.part("level", values)
            return self._specification(given["specification"], level, *sorted(changes))
        value = values.get(part)
        text = _DEFAULTS[part] if value is None else str(value)
        return self._checked(part, text)

    def _checked(self, part: str, text: str) -> str:
        if part == "liberty":
            path = self._folder / text
            if not text:
                return text
            return str(path.resolve() if path.exists() else self._library(text))
        known = _names(part)
        if (found := find_choice(text, known)) is None:
            raise self._refused(part, not_one_of(text, known))
        return found

    def _library(self, text: str) -> Path:
        from synth.installed import library_path

        try:
            return library_path(text)
        except InputError as error:
            raise self._refused("liberty", error.message) from None

    def _generated(self, source: Value, level: str, *changes: tuple[str, Value]) -> _Part:
        if not isinstance(source, str):
            message = f"must be presets or files, not {source!r}"
            raise self._refused("specification", message)
        preset = find_choice(source, PRESETS)
        path = preset or str(self._folder / source)
        try:
            spec = load_spec(path, dict(changes))
        except InputError as error:
            changed = dict(changes).keys() & {error.field}
            field = f"specification.{error.field}" if changed else "specification"
            message = (
                error.message if changed or not error.field else f"{error.field}: {error.message}"
            )
            raise self._refused(field, message) from None
        from gen.canonical import canonical_hash

        return _Part(source, spec, canonical_hash(_design(spec, level).verilog))

    def _refused(self, field: str, message: str) -> InputError:
        return InputError(self._source, f"space.{field}", message)


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


def _identity(part: _Part | str) -> str:
    """Return the identity of a part of the inputs; for a file, its contents."""
    if isinstance(part, _Part):  # the requested clock changes how a design is mapped
        return f"{part.sha256} {part.spec.clock_ns}"
    path = Path(part)
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else part


def _derived(inputs: _Inputs) -> dict[str, Any]:
    part = inputs.specification
    spec = part.spec.model_dump(mode="json", exclude_none=True)
    named = {name: getattr(inputs, name) or None for name in _DEFAULTS}
    found = {"specification": part.name, **named, "verilog_sha256": part.sha256}
    return {**found, **dict(flat("specification", spec))}


def _evaluate(inputs: _Inputs, seed: int) -> Row:
    row: Row = {"records": ""}
    if inputs.liberty:
        row |= _synthesized(inputs)
    if inputs.simulator:
        row |= _simulated(inputs, seed)
    return row


def _synthesized(inputs: _Inputs) -> Row:
    """Return area and clock of a switch, from synthesis."""
    from gen.clock import CLOCK_NS
    from synth.synthesis import from_spec, synthesize

    libraries, part = read_cells([Path(inputs.liberty)]), inputs.specification
    result = synthesize(
        from_spec(part.spec, inputs.level, part.name),
        libraries,
        clock_ns=part.spec.clock_ns or CLOCK_NS,
        effort=inputs.effort,
    )
    report = result.to_dict()
    names = ("area_um2", "clock_ns", "cells", "flip_flops", "memory_bits")
    return {**{name: report[name] for name in names}, "records": result.provenance}


def _simulated(inputs: _Inputs, seed: int) -> Row:
    """Return cycle counts of a switch, from co-simulation."""
    _, names = load_testbench(inputs.simulator)
    from testbench.characterize import SwitchMeasurement
    from testbench.sim.tools import SimulatorError

    measured = SwitchMeasurement(spec=inputs.specification.spec, simulators=names, seed=seed)
    with TemporaryDirectory() as folder:
        try:
            record = measured.record(Path(folder))
        except SimulatorError as error:
            raise InputError("simulator", inputs.simulator, str(error)) from None
    names = ("latency_cycles", "throughput_flits_per_cycle", "reconfiguration_cycles")
    whole = {f"switch.{name}": record["switch"][name] for name in names[:1]}
    return {**{name: record[name] for name in names}, **whole}


def _depends(name: str) -> Collection[str]:
    root = name.partition(".")[0]
    return {root} if root in SWITCH_ROOTS else {*SWITCH_ROOTS}


def _version() -> str:
    """Return the version of synthesis and benches; the Verilog is part of the inputs."""
    return version_of("synth", "testbench")


_PARTS: Mapping[str, Collection[str]] = {
    "specification": ("specification", "level"),
    **{name: (name,) for name in _DEFAULTS},
}

SWITCHES = KINDS["specification"] = Kind(
    required=("specification",),
    parts=_PARTS,
    figures=SWITCH_FIGURES,
    depends=_depends,
    resolver=_Resolver,
    derived=_derived,
    evaluate=_evaluate,
    identity=_identity,
    version=_version,
)
