"""One method on one problem: the same budget and the same loop for every method, and the same initial designs.

From scratch, initial designs are paid from the budget, and a method may have a start of its own.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

import numpy as np

from flexibo.compare.candidates import common_candidates
from flexibo.compare.contestants import Contestant, RivalContestant, enter, enter_from_scratch, is_rival
from flexibo.compare.metered_problem import MeteredProblem
from flexibo.compare.problems.base import Problem
from flexibo.compare.runs import SHARES, Allowance, Measure, Moment, Run, Suggestions
from flexibo.compare.step_contestants import StepRivalContestant, enter_with_steps, has_steps
from flexibo.errors import InvalidValueError
from flexibo.history.measurements import Measurement
from flexibo.objectives import purchases
from flexibo.pareto import non_dominated
from flexibo.space import Design

logger = logging.getLogger(__name__)

MODEL_SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
"""The shares of the budget at which a contestant's model is asked for its front, which takes a while."""

MOST_KEPT = 100
"""Of larger fronts, this many designs are kept for pictures."""

MOST_FREE = 100
"""A method that asks for this many known values in a row has no more questions."""

RIVAL_CONTESTANTS = (RivalContestant, StepRivalContestant)

T = TypeVar("T")


def run(
    problem: Problem,
    method: str,
    seed: int,
    allowance: Allowance,
    *,
    clock: Callable[[], float] = time.process_time,
    metered: MeteredProblem | None = None,
) -> Run:
    """Let one method spend its budget; the seed decides the initial designs, the noise and every draw.

    An evaluation that would end beyond the budget does not count. The overhead of a method is the time, by the clock,
    that it takes between two measurements: to learn, to ask, and to compute its front.
    """
    metered = MeteredProblem(problem, seed=seed) if metered is None else metered
    budget = allowance.amount(problem)
    begin = _from_scratch if allowance.from_scratch else _after_free_designs
    progress, contestant = begin(metered, method, seed, allowance, clock)
    free = 0
    while contestant is not None and free < MOST_FREE:
        suggestion = progress.timed(partial(contestant.ask, budget - progress.spent()))
        if suggestion is None:
            break
        measured = progress.bought(problem.space.design(suggestion.design), suggestion.objectives, suggestion.stop)
        if len(measured) < len(suggestion.objectives):
            break
        free = 0 if any(measurement.cost for measurement in measured) else free + 1
        progress.timed(partial(contestant.tell, measured))
    moments = progress.finished()
    counts = progress.suggestions()
    if counts is not None and counts.failed:
        logger.warning(
            "%s failed %d times on %s, and asked for random designs instead.", method, counts.failed, problem.name
        )
    return Run(problem.name, method, seed, tuple(moments), progress.true_fronts())


def _after_free_designs(
    metered: MeteredProblem, method: str, seed: int, allowance: Allowance, clock: Callable[[], float]
) -> tuple[_RunProgress, Contestant]:
    """A run in which all methods have the same initial designs, which cost nothing."""
    problem, budget = metered.problem, allowance.amount(metered.problem)
    if has_steps(method):
        raise InvalidValueError(f"{method} has a start of its own, which is not free; compare it with --from-scratch.")
    designs = problem.initial_designs(allowance.n_initial, seed)
    initial = [metered.measure(design, lead) for design in designs for lead in _leads(problem)]
    contestant = enter(problem, method, initial, seed=seed, budget=budget)
    progress = _RunProgress(metered, budget, clock)
    progress.contestant = contestant
    progress.timed(partial(contestant.begin, initial))
    return progress, contestant


def _from_scratch(
    metered: MeteredProblem, method: str, seed: int, allowance: Allowance, clock: Callable[[], float]
) -> tuple[_RunProgress, Contestant | None]:
    """A run in which all is paid from the budget; no contestant if it does not pay the initial designs of a rival."""
    problem, budget = metered.problem, allowance.amount(metered.problem)
    designs = problem.initial_designs(allowance.paid_designs, seed)
    progress = _RunProgress(metered, budget, clock)
    if has_steps(method):
        progress.contestant = enter_with_steps(problem, method, seed=seed, budget=budget)
        return progress, progress.contestant
    if not is_rival(method):
        progress.contestant = enter_from_scratch(problem, method, designs, seed=seed, budget=budget)
        return progress, progress.contestant
    initial: list[Measurement] = []
    for design in designs:
        measured = progress.bought(design, _leads(problem))
        if len(measured) < len(_leads(problem)):
            return progress, None
        initial += measured
    progress.contestant = enter(problem, method, initial, seed=seed, budget=budget - progress.spent())
    progress.timed(partial(progress.contestant.begin, initial))
    return progress, progress.contestant


