"""One interface for methods of flexibo and third-party optimisers, so that one loop runs both."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from flexibo._internal.arrays import FloatArray
from flexibo._internal.threads import single_thread
from flexibo.belief.belief import predictions
from flexibo.compare.candidates import common_candidates
from flexibo.compare.problems.base import Problem
from flexibo.compare.rivals import RIVALS, STEP_RIVALS
from flexibo.compare.rivals.base import RivalEntry, Setting, Suggestion
from flexibo.compare.rivals.nearest_design import Taken, key_filter, nearest_new
from flexibo.compare.runs import Suggestions
from flexibo.errors import InvalidValueError, unknown_name
from flexibo.history.events import Evaluation
from flexibo.history.measurements import Measurement
from flexibo.methods.base import Candidates, Method, ScoringMethod
from flexibo.methods.pal import PARETO, PalMemory
from flexibo.methods.table import COST_SUFFIX, METHODS, find_method
from flexibo.objectives import Objective, purchases
from flexibo.pareto import non_dominated
from flexibo.results.confidence import reported_designs
from flexibo.space import Design, Designs, Real, Space
from flexibo.space.options import Option
from flexibo.study import Study
from flexibo.surrogates.table import find_surrogate

ROUNDING = 1e-9
"""Numbers that differ by at most this, relatively or absolutely, are the same value of an option."""
SURROGATE_MARK = "+"
"""Separates the name of a method from that of a surrogate that replaces its own."""
STEPS_SUFFIX = "/steps"
"""Ends the name of a method of flexibo that is told of the steps and proxies of a problem."""


class Contestant(Protocol):
    """Asks, learns, and reports a front."""

    def begin(self, initial: Sequence[Measurement]) -> None:
        """Learn the initial designs."""

    def ask(self, left: float) -> Suggestion | None:
        """A design and the objectives to measure of it, not all known, given the budget that is left; or None."""

    def tell(self, measured: Sequence[Measurement]) -> None:
        """Learn what was measured."""

    def front(self) -> Sequence[Design]:
        """The reported designs."""

    def predict(self, designs: Designs) -> FloatArray | None:
        """The losses (m, n) that its model expects of any designs; None without a model."""


def check_contestant(name: str) -> None:
    """Raise an error for a name that is neither a method of flexibo nor an installed rival."""
    if is_rival(name):
        rival_entry(name).check()
    else:
        checked_method(name)


def checked_method(name: str) -> str:
    """The name, if it is a method of flexibo, possibly with another surrogate or with steps."""
    if is_rival(name):
        raise InvalidValueError(f"{name!r} is a third-party optimiser; name it with --rivals.")
    if name.endswith(STEPS_SUFFIX):
        return checked_method(name.removesuffix(STEPS_SUFFIX)) + STEPS_SUFFIX
    method, surrogate = method_and_surrogate(name)
    if method.split("/")[0] not in METHODS:
        raise unknown_name("method", method, METHODS)
    if surrogate is not None:
        find_surrogate(surrogate)
    return find_method(method).name + ("" if surrogate is None else f"{SURROGATE_MARK}{surrogate}")


def method_and_surrogate(name: str) -> tuple[str, str | None]:
    """The method that a contestant's name starts with, and the surrogate that replaces its own.

    >>> method_and_surrogate("ehvi/cost+gp"), method_and_surrogate("ehvi")
    (('ehvi/cost', 'gp'), ('ehvi', None))
    """
    method, mark, surrogate = name.partition(SURROGATE_MARK)
    return method, surrogate if mark else None


def is_default(name: str) -> bool:
    """Whether a contestant is the default method, with its own settings or with others.

    >>> is_default("flexibo/cost+gp-plain"), is_default("flexibo-gp-log")
    (True, False)
    """
    return method_and_surrogate(name.removesuffix(STEPS_SUFFIX))[0].removesuffix(COST_SUFFIX) == next(iter(METHODS))


def is_rival(name: str) -> bool:
    """Whether a contestant is a third-party optimiser, or a plain method that is only there to compare with."""
    return name in RIVALS or name in STEP_RIVALS


def rival_entry(name: str) -> RivalEntry:
    """The row of a rival, with or without steps."""
    return STEP_RIVALS[name] if name in STEP_RIVALS else RIVALS[name]


def checked_rival(name: str) -> str:
    """The name, if it is a rival."""
    if not is_rival(name):
        raise unknown_name("rival", name, {**RIVALS, **STEP_RIVALS})
    return name


def enter(problem: Problem, name: str, initial: Sequence[Measurement], *, seed: int, budget: float) -> Contestant:
    """A contestant that has not learnt anything yet; `initial` are the measurements for its `begin`, which are free."""
    if name in RIVALS:
        RIVALS[name].check()
        return RivalContestant(problem.objectives, RIVALS[name], _setting(problem, initial, seed))
    opening = sum(measurement.cost or 0.0 for measurement in initial)
    designs = list(dict.fromkeys(measurement.design for measurement in initial))
    chosen, surrogate = method_and_surrogate(name)
    method = find_method(chosen)
    # A method that ignores costs does not get the budget: it would measure cheap leftovers that a rival cannot ask for.
    total = opening + budget if method.cost_aware else None
    pool = _fixed_pool(problem, method, problem.space.designs(designs))
    return OwnContestant(study_of(problem, chosen, designs, seed=seed, budget=total, surrogate=surrogate, pool=pool))


def enter_from_scratch(problem: Problem, name: str, designs: Designs, *, seed: int, budget: float) -> OwnContestant:
    """A method of flexibo that pays for its start: its own if it knows the budget, or else these designs."""
    chosen, surrogate = method_and_surrogate(name)
    method = find_method(chosen)
    if method.cost_aware:
        return OwnContestant(study_of(problem, chosen, None, seed=seed, budget=budget, surrogate=surrogate))
    return OwnContestant(
        study_of(problem, chosen, designs, seed=seed, surrogate=surrogate, pool=_fixed_pool(problem, method, designs))
    )


def _fixed_pool(problem: Problem, method: Method, initial: Designs) -> Designs | None:
    """The only designs of a method whose candidates are drawn once; None for the others."""
    if isinstance(method, ScoringMethod) and method.candidates is Candidates.FIXED:
        return (initial + common_candidates(problem)).unique()
    return None


def study_of(
    problem: Problem,
    method: str,
    initial: Sequence[Design] | Designs | None,
    *,
    seed: int,
    budget: float | None = None,
    surrogate: str | None = None,
    pool: Designs | None = None,
    objectives: Sequence[Objective] | None = None,
) -> Study:
    """A study of a problem by a method of flexibo, as a user would run it; a pool limits it to some designs.

    Without initial designs it has the start of its own. The objectives may be described in another way than the problem
    does, as those with steps.
    """
    space = _as_written(problem.space)
    pairs = zip(problem.objectives, problem.reference, strict=True)
    return Study(
        space if pool is None else space.limited_to(pool),
        problem.objectives if objectives is None else objectives,
        method=method,
        surrogate=surrogate,
        candidates=None if pool is None else len(pool),
        initial_designs=initial,
        n_initial=None if initial is None else len(initial),
        seed=seed,
        budget=budget,
        reference={objective.name: objective.value(float(loss)) for objective, loss in pairs},
    )


def _as_written(space: Space) -> Space:
    """The space as a user writes it: ranges alone, unless they are logarithmic.

    That a problem draws an option evenly defines what is compared; how to search it is up to each contestant.
    """
    written = {name: _range(option) for name, option in space.options.items()}
    if written == space.options:
        return space
    return Space(written, valid=space.valid, conditions=space.conditions)


def _range(option: Option) -> Option:
    return Real(option.low, option.high) if isinstance(option, Real) and not option.log else option


class OwnContestant:
    """A method of flexibo."""

    def __init__(self, study: Study) -> None:
        self.study = study
        self._asked: Evaluation | None = None

    def begin(self, initial: Sequence[Measurement]) -> None:
        """Answer the initial questions of the study."""
        known = {(m.design, name): m for m in initial for name in m.values}
        self._asked = self.study.ask()
        while self._asked is not None and self._asked.initial:
            measurement = known[self._asked.design, self._asked.objective]
            self.study.tell(self._asked, measurement.values, cost=measurement.cost or 0.0)
            self._asked = self.study.ask()

    def ask(self, left: float) -> Suggestion | None:
        """The next question of the study; a cost-aware method knows its budget."""
        self._asked = self._asked or self.study.ask()
        return None if self._asked is None else Suggestion(self._asked.design, (self._asked.objective,))

    def tell(self, measured: Sequence[Measurement]) -> None:
        """Answer the question."""
        assert self._asked is not None
        for measurement in measured:
            self.study.tell(self._asked, measurement.values, cost=measurement.cost or 0.0)
        self._asked = None

    def front(self) -> Sequence[Design]:
        """The designs that a method classifies as best, if it classifies; else those that the study reports."""
        predictor, history = self.study.predictor, self.study.history
        if not self._has_models():
            return []
        if isinstance(self.study.method, ScoringMethod) and self.study.method.step is not None:
            belief = predictor.belief(history, predictor.generator(history, 0))
            if isinstance(belief.memory, PalMemory) and (best := belief.memory.status == PARETO).any():
                return list(belief.designs[best])
        return list(reported_designs(predictor, history))

    def predict(self, designs: Designs) -> FloatArray | None:
        """The means of the study's models; what was measured exactly has its value."""
        if not self._has_models():
            return None
        models = self.study.predictor.models(self.study.history)
        own = self.study.space.from_codes(designs.codes)
        with single_thread():
            return predictions(self.study.history, own, models, pin_pending=False).mu

    def _has_models(self) -> bool:
        """Whether every objective has a value, which is not so at the beginning of a start that is paid."""
        return all(self.study.history.count(j) for j in range(len(self.study.objectives)))


