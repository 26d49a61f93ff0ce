"""A study of flexibo, in memory, that knows what the trials of an Optuna study say."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState

from flexibo import Design, Evaluation, Objective, Space, Study, list_methods
from flexibo.belief.candidates import filling_designs
from flexibo.errors import InvalidValueError
from flexibo.integrations.optuna._search_space import SearchSpace
from flexibo.integrations.optuna._trials import constraints_of, proposed, results

DEFAULT_METHODS = ("flexibo", "parego")
"""The first of them that takes as many objectives as a study has is used."""
ALWAYS = "always"
"""A constraint that every design keeps: a study of flexibo needs a second objective or a constraint."""


@dataclass(frozen=True, slots=True)
class Choices:
    """What the user of a sampler chose."""

    seed: int
    method: str | None
    n_startup_trials: int
    noisy: bool
    candidates: int | None


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What trials say about designs of a search space."""

    known: Sequence[tuple[Design, Mapping[str, float]]]
    failed: Mapping[Design, str]
    pending: Sequence[Design]
    ignored: int  # how many finished trials had other parameters than those that were proposed

    @classmethod
    def of(
        cls,
        trials: Sequence[FrozenTrial],
        found: SearchSpace,
        directions: Sequence[StudyDirection],
        names: Sequence[str],
    ) -> Knowledge:
        """What these trials say; those outside of the search space say nothing."""
        distributions = {name: parameter.distribution for name, parameter in found.parameters.items()}
        known, failed, ignored = [], {}, 0
        for trial, result in results(trials, directions, names):
            proposal = proposed(trial, distributions)
            design = found.design(proposal | trial.params)
            ignored += bool(proposal) and design != found.design(proposal)
            if design is not None and result.values:
                known.append((design, result.values))
            elif design is not None:
                failed[design] = result.failed
        for design, _ in known:  # a trial that failed may have been repeated
            failed.pop(design, None)
        pending = designs_of([trial for trial in trials if trial.state == TrialState.RUNNING], found)
        return cls(known, failed, pending, ignored)


def designs_of(trials: Sequence[FrozenTrial], found: SearchSpace) -> list[Design]:
    """The designs of trials, by their parameters and what was proposed for the others; each once."""
    distributions = {name: parameter.distribution for name, parameter in found.parameters.items()}
    designs = [found.design(proposed(trial, distributions) | trial.params) for trial in trials]
    return list(dict.fromkeys(filter(None, designs)))


def informed_study(
    trials: Sequence[FrozenTrial],
    directions: Sequence[StudyDirection],
    found: SearchSpace,
    choices: Choices,
    *,
    number: int,
) -> Study:
    """A study that knows these trials, to be asked for the parameters of the trial with this number."""
    names = [f"objective {place}" for place in range(len(directions))]
    limits = list(dict.fromkeys(name for trial in trials for name in constraints_of(trial)))
    knowledge = Knowledge.of(trials, found, directions, names)
    alone = {ALWAYS: 0.0} if len(names) == 1 and not limits else {}
    objectives = _objectives(names, directions, [*limits, *alone], noisy=choices.noisy)
    complete = [design for design, values in knowledge.known if len(values) + len(alone) == len(objectives)]
    study = Study(
        found.space,
        objectives,
        method=choices.method or _default_method(len(names)),
        cost="constant",
        candidates=choices.candidates,
        **_start(found.space, list(dict.fromkeys(complete)), choices, number, knowledge.ignored),
    )
    told: set[Design] = set()
    for design, values in knowledge.known:
        if choices.noisy or design not in told:
            study.add(design, {**values, **alone})
        told.add(design)
    for design, reason in knowledge.failed.items():
        study.add(design, failed={names[0]: reason})
    _count_as_pending(study, knowledge.pending)
    return study


def seed_of(*numbers: int) -> int:
    """A seed that these numbers decide."""
    return int(np.random.SeedSequence(numbers).generate_state(1)[0])


def _objectives(
    names: Sequence[str], directions: Sequence[StudyDirection], limits: Sequence[str], *, noisy: bool
) -> list[Objective]:
    """The objectives and constraints of a study, all measured by one evaluation."""
    found = []
    for name, direction in zip(names, directions, strict=True):
        lead = None if name == names[0] else names[0]
        sense: Any = "max" if direction == StudyDirection.MAXIMIZE else "min"
        found.append(Objective(name, sense, noisy=noisy, measured_with=lead))
    for name in limits:
        exact = name == ALWAYS
        found.append(Objective(name, at_most=0.0, lower=-math.inf, noisy=noisy and not exact, measured_with=names[0]))
    return found


def _start(space: Space, complete: Sequence[Design], choices: Choices, number: int, ignored: int) -> dict[str, Any]:
    """The initial designs of a study, and its seed: the same for all trials of the start, and another for each after.

    The start fills the space; designs of other origin, such as the first, count as well. Once enough designs are known,
    these are the initial designs. Where scripts do not use what is proposed, the start is drawn anew, or the same
    design would be proposed for ever.
    """
    count = max(1, choices.n_startup_trials)
    if len(complete) >= count:
        return {"initial_designs": complete, "seed": seed_of(choices.seed, ignored, number)}
    seed = seed_of(choices.seed, ignored)
    filling = filling_designs(space, count, seed)
    others = sum(design not in filling for design in complete)
    return {"initial_designs": filling[: count - others], "seed": seed}


def _default_method(k: int) -> str:
    """The method for k objectives."""
    most = {method.name: method.most_objectives for method in list_methods()}
    return next((name for name in DEFAULT_METHODS if most[name] >= k), DEFAULT_METHODS[-1])


def _count_as_pending(study: Study, designs: Sequence[Design]) -> None:
    """Ask for designs that others measure now, so that they are pending."""
    for design in designs:
        try:
            study.enqueue(design)
        except InvalidValueError:  # it is known, or failed before
            continue
    while isinstance(study.ask_queued_or_stop(), Evaluation):
        pass
