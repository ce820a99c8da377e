"""All kinds of attacks by their names."""

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from fred_hw.spec import SwitchSpec
from fred_hw.wafer.spec import WaferSpec
from testbench.volume.changing import changing_steps
from testbench.volume.fabric import one_level, two_levels
from testbench.volume.loaded_switch import SwitchConditions, build_switch, run_fabric
from testbench.volume.writes import EXPECTED, run_writes

from .case import Kind, Outcome, Values
from .designs import (
    RANDOM_MESHES,
    RANDOM_SWITCHES,
    RANDOM_WAFERS,
    Choices,
    Designs,
    random_choices,
    simpler_choices,
)
from .fabrics import FABRICS, WAFER, Campaign, MeshFabric, WaferFabric
from .loads import Loads, loads_outcome, random_loads
from .plan import Plan
from .restarts import Restarts, random_restarts, restarts_outcome
from .run import outcome, text_of

__all__ = ["KINDS", "PlanKind", "SeriesKind", "SwitchKind"]

_REUSED = 40
"""Seeds in a row that draw one design, which takes longer to build than to run."""


def _less(values: Values) -> Iterator[dict[str, Any]]:
    """Yield choices without faults, and without stalls."""
    for name in ("faults", "stalls"):
        if values.get(name):
            yield {**values, name: 0}


def _without(values: Values, used: Iterable[Any]) -> Iterator[dict[str, Any]]:
    """Yield choices that leave out 8, 4, 2 and 1 more operations, the last first."""
    left = sorted(used, reverse=True)
    for count in (8, 4, 2, 1):
        for start in range(0, len(left), count):
            gone = [*values["without"], *left[start : start + count]]
            if len(left) > count:
                yield {**values, "without": gone}


def _design_of(designs: Designs, seed: int) -> dict[str, Any]:
    return random_choices(designs, random.Random(f"design {seed // _REUSED}"))


class PlanKind(Kind):
    """Plans of a fabric, which has random sizes or fixed ones.

    Parameters
    ----------
    name : str
        Name of the kind; of the fabric, if its sizes are fixed.
    designs : Designs, optional
        From where random sizes come.
    """

    def __init__(self, name: str, designs: Designs | None = None) -> None:
        super().__init__(name)
        self.designs = designs

    def draw(self, seed: int) -> Values:
        own = {"design": _design_of(self.designs, seed)} if self.designs else {}
        plan = self._fabric(own).campaign(seed).plan
        return {"seed": seed, **own, "faults": plan.faults, "stalls": plan.stalls, "without": []}

    def design(self, values: Values) -> str:
        fabric = self._fabric(values)
        return (fabric.wafer if isinstance(fabric, WaferFabric) else fabric.mesh).name

    def run(self, values: Values) -> Outcome:
        return outcome(self.campaign(values))

    def simpler(self, values: Values) -> Iterator[Values]:
        yield from _less(values)
        yield from _without(values, self.campaign(values).plan.used())
        if self.designs:  # last, as each design is built
            for design in simpler_choices(self.designs, values["design"]):
                yield {**values, "design": design}

    def text(self, values: Values) -> str:
        return text_of(self.campaign(values))

    def campaign(self, values: Values) -> Campaign:
        """Return the campaign of choices."""
        one = self._fabric(values).campaign(values["seed"])
        return replace(one, plan=_changed(one.plan, values, values["without"]))

    def _fabric(self, values: Values) -> WaferFabric | MeshFabric:
        if not self.designs:
            return FABRICS[self.name]
        return _fabric(self.designs, tuple(values["design"].items()))


def _changed(plan: Plan, values: Values, without: Iterable[int]) -> Plan:
    """Return a plan without some operations, with the faults and stalls of choices."""
    for operation in without:
        plan = plan.without(operation)
    return replace(plan, faults=values["faults"], stalls=values["stalls"])


@lru_cache(maxsize=8)
def _fabric(designs: Designs, choices: tuple[tuple[str, Any], ...]) -> WaferFabric | MeshFabric:
    """Return a fabric, which is built when it first runs."""
    spec = designs.spec(dict(choices))
    if isinstance(spec, WaferSpec):
        return WaferFabric("random wafer", spec)
    return MeshFabric("random mesh", spec)