def _leads(problem: Problem) -> list[str]:
    return [purchase.objective for purchase in purchases(problem.objectives)]


class _RunProgress:
    """The moments of a run, the overhead of its method, and the designs that it is judged by.

    `contestant` is None while a rival's own initial designs are measured.
    """

    def __init__(self, metered: MeteredProblem, budget: float, clock: Callable[[], float]) -> None:
        self._problem = metered.problem
        self._metered = metered
        self.contestant: Contestant | None = None
        self._budget = budget
        self._clock = clock
        self._overhead = 0.0
        self._moments: list[Moment] = []
        self._front: Sequence[Design] | None = None
        self._initial_cost = metered.spent
        self._initial_counts = self._counts()

    def timed(self, work: Callable[[], T]) -> T:
        """The result of the method's work; its time is overhead, and the front may have changed."""
        begin = self._clock()
        result = work()
        self._overhead += self._clock() - begin
        self._front = None
        return result

    def suggestions(self) -> Suggestions | None:
        """What became of the suggestions of a third-party optimiser; None for others."""
        return self.contestant.suggestions if isinstance(self.contestant, RIVAL_CONTESTANTS) else None

    def spent(self) -> float:
        """The cost after free initial designs."""
        return self._metered.spent - self._initial_cost

    def bought(self, design: Design, objectives: Sequence[str], stop: int | None = None) -> list[Measurement]:
        """The measurements of a design, one purchase after the other, as far as the budget allows.

        Those with steps stop at `stop`.
        """
        measured: list[Measurement] = []
        for objective in objectives:
            own = stop if objective in self._problem.curves else None
            if not self._record(until=self.spent() + self._metered.price(design, objective, own)):
                break
            measured.append(self._metered.measure(design, objective, own))
        return measured

    def finished(self) -> list[Moment]:
        """All moments, when there is nothing more to ask."""
        if len(self._moments) < len(SHARES):
            self._record(until=float("inf"))
        if self._moments[-1].model is None:
            return self._moments
        # Before it had a model, it could name what it had measured.
        return [
            replace(moment, model=moment.confirmed) if moment.model is None and moment.share in MODEL_SHARES else moment
            for moment in self._moments
        ]

    def true_fronts(self) -> dict[Measure, tuple[tuple[float, ...], ...]]:
        """The true values of the designs that the method is judged by at the end, of each front at most `MOST_KEPT`."""
        fronts: dict[Measure, tuple[tuple[float, ...], ...]] = {}
        ends: tuple[tuple[Measure, Sequence[Design] | None], ...] = (
            ("confirmed", self._metered.confirmed()),
            ("model", self._named_by_model()),
            ("reported", self._reported()),
        )
        for measure, judged in ends:
            designs = judged or ()
            places = np.linspace(0, len(designs) - 1, min(MOST_KEPT, len(designs))).astype(int)
            if kept := [designs[i] for i in places.tolist()]:
                values = self._problem.values(self._problem.space.designs(kept))
                fronts[measure] = tuple(tuple(map(float, row)) for row in values)
        return fronts

    def _record(self, *, until: float) -> bool:
        """Record the moments at every share of the budget before `until` is spent; whether `until` is affordable."""
        until -= 1e-9 * self._budget  # sums of costs are rounded
        spent, evaluations = self.spent(), self._evaluations()
        while len(self._moments) < len(SHARES) and SHARES[len(self._moments)] * self._budget < until:
            share = SHARES[len(self._moments)]
            confirmed = self._problem.error(self._metered.confirmed())
            reported = self._problem.error(self._reported())
            named = self._named_by_model() if share in MODEL_SHARES else None
            model = None if named is None else self._problem.error(named)
            self._moments.append(
                Moment(share, spent, confirmed, self._overhead, evaluations, model, reported, self.suggestions())
            )
        return len(self._moments) < len(SHARES)

    def _named_by_model(self) -> Sequence[Design] | None:
        """The designs that no other candidate dominates by the means of the method's model; None without a model."""
        if self.contestant is None:
            return None
        designs = (common_candidates(self._problem) + self._problem.space.designs(self._metered.touched())).unique()
        means = self.contestant.predict(designs)
        if means is None:
            return None
        usable = np.flatnonzero(np.isfinite(means).all(axis=1))
        return list(designs[usable[non_dominated(means[usable])]])

    def _reported(self) -> Sequence[Design]:
        if self.contestant is None:
            return self._metered.confirmed()
        if self._front is None:
            front = self.timed(self.contestant.front)
            self._front = front
        return self._front

    def _evaluations(self) -> tuple[int, ...]:
        return tuple(now - then for now, then in zip(self._counts(), self._initial_counts, strict=True))

    def _counts(self) -> tuple[int, ...]:
        return tuple(self._metered.counts[name] for name in self._problem.names)
