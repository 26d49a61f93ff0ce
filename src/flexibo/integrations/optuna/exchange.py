"""Results that move between Optuna and flexibo.

    known = from_optuna(optuna_study)
    study = Study(known.space, known.objectives, budget=3600)
    known.add_to(study)

A trial of Optuna's measures all objectives at once; the study of flexibo chooses objective by objective from then on.
Back, a trial is a design of which every objective was measured: Optuna has no trials with some of their values.
"""

from __future__ import annotations

import logging
import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import optuna
from optuna.distributions import check_distribution_compatibility
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState, create_trial

from flexibo import Design, Objective, Space, Study
from flexibo.errors import InvalidTypeError, InvalidValueError, unknown_name
from flexibo.history.events import Added
from flexibo.history.readings import readings
from flexibo.integrations.optuna._parameters import Parameter, distribution_of, widest
from flexibo.integrations.optuna._search_space import SearchSpace
from flexibo.integrations.optuna._trials import CONSTRAINTS, constraints_of, results

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class KnownResult:
    """A trial as a result: values and costs by objective, or the reason why there are none."""

    design: Design
    values: Mapping[str, float] = field(default_factory=dict)
    costs: Mapping[str, float] = field(default_factory=dict)
    failed: str = ""


@dataclass(frozen=True, slots=True)
class KnownResults:
    """What an Optuna study knows.

    Attributes:
        space: Its parameters as a space.
        objectives: Its objectives, then its constraints; each is measured on its own.
        results: Its complete and failed trials, in order.
        left_out: The numbers of finished trials that are not among them: they are outside of the space or were pruned.
    """

    space: Space
    objectives: tuple[Objective, ...]
    results: tuple[KnownResult, ...]
    left_out: tuple[int, ...] = ()

    def add_to(self, study: Study) -> int:
        """Add the results to a study, without those that it has already; returns how many were added.

        The objectives of the study may differ from `objectives` in anything but their names.
        """
        before = [event for event in study.events if isinstance(event, Added)]
        there = {(event.design, frozenset(event.values.items()), bool(event.failed)) for event in before}
        added = 0
        for result in self.results:
            if (result.design, frozenset(result.values.items()), bool(result.failed)) in there:
                continue
            failed = {objective.name: result.failed for objective in self.objectives} if result.failed else None
            study.add(result.design, result.values, cost=result.costs or None, failed=failed)
            added += 1
        return added


def from_optuna(
    study: optuna.Study,
    *,
    names: Sequence[str] | None = None,
    costs: Mapping[str, float | str] | None = None,
    space: Space | None = None,
    failures: bool = True,
) -> KnownResults:
    """The results of an Optuna study, with a space and objectives for a study of flexibo.

    Args:
        study: The study of Optuna's.
        names: The names of its objectives; by default those of `study.set_metric_names`, or "objective 0" and so on.
        costs: What an evaluation of each objective cost: a number, or the name of the user attribute that holds it.
        space: The space to use; by default that of the parameters, with the widest range that any trial had and with
            the conditions that explain which trials have which parameters.
        failures: Whether failed trials are results: designs that could not be measured.

    Raises:
        InvalidValueError: If there is no complete trial, or only some trials have a parameter and no other parameter
            explains which ones; give a space then.
    """
    if not isinstance(study, optuna.Study):
        raise InvalidTypeError(f"A {type(study).__name__} was given; it must be an optuna.Study.")
    trials = study.get_trials(deepcopy=False)
    complete = [trial for trial in trials if trial.state == TrialState.COMPLETE and trial.params]
    if not complete:
        raise InvalidValueError(
            f"The Optuna study {study.study_name!r} has no complete trial with parameters; optimise it first, or begin "
            "with a new Study."
        )
    called = _checked_names(names, study)
    found = SearchSpace.whole(complete) if space is None else SearchSpace.within(space, complete)
    told, left_out = [], []
    for trial, result in results(trials, study.directions, called):
        design = found.design(trial.params)
        if design is None or trial.state == TrialState.PRUNED:
            left_out.append(trial.number)
        elif result.values:
            told.append((trial, KnownResult(design, result.values, _costs(trial, called, costs or {}))))
        elif failures:
            told.append((trial, KnownResult(design, failed=result.failed)))
    known = {result.design for _, result in told if result.values}
    kept = [result for _, result in told if result.values or result.design not in known]
    if left_out:
        logger.warning("%d trials were pruned or are outside of the space, and are left out.", len(left_out))
    noisy = _noisy([result for result in kept if result.values])
    objectives = _objectives(called, study.directions, complete, noisy)
    return KnownResults(found.space, objectives, tuple(kept), tuple(left_out))