class SeriesKind(Kind):
    """Plans of the wafer, one after another: loads of phases, or plans that resets cut.

    Parameters
    ----------
    name : str
        Name of the kind.
    make, simulate : callable
        Returns the plans of a seed; simulates them.
    """

    def __init__(
        self, name: str, make: Callable[[int], Any], simulate: Callable[[Any], Outcome]
    ) -> None:
        super().__init__(name)
        self._make, self._simulate = make, simulate

    def draw(self, seed: int) -> Values:
        plan = self._make(seed).plans[0].plan
        return {"seed": seed, "faults": plan.faults, "stalls": plan.stalls, "without": []}

    def design(self, values: Values) -> str:
        return WAFER.wafer.name

    def run(self, values: Values) -> Outcome:
        return self._simulate(self._series(values))

    def simpler(self, values: Values) -> Iterator[Values]:
        yield from _less(values)
        plans = enumerate(self._series(values).plans)
        used = [[number, each] for number, one in plans for each in one.plan.used()]
        yield from _without(values, used)

    def text(self, values: Values) -> str:
        return self._series(values).text()

    def _series(self, values: Values) -> Loads | Restarts:
        made = self._make(values["seed"])
        plans = tuple(
            replace(
                one,
                plan=_changed(
                    one.plan, values, [each for k, each in values["without"] if k == number]
                ),
            )
            for number, one in enumerate(made.plans)
        )
        return replace(made, plans=plans)


class SwitchKind(Kind):
    """Bursts and unicasts through one switch or two levels of switches.

    Parameters
    ----------
    name : str
        "writes": registers are written at random, which may hurt one phase. "changing": phases are
        rewritten under load.
    """

    def draw(self, seed: int) -> Values:
        rng = random.Random(f"switch {seed}")
        common = {
            "seed": seed,
            "design": _design_of(RANDOM_SWITCHES, seed),
            "faults": rng.choice((0, 0, 1000, 10_000)),
            "stalls": rng.choice((0, 20)),
            "delay": rng.choice((1, 8, 20)),
        }
        if self.name == "writes":
            return {**common, "writes": 4000, "packets": 600}
        return {**common, "levels": rng.choice((1, 2)), "flits": rng.choice((10_000, 60_000))}

    def design(self, values: Values) -> str:
        return RANDOM_SWITCHES.spec(values["design"]).name

    def run(self, values: Values) -> Outcome:
        seed, (program, spec, plusargs) = values["seed"], self.built(values["design"])
        conditions = {
            "faults_per_million": values["faults"],
            "stall_percent": values["stalls"],
            "delay": values["delay"],
            "idle_limit": 200_000,
            "plusargs": plusargs,
        }
        writes = 0
        if self.name == "writes":
            writes, allowed = values["writes"], EXPECTED
            found = run_writes(
                program, spec, seed=seed, writes=writes, packets=values["packets"], **conditions
            )
        else:
            levels, allowed = (one_level, two_levels)[values["levels"] - 1], set[str]()
            fabric = levels(spec.ports)
            steps = changing_steps(spec, fabric, flits=values["flits"], seed=seed)
            found = run_fabric(
                program, spec, fabric, steps, SwitchConditions(seed=seed, **conditions)
            )
        errors = set[str]().union(*found["errors"]) - allowed
        what = "" if found["right"] else f"{found['messages']} {found['state']}"[:2000]
        what = what or (f"ERROR has {sorted(errors)}" if errors else "")
        return Outcome(what, found["flits"], sum(found["link_faults"]), writes=writes)

    def built(self, design: Choices) -> tuple[Path, SwitchSpec, Sequence[str]]:
        """Return the program of a design, its specification, and arguments of the model."""
        spec = RANDOM_SWITCHES.spec(design)
        return build_switch(spec), spec, ()

    def simpler(self, values: Values) -> Iterator[Values]:
        yield from _less(values)
        if values.get("levels") == 2:
            yield {**values, "levels": 1}
        for name, least in (("writes", 0), ("packets", 1), ("flits", 20)):
            for part in (8, 2):
                if values.get(name, least) > least:
                    yield {**values, name: max(least, values[name] // part)}
        for design in simpler_choices(RANDOM_SWITCHES, values["design"]):
            yield {**values, "design": design}

    def text(self, values: Values) -> str:
        return f"{self.name} on a switch: {dict(values)}"


KINDS: Mapping[str, Kind] = {
    one.name: one
    for one in (
        *map(PlanKind, FABRICS),
        PlanKind("random wafer", RANDOM_WAFERS),
        PlanKind("random mesh", RANDOM_MESHES),
        SeriesKind("loads", random_loads, loads_outcome),
        SeriesKind("restarts", random_restarts, restarts_outcome),
        SwitchKind("writes"),
        SwitchKind("changing"),
    )
}
"""Kinds by their names; the first run plans on fabrics of fixed sizes."""