class RivalContestant:
    """A third-party optimiser. It learns the losses of the designs that were really measured."""

    def __init__(self, objectives: Sequence[Objective], entry: RivalEntry, setting: Setting) -> None:
        self.rival = entry.make(setting)
        self._objectives = {objective.name: objective for objective in objectives}
        self._setting = setting
        self._rng = np.random.default_rng((setting.seed, 13))
        self._taken: dict[str, set[int]] = {lead: set() for lead in setting.leads}
        self._shared: dict[str, set[int]] = {lead: set() for lead in setting.leads}
        # An exact value is known for all designs that share it; a noisy one may be read again for each of them.
        self._decisive = {
            bought.objective: None if any(objectives[j].noisy for j in bought.members) else bought.options
            for bought in purchases(objectives)
        }
        self._known: dict[Design, dict[str, float]] = {}
        self._counts = Suggestions()

    @property
    def suggestions(self) -> Suggestions:
        """What became of its suggestions so far."""
        return replace(self._counts, failed=getattr(self.rival, "fallbacks", 0))

    def begin(self, initial: Sequence[Measurement]) -> None:
        """Tell it the initial designs, each with all losses."""
        losses: dict[Design, dict[str, float]] = {}
        for measurement in initial:
            losses.setdefault(measurement.design, {}).update(self._losses(measurement.values))
        for design, own in losses.items():
            self._learn(design, own)

    def ask(self, left: float) -> Suggestion | None:
        """Its suggestion, moved to the nearest design that is not completely known.

        A single objective that is not affordable, or known for every design, is replaced by the most expensive one that
        can be measured.
        """
        suggestion = self.rival.ask()
        choices = [suggestion.objectives or self._setting.leads]
        prices = dict(zip(self._setting.names, self._setting.costs, strict=True))
        if suggestion.objectives:
            others = [(lead,) for lead in self._setting.leads if (lead,) != suggestion.objectives]
            choices += sorted(others, key=lambda leads: -prices[leads[0]])
            choices = [leads for leads in choices if sum(prices[lead] for lead in leads) <= left]
        for leads in choices:
            design = nearest_new(self._setting.space, suggestion.design, self._known_in(leads), self._rng)
            if design is not None:
                self._counts = counted(self._counts, suggestion.design, design)
                return Suggestion(design, leads)
        return None

    def tell(self, measured: Sequence[Measurement]) -> None:
        """Tell it what was measured."""
        losses = self._losses({name: value for one in measured for name, value in one.values.items()})
        self._learn(measured[0].design, losses)

    def front(self) -> Sequence[Design]:
        """The designs it recommends, or the best of those measured in every objective."""
        recommended = self.rival.front()
        if recommended is not None:
            return recommended
        complete = {d: own for d, own in self._known.items() if len(own) == len(self._setting.names)}
        losses: FloatArray = np.array([[own[name] for name in self._setting.names] for own in complete.values()])
        if not len(losses):
            return []
        return [design for design, best in zip(complete, non_dominated(losses).tolist(), strict=True) if best]

    def predict(self, designs: Designs) -> FloatArray | None:
        """What its own model expects."""
        return self.rival.predict(designs)

    def _known_in(self, leads: Sequence[str]) -> Taken:
        """Which designs need not be asked for: known in this objective, or told in all of several.

        A design whose losses are all shared with others may be asked for: it is free, and told like any other.
        """
        if len(leads) == 1:
            return key_filter(self._shared[leads[0]], self._decisive[leads[0]])
        return key_filter(set.intersection(*(self._taken[lead] for lead in leads)))

    def _learn(self, design: Design, losses: Mapping[str, float]) -> None:
        row = self._setting.space.designs([design])
        for lead in self._setting.leads:
            if lead in losses:
                self._taken[lead].update(row.keys().tolist())
                self._shared[lead].update(row.keys(self._decisive[lead]).tolist())
        self._known.setdefault(design, {}).update(losses)
        self.rival.tell(design, losses)

    def _losses(self, values: Mapping[str, float]) -> dict[str, float]:
        return {name: self._objectives[name].loss(value) for name, value in values.items()}


