"""Pruning: an interconnect for the configurations of some strategies, and for no others."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated

from pydantic import Field

from .compiler.configuration import Configuration
from .compiler.connections import BOTH, every_connection, made_by
from .compiler.flows import Flow
from .compiler.frugal import route_frugally
from .compiler.placement import Strategy, phases
from .compiler.routing import RoutingResult
from .compiler.shape import layout
from .compiler.tracing import flows_of, path_of
from .errors import FieldError, InputError
from .file_kinds import STRATEGIES
from .files import EachOnce, FileModel, load_model, text_like
from .spec import SwitchSpec
from .wafer.load import load_wafer
from .wafer.program import compile_strategy
from .wafer.spec import WaferSpec

__all__ = ["NeedsFile", "kept_parts", "needed_result", "needed_results", "prune", "read_needs"]

_SIZE = "[1-9][0-9]{0,3}"
_STRATEGY = f"[MT]P{_SIZE}-DP{_SIZE}-PP{_SIZE}(-CP{_SIZE})?(-EP{_SIZE})?(-SP)?"


class NeedsFile(FileModel):
    """Strategies that a pruned interconnect must support.

    Parameters
    ----------
    strategies : list of str
        Strategies like ``MP2-DP5-PP2``; all of their phases are supported.
    wafer : str, optional
        File of a wafer on which the strategies run, relative to this file. The interconnect then
        supports the flows of every chiplet with its ports and middle subswitches on that wafer.
        Without a wafer, the workers of a strategy are connected to the ports of the switch.
    """

    file_kind = STRATEGIES

    strategies: Annotated[
        list[Annotated[str, text_like(_STRATEGY, "of the form MP2-DP5-PP2")]], EachOnce()
    ]
    wafer: Annotated[str | None, Field(examples=["wafer-20-controllers.yaml"])] = None

    def parsed(self, source: str) -> list[Strategy]:
        """Return the strategies.

        Raises
        ------
        InputError
            The sizes of one do not go together; names ``source``.
        """
        found = []
        for number, text in enumerate(self.strategies):
            try:
                found.append(Strategy.parse(text))
            except ValueError as error:
                message = str(error).removeprefix("strategy ")
                raise InputError(source, f"strategies.{number}", message) from None
        return found


def read_needs(path: Path, spec: SwitchSpec) -> dict[str, tuple[Flow, ...]]:
    """Return the sets of flows that the strategies in a file need, by name.

    A name has the strategy, the phase and, on a wafer, the chiplet, as in
    ``MP2-DP5-PP2:dp_all_reduce:l1_0``.

    Parameters
    ----------
    path : Path
        A ``NeedsFile`` as YAML.
    spec : SwitchSpec
        The switch that is to support them.

    Raises
    ------
    InputError
        The file or its wafer cannot be read, a strategy does not fit, the wafer has no chiplets
        like the switch, or the strategies send nothing through it.
    """
    source, needs = str(path), load_model(NeedsFile, path)
    place = "" if needs.wafer is None else str(path.parent / needs.wafer)
    wafer = load_wafer(place) if place else None
    found: dict[str, tuple[Flow, ...]] = {}
    for number, strategy in enumerate(needs.parsed(source)):
        try:
            if wafer is None:
                found |= {
                    f"{strategy}:{name}": flows
                    for name, flows in phases(strategy, ports=spec.ports).items()
                }
            else:
                found |= _on_wafer(wafer, place, strategy, spec)
        except FieldError as error:
            raise InputError(source, f"strategies.{number}", error.message) from None
        except ValueError as error:
            message = str(error).removeprefix(f"strategy {strategy} ").removeprefix("strategy ")
            raise InputError(source, f"strategies.{number}", message) from None
    if not found:
        raise InputError(source, "strategies", "must send data through the switch, not none")
    return found


def _on_wafer(
    wafer: WaferSpec, source: str, strategy: Strategy, spec: SwitchSpec
) -> dict[str, tuple[Flow, ...]]:
    """Return the flows of each chiplet of the switch's size in each phase of a strategy."""
    program = compile_strategy(wafer, strategy, wafer.link.data_width // 8)
    size = spec.ports, spec.middle_switches
    own = {
        number: unit.name
        for number, unit in enumerate(program.plane.units)
        if (unit.spec.ports, unit.spec.middle_switches) == size
    }
    if not own:
        ports, middle = size
        message = f"must have a switch of {ports} ports and {middle} middle_switches, as SPEC has"
        raise InputError(source, "switches", message)
    return {
        f"{strategy}:{entry.name}:{own[number]}": flows
        for phase in program.phases
        for entry in phase.entries
        for number, flows in entry.paths.flows.items()
        if number in own
    }


def prune(spec: SwitchSpec, needs: Mapping[str, Sequence[Flow]], source: str) -> SwitchSpec:
    """Return a specification that has only the configurations of some flows.

    Parameters
    ----------
    spec : SwitchSpec
        The switch.
    needs : mapping of str to sequence of Flow
        Flows that are active together, by name.
    source : str
        Where they are from, for error lines.

    Raises
    ------
    InputError
        Some flows have no routing; names ``source`` and the flows.
    """
    words = {}
    for name, result in route_frugally(needs, spec.ports, spec.middle_switches).items():
        if result.configuration is None:
            message = f"must have flows that can be routed at once, not those of {name}"
            raise InputError(source, "strategies", message)
        words[name] = f"{result.configuration.pack():#x}"
    return spec.with_changes(only=words)


def needed_results(spec: SwitchSpec) -> dict[str, RoutingResult]:
    """Return the routing of the only configurations of a specification, by name.

    Raises
    ------
    FieldError
        A word has a code that no flow uses, so that routing its flows gives another word.
    """
    found = {}
    for name, word in spec.only or ():
        configuration = Configuration.unpack(int(word, 16), spec.ports, spec.middle_switches)
        flows = tuple(flows_of(configuration))
        paths = tuple(path_of(configuration, flow) for flow in flows)
        result = RoutingResult(flows, spec.ports, spec.middle_switches, "routed", paths=paths)
        if result.configuration != configuration:
            message = f"must be a word in which each code belongs to a flow, not {word:.60}"
            raise FieldError(f"only.{name}", message)
        found[name] = result
    return found


def needed_result(
    spec: SwitchSpec, name: str, flows: Iterable[Flow], source: str, field: str = "only"
) -> RoutingResult:
    """Return the routing of flows among the only configurations of a specification.

    Raises
    ------
    InputError
        No configuration routes exactly these flows; names ``source``, ``field`` and the flows.
    """
    wanted = sorted(flows)
    found = needed_results(spec)
    for result in found.values():
        if sorted(result.flows) == wanted:
            return result
    said = ", ".join(map(str, wanted))
    message = f"must have a configuration for {name} ({said}), not only {len(found)} others"
    raise InputError(source, field, message)


def kept_parts(spec: SwitchSpec) -> dict[str, dict[str, int]]:
    """Return the parts that a pruned interconnect has, and those of the full one, by kind."""
    ports, middle = spec.ports, spec.middle_switches
    fields = layout(ports, middle)
    full = {field.path: every_connection(field.kind, middle) for field in fields}
    units = [field.path for field in fields if field.kind in ("R", "RD")]
    counts = {}
    for name, own in (("kept", made_by(spec.needed or (), ports, middle)), ("full", full)):
        counts[name] = {
            "microswitches": sum(map(bool, own.values())),
            "reduction_units": sum(any(one == BOTH for one, _ in own[path]) for path in units),
            "connections": sum(map(len, own.values())),
        }
    return counts