def to_optuna(study: Study, *, into: optuna.Study | None = None, failures: bool = True) -> optuna.Study:
    """An Optuna study with the confirmed designs of a study of flexibo as trials: those measured in every quantity.

    A quantity that was read several times has its mean. A limit becomes a constraint: above 0 it is violated. What is
    partly measured has no counterpart in Optuna and is left out.

    Args:
        study: The study of flexibo.
        into: The Optuna study to add them to, with its own distributions where it has the same parameters; trials that
            it has already are not added. By default a new one, in memory.
        failures: Whether designs of which something cannot be measured become failed trials.
    """
    if not isinstance(study, Study):
        raise InvalidTypeError(f"A {type(study).__name__} was given; it must be a flexibo.Study.")
    study.refresh()
    optimised = [objective for objective in study.objectives if objective.optimise]
    directions = ["maximize" if objective.direction == "max" else "minimize" for objective in optimised]
    if into is None:
        into = optuna.create_study(directions=directions, study_name=study.name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            into.set_metric_names([objective.name for objective in optimised])
    elif not isinstance(into, optuna.Study):
        raise InvalidTypeError(f"into is a {type(into).__name__}; it must be an optuna.Study.")
    elif (given := [direction.name.lower() for direction in into.directions]) != directions:
        raise InvalidValueError(
            f"The Optuna study {into.study_name!r} has the directions {', '.join(given)}; those of the study are "
            f"{', '.join(directions)}."
        )
    found = _parameters_for(study.space, into)
    there = {_identity(trial, found) for trial in into.get_trials(deepcopy=False)}
    made = [*_confirmed(study, found), *(_failed(study, found) if failures else ())]
    into.add_trials([trial for trial in made if _identity(trial, found) not in there])
    return into


def _checked_names(names: Sequence[str] | None, study: optuna.Study) -> list[str]:
    """The names of the objectives of an Optuna study."""
    k = len(study.directions)
    if names is None:
        return list(study.metric_names or [f"objective {place}" for place in range(k)])
    if isinstance(names, str) or len(names) != k:
        raise InvalidValueError(f"names is {names!r}; give one for each of the {k} objectives.", argument="names")
    return list(names)


def _costs(trial: FrozenTrial, names: Sequence[str], costs: Mapping[str, float | str]) -> dict[str, float]:
    """What the objectives of a trial cost, as far as it is known."""
    found = {}
    for name, given in costs.items():
        if name not in names:
            raise unknown_name("objective in costs:", name, names)
        cost = trial.user_attrs.get(given) if isinstance(given, str) else given
        if isinstance(cost, (int, float)) and not isinstance(cost, bool) and math.isfinite(cost) and cost >= 0:
            found[name] = float(cost)
        elif not isinstance(given, str):
            raise InvalidValueError(
                f"The cost of {name!r} is {given!r}; give a number of at least 0, or the name of a user attribute.",
                argument="costs",
            )
    return found


def _noisy(known: Iterable[KnownResult]) -> set[str]:
    """The objectives that have two values for one design."""
    seen: dict[tuple[Design, str], float] = {}
    items = [(result.design, name, value) for result in known for name, value in result.values.items()]
    return {name for design, name, value in items if seen.setdefault((design, name), value) != value}


def _objectives(
    names: Sequence[str], directions: Sequence[StudyDirection], trials: Iterable[FrozenTrial], noisy: set[str]
) -> tuple[Objective, ...]:
    """The objectives of an Optuna study, and its constraints."""
    found = [
        Objective(name, "max" if direction == StudyDirection.MAXIMIZE else "min", noisy=name in noisy)
        for name, direction in zip(names, directions, strict=True)
    ]
    limits = dict.fromkeys(name for trial in trials for name in constraints_of(trial))
    found += [Objective(name, at_most=0.0, lower=-math.inf, noisy=name in noisy) for name in limits]
    return tuple(found)


def _parameters_for(space: Space, into: optuna.Study) -> dict[str, Parameter]:
    """The options of a space as parameters, of the kinds that an Optuna study has for them."""
    theirs: dict[str, list[Any]] = {}
    for trial in into.get_trials(deepcopy=False):
        for name, distribution in trial.distributions.items():
            theirs.setdefault(name, []).append(distribution)
    found = {}
    for name, option in space.options.items():
        own = Parameter(distribution_of(option), option)
        if name in theirs:
            known = Parameter.of(name, widest(theirs[name]))
            if known.option == option:
                own = known
            _check_compatible(name, known.distribution, own.distribution)
        found[name] = own
    return found


def _check_compatible(name: str, theirs: Any, ours: Any) -> None:
    try:
        check_distribution_compatibility(theirs, ours)
    except ValueError:
        raise InvalidValueError(
            f"Parameter {name!r} has the distribution {theirs} in the Optuna study, which {ours} of the space does not "
            "fit; leave out into=..., or give a new Optuna study."
        ) from None


def _params(design: Design, found: Mapping[str, Parameter]) -> dict[str, dict[str, Any]]:
    """The parameters of a design and their distributions, as far as they are active."""
    active = {name: value for name, value in design.items() if value is not None}
    return {
        "params": {name: found[name].param(value) for name, value in active.items()},
        "distributions": {name: found[name].distribution for name in active},
    }


def _confirmed(study: Study, found: Mapping[str, Parameter]) -> list[FrozenTrial]:
    """A complete trial for each design that was measured in every quantity."""
    history = study.history
    read = readings(history)
    trials = []
    for design, means, is_complete in zip(history.designs, read.mean.tolist(), read.complete, strict=True):
        if not is_complete:
            continue
        losses = dict(zip(history.quantities, means, strict=True))
        violations = [loss - objective.limit for objective, loss in losses.items() if objective.is_constraint]
        trials.append(
            create_trial(
                **_params(design, found),
                values=[objective.value(loss) for objective, loss in losses.items() if objective.optimise],
                system_attrs={CONSTRAINTS: violations} if violations else None,
            )
        )
    return trials


def _failed(study: Study, found: Mapping[str, Parameter]) -> list[FrozenTrial]:
    """A failed trial for each design of which something cannot be measured."""
    history = study.history
    purchases = [p for p, _ in history.counting]
    designs = [design for design in history.designs if any(history.is_hopeless(p, design) for p in purchases)]
    return [create_trial(state=TrialState.FAIL, **_params(design, found)) for design in designs]


def _identity(trial: FrozenTrial, found: Mapping[str, Parameter]) -> tuple[object, ...]:
    """What makes two trials the same result; values of parameters may differ by a rounding error."""
    values = tuple(trial.values) if trial.state == TrialState.COMPLETE else None
    params = {name: found[name].value(param) if name in found else repr(param) for name, param in trial.params.items()}
    return frozenset((name, repr(value)) for name, value in params.items()), trial.state, values
