"""Search of a large space by Optuna, which proposes points based on earlier results."""

import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from importlib import import_module
from itertools import islice
from math import inf, isqrt
from pathlib import Path
from typing import Any

import numpy as np

from fred_hw.errors import InputError
from fred_hw.optional import needed

from .engine import Engine
from .front import Front
from .plan import CHUNK, Plan
from .point import Point, Row
from .results import known_points, results_of
from .run import Meter, Progress, Summary, compute, locked_store
from .screen import Screen
from .space import Steps
from .store import Store, check_store, not_written

__all__ = ["DEFAULT_POINTS", "Budget", "optimize_study"]

DEFAULT_POINTS = 1000
"""Default number of points of a search without a budget."""

_JOURNAL = "optuna.log"
"""Journal file of Optuna in the folder of the store."""

_TRIES = 5000
"""Successive proposals without a new point to compute after which a search ends."""

_SCREENED = "screened"
"""Attribute of a trial whose figures are the bounds of a point that was not computed."""

_KEY = "key"
"""Attribute of a trial that was told figures: the key of its point."""

_POPULATION = 50
"""Largest population of a generation of NSGA-II."""

_WORST = 1e30
"""Figure of a point that has none, as Optuna's samplers do not accept infinity."""


@dataclass(frozen=True)
class Budget:
    """Limits at which a search ends.

    Parameters
    ----------
    points : int or None
        Points that satisfy the constraints, those of earlier runs of the search included.
    seconds : float or None
        Time of this run [s].
    """

    points: int | None = DEFAULT_POINTS
    seconds: float | None = None


def optimize_study(
    plan: Plan,
    folder: Path,
    budget: Budget,
    engine: Callable[[], Engine],
    listener: Callable[[Progress], object] = lambda _: None,
) -> Summary:
    """Search a study for the points with the least objectives, and compute the proposed points.

    One objective is searched with the tree-structured Parzen estimator (TPE), several with the
    genetic algorithm NSGA-II. A point whose lower bounds exclude it from the front is not computed:
    the search goes on with its bounds. Whatever ends a search, a later one goes on from its points.

    Parameters
    ----------
    plan, folder, engine, listener
        As for :func:`run.run_study`.
    budget : Budget
        Where the search ends, unless it has had all points before.

    Raises
    ------
    InputError
        As for :func:`run.run_study`, or no point was found that satisfies the constraints, or
        Optuna is not installed.
    """
    with needed("optuna", "searches", "fred-hw[optimize]"):
        import_module("optuna")
    check_store(folder)
    with ExitStack() as stack:
        running = stack.enter_context(closing(engine()))
        store = stack.enter_context(locked_store(folder))
        try:
            search = _Search(plan, store, budget)
            # One point in a batch: proposals do not depend on the speed of the machine.
            meter = Meter(budget.points or len(plan.space), len(search.keys), listener, 0.0)
            compute(plan, search.points(), store, running, meter, search.told)
            meter.end()
        except OSError as error:  # of Optuna's journal; the store has errors of its own
            raise not_written(folder, error) from None
        search.check()
        excluded = {one.text: removed for one, removed in search.excluded.items()}
        counts = (meter.computed, meter.failed, excluded, search.screened)
        found = {**known_points(plan, store), **search.keys}
        return Summary(len(search.keys), *counts, *results_of(plan, store, found))


