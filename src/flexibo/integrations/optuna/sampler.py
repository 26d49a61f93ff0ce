"""FlexiBOSampler: Optuna's studies searched by the methods of flexibo."""

from __future__ import annotations

import secrets
import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, RandomSampler
from optuna.study import Study as OptunaStudy
from optuna.trial import FrozenTrial, TrialState

from flexibo import Design, list_methods
from flexibo._internal.checks import checked_flag, whole_number
from flexibo.errors import InvalidTypeError, InvalidValueError, unknown_name
from flexibo.integrations.optuna._informed_study import Choices, designs_of, informed_study, seed_of
from flexibo.integrations.optuna._search_space import SearchSpace, searched
from flexibo.integrations.optuna._trials import CONSTRAINTS, is_ahead, remember_proposal

STARTUP_TRIALS = 10
MOST_AHEAD = 8
"""Other jobs may be about to get a proposal: as many designs are left to trials that began before, but not more."""
MOST_ROUNDS = 5
"""How often parameters are proposed for a trial if another job gets the same at the same moment."""


class FlexiBOSampler(BaseSampler):  # type: ignore[misc]  # the types of Optuna are not followed
    """A sampler for Optuna that proposes parameters with the models and methods of flexibo.

    It works for one or several objectives, in both directions, with constraints, conditional parameters, failed, pruned
    and running trials, several jobs and several processes. Parameters like those of failed trials are avoided. Trials
    measure all objectives at once; to choose objective by objective, continue the study with `from_optuna`.

    It keeps no state besides its arguments. What it proposes depends on its seed, the number of the trial and the
    trials that there are, so a study that was killed and continued is proposed what it would have been.

    Args:
        seed: Decides every draw; by default it is random.
        method: One of the names that `flexibo.list_methods()` lists. By default "flexibo", and "parego" for more than
            six objectives.
        n_startup_trials: How many trials are spread over the space before a model chooses. The first is drawn at
            random: only when it ran are the parameters known.
        deterministic_objective: Whether two trials with the same parameters have the same values.
        constraints_func: A function of a finished trial that returns its constraints; above 0 they are violated.
            ``trial.set_constraint`` of Optuna 5 works without it.
        candidates: How many designs are compared for each trial; by default as many as a study of flexibo does.
        independent_sampler: Samples what is not proposed, such as the parameters of the first trial; by default they
            are drawn at random.

    >>> import optuna
    >>> optuna.logging.set_verbosity(optuna.logging.ERROR)
    >>> study = optuna.create_study(directions=["minimize", "maximize"], sampler=FlexiBOSampler(seed=0))
    >>> study.optimize(lambda trial: ((x := trial.suggest_float("x", 0, 1)) ** 2, x), n_trials=12)
    >>> len(study.best_trials)
    12
    """

    def __init__(
        self,
        *,
        seed: int | None = None,
        method: str | None = None,
        n_startup_trials: int = STARTUP_TRIALS,
        deterministic_objective: bool = False,
        constraints_func: Callable[[FrozenTrial], Sequence[float]] | None = None,
        candidates: int | None = None,
        independent_sampler: BaseSampler | None = None,
    ) -> None:
        if method is not None:
            _check_method(method)
        if constraints_func is not None and not callable(constraints_func):
            raise InvalidTypeError(f"constraints_func is {constraints_func!r}; it must be a function of a trial.")
        if independent_sampler is not None and not isinstance(independent_sampler, BaseSampler):
            raise InvalidTypeError(f"independent_sampler is {independent_sampler!r}; it must be a sampler of Optuna.")
        self._choices = Choices(
            seed=secrets.randbits(32) if seed is None else whole_number("seed", seed, least=0),
            method=method,
            n_startup_trials=whole_number("n_startup_trials", n_startup_trials, least=0),
            noisy=not checked_flag("deterministic_objective", deterministic_objective),
            candidates=None if candidates is None else whole_number("candidates", candidates, least=1),
        )
        self._constraints_func = constraints_func
        self._independent_sampler = independent_sampler

    def reseed_rng(self) -> None:
        """Reseed the independent sampler that was given; other draws differ from trial to trial anyway."""
        if self._independent_sampler is not None:
            self._independent_sampler.reseed_rng()

    def infer_relative_search_space(self, study: OptunaStudy, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """The parameters that are proposed together, conditional ones included."""
        return searched(study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,)))

    def sample_relative(
        self, study: OptunaStudy, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """The parameters to try next; empty for the first trial."""
        params: dict[str, Any] = {}
        for _ in range(MOST_ROUNDS):
            others = _others(study, trial)
            complete = [other for other in others if other.state == TrialState.COMPLETE]
            found = SearchSpace.of(search_space, complete) if search_space and complete else None
            if found is None or not found.parameters:
                return {}
            ended = {other.number for other in others if other.state.is_finished()}
            known = _designs_besides(ended, others, found)
            params = self._proposal(study, trial, others, found)
            remember_proposal(
                lambda key, value: study._storage.set_trial_system_attr(trial._trial_id, key, value),
                {name: search_space[name].to_internal_repr(value) for name, value in params.items()},
            )
            # Jobs that choose at the same moment do not see what the other gets. Each looks once its own is stored:
            # at least one of two that got the same sees it.
            if found.design(params) not in _designs_besides(ended, _others(study, trial), found) - known:
                break
        return params

    def sample_independent(
        self, study: OptunaStudy, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """A value of a parameter that was not proposed."""
        sampler = self._independent_sampler
        if sampler is None:
            sampler = RandomSampler(seed=seed_of(self._choices.seed, trial.number, zlib.crc32(param_name.encode())))
        return sampler.sample_independent(study, trial, param_name, param_distribution)

    def before_trial(self, study: OptunaStudy, trial: FrozenTrial) -> None:
        """Tell the independent sampler that a trial begins."""
        if self._independent_sampler is not None:
            self._independent_sampler.before_trial(study, trial)

    def after_trial(
        self, study: OptunaStudy, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None
    ) -> None:
        """Store the constraints of a trial."""
        if self._constraints_func is not None and state in (TrialState.COMPLETE, TrialState.PRUNED):
            constraints = _checked_constraints(self._constraints_func(trial))
            study._storage.set_trial_system_attr(trial._trial_id, CONSTRAINTS, constraints)
        if self._independent_sampler is not None:
            self._independent_sampler.after_trial(study, trial, state, values)

    def _proposal(
        self, study: OptunaStudy, trial: FrozenTrial, others: Sequence[FrozenTrial], found: SearchSpace
    ) -> dict[str, Any]:
        """What the method asks for, besides what is left to trials that are about to get a proposal."""
        ahead = sum(is_ahead(other, trial) for other in others)
        wanted = 1 + min(ahead, MOST_AHEAD)
        questions = informed_study(others, study.directions, found, self._choices, number=trial.number).ask(wanted)
        return found.params(questions[-1].design if len(questions) == wanted else self._drawn(found, trial.number))

    def _drawn(self, found: SearchSpace, number: int) -> Mapping[str, Any]:
        """A random design, where the method has nothing to ask."""
        return found.space.sample(1, np.random.default_rng((self._choices.seed, number)))[0]


def _others(study: OptunaStudy, trial: FrozenTrial) -> list[FrozenTrial]:
    return [other for other in study.get_trials(deepcopy=False) if other.number != trial.number]


def _designs_besides(ended: Collection[int], trials: Sequence[FrozenTrial], found: SearchSpace) -> set[Design]:
    """The designs of trials besides those with these numbers."""
    return set(designs_of([trial for trial in trials if trial.number not in ended], found))


def _check_method(method: object) -> None:
    names = [known.name for known in list_methods()]
    if not isinstance(method, str):
        raise InvalidTypeError(f"method is {method!r}; give one of the names that flexibo.list_methods() lists.")
    if method.removesuffix("/cost") not in names:
        raise unknown_name("method", method, names)


def _checked_constraints(given: object) -> tuple[float, ...]:
    """The constraints that a function returned; an error unless they are numbers."""
    try:
        constraints = tuple(float(value) for value in given)  # type: ignore[attr-defined]  # what is no list raises
    except (TypeError, ValueError):
        raise InvalidTypeError(
            f"constraints_func returned {given!r}; it must return a list of numbers, at most 0 where they are kept."
        ) from None
    if any(value != value for value in constraints):
        raise InvalidValueError(f"constraints_func returned {given!r}; a constraint must be a number, not NaN.")
    return constraints
