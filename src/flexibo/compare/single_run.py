"""One contestant on one problem: the same initial designs, the same money and the same loop for everybody."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from flexibo.compare.contestants import Contestant, enter
from flexibo.compare.metered_problem import MeteredProblem
from flexibo.compare.problems.base import Problem
from flexibo.compare.runs import SHARES, Allowance, Moment, Run
from flexibo.history.entries import Measurement
from flexibo.objectives import purchases
from flexibo.space import Design

logger = logging.getLogger(__name__)

MOST_FREE = 100
"""A contestant that asks for so many things in a row that are known already has no more questions."""

Answer = TypeVar("Answer")


def run(
    problem: Problem,
    method: str,
    seed: int,
    allowance: Allowance,
    *,
    clock: Callable[[], float] = time.process_time,
    metered: MeteredProblem | None = None,
) -> Run:
    """Let one contestant spend its budget.

    An evaluation that would end beyond the budget does not count. OverheadPrices is what the contestant does between two
    measurements: learn, ask, and work out its front.

    Args:
        problem: What to optimise.
        method: The contestant.
        seed: Decides the initial designs, the noise and every draw.
        allowance: What everybody gets.
        clock: Seconds, for the thinking time.
        metered: Where to buy; a new one by default.
    """
    metered = MeteredProblem(problem, seed=seed) if metered is None else metered
    leads = [purchase.objective for purchase in purchases(problem.objectives)]
    designs = problem.initial_designs(allowance.n_initial, seed)
    initial = [metered.measure(design, lead) for design in designs for lead in leads]
    money = allowance.amount(problem)
    course = _RunProgress(problem, metered, enter(problem, method, initial, seed=seed, budget=money), money, clock)
    course.timed(partial(course.contestant.begin, initial))
    free = 0
    while free < MOST_FREE:
        suggestion = course.timed(partial(course.contestant.ask, money - course.account().spent))
        if suggestion is None:
            break
        measured = course.bought(problem.space.design(suggestion.design), suggestion.objectives)
        if len(measured) < len(suggestion.objectives):
            break
        free = 0 if any(measurement.cost for measurement in measured) else free + 1
        course.timed(partial(course.contestant.tell, measured))
    moments = tuple(course.finished())
    if lost := getattr(getattr(course.contestant, "rival", None), "fallbacks", 0):
        logger.warning("%s failed %d times on %s, and asked for random designs instead.", method, lost, problem.name)
    return Run(problem.name, method, seed, moments, course.true_front())


@dataclass(frozen=True, slots=True)
class _Account:
    """What was spent after the initial designs, and for how many evaluations of each objective."""

    spent: float
    evaluations: tuple[int, ...]


class _RunProgress:
    """The progress of a run: its moments so far, its clock, its front."""

    def __init__(
        self,
        problem: Problem,
        metered: MeteredProblem,
        contestant: Contestant,
        money: float,
        clock: Callable[[], float],
    ) -> None:
        self.contestant = contestant
        self._problem = problem
        self._metered = metered
        self._money = money
        self._clock = clock
        self._thinking = 0.0
        self._moments: list[Moment] = []
        self._front: Sequence[Design] | None = None
        self._opening = _Account(metered.spent, self._counts())

    def timed(self, work: Callable[[], Answer]) -> Answer:
        """What the contestant answers; the time it took is counted, and its front may have changed."""
        begin = self._clock()
        answer = work()
        self._thinking += self._clock() - begin
        self._front = None
        return answer

    def account(self) -> _Account:
        """Where the money stands."""
        earlier = self._opening.evaluations
        counts = tuple(now - then for now, then in zip(self._counts(), earlier, strict=True))
        return _Account(self._metered.spent - self._opening.spent, counts)

    def bought(self, design: Design, objectives: Sequence[str]) -> list[Measurement]:
        """What was measured of a design, one purchase after the other, as far as the budget goes."""
        measured: list[Measurement] = []
        for objective in objectives:
            before = self.account()
            measurement = self._metered.measure(design, objective)
            if not self.judge(before, until=before.spent + (measurement.cost or 0.0)):
                break
            measured.append(measurement)
        return measured

    def judge(self, account: _Account, until: float) -> bool:
        """Judge the front at every share that is used up before `until` is spent; whether that is within the budget."""
        until -= 1e-9 * self._money  # sums of costs are rounded
        while len(self._moments) < len(SHARES) and SHARES[len(self._moments)] * self._money < until:
            share = SHARES[len(self._moments)]
            error = self._problem.error(self._reported())
            self._moments.append(Moment(share, account.spent, error, self._thinking, account.evaluations))
        return len(self._moments) < len(SHARES)

    def finished(self) -> list[Moment]:
        """All moments, when there is nothing more to ask."""
        if len(self._moments) < len(SHARES):
            self.judge(self.account(), until=float("inf"))
        return self._moments

    def true_front(self) -> tuple[tuple[float, ...], ...]:
        """The true values of the designs reported at the end."""
        designs = self._reported()
        values = self._problem.values(self._problem.space.designs(designs)) if len(designs) else ()
        return tuple(tuple(float(value) for value in row) for row in values)

    def _reported(self) -> Sequence[Design]:
        if self._front is None:
            front = self.timed(self.contestant.front)
            self._front = front
        return self._front

    def _counts(self) -> tuple[int, ...]:
        return tuple(self._metered.counts[name] for name in self._problem.names)