class _Search:
    """The points that Optuna proposes.

    Parameters
    ----------
    plan, store, budget : Plan, Store, Budget
        See :func:`optimize_study`.
    """

    def __init__(self, plan: Plan, store: Store, budget: Budget) -> None:
        self._plan, self._budget = plan, budget
        self._study = _optuna_study(plan, store.path / _JOURNAL)
        self._space = [_parameter(number, steps) for number, steps in enumerate(plan.space.groups)]
        self._begun = time.monotonic()
        self._open: dict[str, Any] = {}
        self._present = store.keys()
        self._stored = store.figures(plan.objectives, self._present)
        self._seen: set[int] = set()
        self.keys: dict[str, int] = {}
        self.screened = 0
        self._front = Front(len(plan.objectives))
        self.excluded = dict.fromkeys(plan.constraints, 0)
        optuna: Any = import_module("optuna")
        states = optuna.trial.TrialState
        self._failed = states.FAIL
        for trial in self._study.get_trials(deepcopy=False):
            if trial.state == states.COMPLETE:
                self._resume(trial)
            elif trial.state == states.RUNNING:  # when the earlier search ended
                self._study.tell(trial.number, state=self._failed)
        self._random = random.Random(f"{plan.seed} {len(self._study.get_trials(deepcopy=False))}")
        if not self._seen:
            self._begin()

    def _begin(self) -> None:
        """Enqueue the points with the least bounds, from a sample of the space."""
        count = len(self._plan.space)
        sample = self._random.sample(range(count), min(count, CHUNK))
        numbers = self._plan.left(np.sort(np.array(sample, np.int64)))
        order = iter(Screen(numbers, self._plan.bounds(numbers)))
        for number in islice(order, _first(self._plan)):
            self._propose(number)

    def _resume(self, trial: Any) -> None:
        """Count a trial of an earlier run, unless its point has to be computed again."""
        number, key = _number(self._plan, trial), trial.user_attrs[_KEY]
        if self._plan.left(np.array([number])).size and not trial.user_attrs.get(_SCREENED):
            if key not in self._present:  # not written before the process ended, or removed
                return
            self.keys[key] = number
            if key in self._stored:
                self._front.add([self._stored[key]])
        self._seen.add(number)

    def points(self) -> Iterator[Point]:
        """Yield points to compute until the budget is spent."""
        tries, plan = 0, self._plan
        while tries < _TRIES and not self._spent:
            trial = self._study.ask()
            number = plan.space.number(suggest(trial) for suggest in self._space)
            if number in self._seen:
                tries += 1
                self._study.tell(trial, state=self._failed)
                self._enqueue()
                continue
            self._seen.add(number)
            left = plan.left(np.array([number]), self.excluded)
            [key] = plan.keys(np.array([number]))
            if not left.size:
                tries += 1
                self._tell(trial, key, None)
                continue
            bound = plan.bounds(left)
            if self._front.reaches(bound)[0]:
                tries += 1
                self.screened += 1
                trial.set_user_attr(_SCREENED, True)
                self._tell(trial, key, bound[0].tolist())
                continue
            tries = 0
            self.keys[key] = number
            if key in self._present:
                self._tell(trial, key, self._stored.get(key))
                continue
            self._open[key] = trial
            yield plan.point(number)

    def told(self, rows: Sequence[Row]) -> None:
        """Report the figures of computed points to Optuna."""
        for row in rows:
            figures = [row.get(name) for name in self._plan.objectives]
            found = None if None in figures else figures
            self._tell(self._open.pop(row["key"]), row["key"], found)

    def check(self) -> None:
        """Fail if no point that was tried satisfies a constraint.

        Raises
        ------
        InputError
            The constraints removed every point.
        """
        removed = [one for one in self._plan.constraints if self.excluded[one]]
        if removed and not self.keys:
            tried, last = sum(self.excluded.values()), removed[-1]
            message = f"must leave a point, not remove all {tried:,} that were tried: {last.text}"
            raise InputError(self._plan.source, last.field, message)

    @property
    def _spent(self) -> bool:
        if len(self._seen) == len(self._plan.space):
            return True
        taken = time.monotonic() - self._begun
        return len(self.keys) >= (self._budget.points or inf) or taken >= (
            self._budget.seconds or inf
        )

    def _tell(self, trial: Any, key: str, figures: Sequence[Any] | None) -> None:
        trial.set_user_attr(_KEY, key)
        if figures and not trial.user_attrs.get(_SCREENED):
            self._front.add([figures])
        trial.set_constraint("figures", 1.0 if figures is None else 0.0)
        self._study.tell(trial, figures or [_WORST] * len(self._plan.objectives))

    def _enqueue(self) -> None:
        """Enqueue a random new point, since the sampler has repeated an old one."""
        for _ in range(_TRIES):
            number = self._random.randrange(len(self._plan.space))
            if number not in self._seen:
                self._propose(number)
                return

    def _propose(self, number: int) -> None:
        steps = enumerate(self._plan.space.steps(number))
        self._study.enqueue_trial({str(group): step for group, step in steps})


def _number(plan: Plan, trial: Any) -> int:
    """Return the number of the point of a trial."""
    return plan.space.number(trial.params.values())


def _parameter(group: int, steps: Steps) -> Callable[[Any], int]:
    """Let Optuna propose a step of a group, as an ordered number if all values are numbers."""
    values = [[*step.values()] for step in steps]
    numbers = all(
        isinstance(one, int | float) and not isinstance(one, bool) for row in values for one in row
    )
    if numbers and values == sorted(values):
        return lambda trial: trial.suggest_int(str(group), 0, len(steps) - 1)
    return lambda trial: trial.suggest_categorical(str(group), range(len(steps)))


def _first(plan: Plan) -> int:
    """Return the population of a generation; small for a small space, to leave room for others."""
    return min(_POPULATION, max(4, isqrt(len(plan.space)) // 2))


def _drop_partial_line(journal: Path) -> None:
    """Remove the end of a journal behind its last complete line, as a full disk leaves it."""
    written = journal.read_bytes() if journal.exists() else b""
    if not written.endswith(b"\n"):
        with journal.open("ab") as file:
            file.truncate(written.rfind(b"\n") + 1)


def _optuna_study(plan: Plan, journal: Path) -> Any:
    """Return Optuna's study, with the trials of earlier runs with the same inputs and model."""
    optuna: Any = import_module("optuna")
    journals: Any = import_module("optuna.storages.journal")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    _drop_partial_line(journal)
    try:
        storage = optuna.storages.JournalStorage(journals.JournalFileBackend(str(journal)))
        name = sha256(f"{plan.digest} {plan.kind.version()}".encode()).hexdigest()[:16]
        create = partial(
            optuna.create_study,
            storage=storage,
            study_name=name,
            directions=["minimize"] * len(plan.objectives),
            load_if_exists=True,
        )
        study = create()
    except (AttributeError, LookupError, TypeError, ValueError):
        message = "must be a journal of Optuna, not other text; remove it to search anew"
        raise InputError(str(journal), "", message) from None
    if not _is_current(plan, study):
        optuna.delete_study(study_name=name, storage=storage)
        study = create()
    seed = (plan.seed + len(study.get_trials(deepcopy=False))) % 2**32
    if len(plan.objectives) == 1:
        study.sampler = optuna.samplers.TPESampler(seed=seed)
    else:
        study.sampler = optuna.samplers.NSGAIISampler(seed=seed, population_size=_first(plan))
    return study


def _is_current(plan: Plan, study: Any) -> bool:
    """Return whether all trials have the keys of their points, whose inputs may have changed."""
    trials = [one for one in study.get_trials(deepcopy=False) if one.state.name == "COMPLETE"]
    numbers = np.array([_number(plan, one) for one in trials], np.int64)
    return [one.user_attrs.get(_KEY) for one in trials] == plan.keys(numbers)