def counted(counts: Suggestions, wanted: Mapping[str, object], design: Design) -> Suggestions:
    """One more suggestion, and in how many options another design replaces it."""
    changed = sum(not _is_same(wanted.get(name), value) for name, value in design.items())
    return Suggestions(counts.suggested + 1, counts.replaced + (changed > 0), counts.changed_options + changed)


def _is_same(wanted: object, value: object) -> bool:
    """Whether a value is the wanted one; numbers may differ by rounding."""
    if isinstance(wanted, (int, float)) and isinstance(value, (int, float)):
        return math.isclose(wanted, value, rel_tol=ROUNDING, abs_tol=ROUNDING)
    return wanted == value


def _setting(problem: Problem, initial: Sequence[Measurement], seed: int) -> Setting:
    """What a rival knows before it sees a value."""
    bought = purchases(problem.objectives)
    costs = np.zeros(len(problem.names))
    for purchase in bought:
        paid = [m.cost for m in initial if purchase.objective in m.values and m.cost]
        costs[purchase.members[0]] = float(np.mean(paid)) if paid else 0.0
    return Setting(
        space=problem.space,
        names=problem.names,
        reference=problem.reference,
        costs=costs,
        leads=tuple(purchase.objective for purchase in bought),
        noisy=any(objective.noisy for objective in problem.objectives),
        n_initial=len({measurement.design for measurement in initial}),
        seed=seed,
        options={o.name: o.depends_on for o in problem.objectives if o.depends_on is not None},
    )
