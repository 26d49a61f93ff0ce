"""Contestants on problems with steps or proxies: rivals that stop early, and methods of flexibo with steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from flexibo._internal.arrays import FloatArray
from flexibo.compare.contestants import (
    STEPS_SUFFIX,
    Contestant,
    OwnContestant,
    counted,
    method_and_surrogate,
    study_of,
)
from flexibo.compare.metered_problem import SteppedMeasurement
from flexibo.compare.problems.base import Problem
from flexibo.compare.rivals import STEP_RIVALS
from flexibo.compare.rivals.base import Suggestion
from flexibo.compare.rivals.nearest_design import nearest_new
from flexibo.compare.rivals.step_rival import Rung, StepRivalEntry, StepSetting
from flexibo.compare.runs import Suggestions
from flexibo.errors import InvalidValueError
from flexibo.history.measurements import Measurement
from flexibo.objectives import Objective, purchases
from flexibo.pareto import non_dominated
from flexibo.space import Design, Designs


def has_steps(name: str) -> bool:
    """Whether a contestant decides how far measurements go."""
    return name in STEP_RIVALS or name.endswith(STEPS_SUFFIX)


def enter_with_steps(problem: Problem, name: str, *, seed: int, budget: float) -> Contestant:
    """A contestant with steps that has not learnt anything yet, and pays for its start."""
    if not problem.curves and not problem.proxies:
        raise InvalidValueError(f"{name} needs a problem with steps or proxies; {problem.name} has none.")
    if name not in STEP_RIVALS:
        method, surrogate = method_and_surrogate(name.removesuffix(STEPS_SUFFIX))
        objectives = described_with_steps(problem)
        study = study_of(problem, method, None, seed=seed, budget=budget, surrogate=surrogate, objectives=objectives)
        return StudyWithSteps(study)
    STEP_RIVALS[name].check()
    if len(problem.curves) + len(problem.proxies) != 1:
        raise InvalidValueError(f"{name} can follow one curve or one proxy; {problem.name} has more.")
    return StepRivalContestant(problem, STEP_RIVALS[name], seed)


def described_with_steps(problem: Problem) -> tuple[Objective, ...]:
    """The objectives as a user describes them who knows of their steps."""
    told = []
    for objective in problem.objectives:
        curve = problem.curves.get(objective.name)
        proxies = tuple(proxy.name for proxy in problem.proxies if proxy.of == objective.name)
        told.append(replace(objective, steps=None if curve is None else curve.steps, proxies=proxies))
    directions = {objective.name: objective.direction for objective in problem.objectives}
    return (*told, *(Objective(p.name, directions[p.of], optimise=False) for p in problem.proxies))


class StudyWithSteps(OwnContestant):
    """A method of flexibo that decides how far it goes."""

    def ask(self, left: float) -> Suggestion | None:
        """The next question of the study, with the step at which it stops."""
        suggestion = super().ask(left)
        return None if suggestion is None or self._asked is None else replace(suggestion, stop=self._asked.stop)

    def tell(self, measured: Sequence[Measurement]) -> None:
        """Answer the question, with the new values on the way."""
        assert self._asked is not None
        for one in measured:
            reports = _after(self._asked.start, one)
            self.study.tell(self._asked, one.values, cost=one.cost or 0.0, reports=reports)
        self._asked = None

    def predict(self, designs: Designs) -> FloatArray | None:
        """The means of the objectives that count."""
        means = super().predict(designs)
        return (
            None
            if means is None
            else means[:, [bool(objective.optimise) for objective in self.study.history.quantities]]
        )


class StepRivalContestant:
    """A rival with steps. It measures all objectives of a design, one of them up to the level that it chooses."""

    def __init__(self, problem: Problem, entry: StepRivalEntry, seed: int) -> None:
        self._problem = problem
        self._proxy = problem.proxies[0] if problem.proxies else None
        self._staged = self._proxy.of if self._proxy is not None else next(iter(problem.curves))
        self._last = 2 if self._proxy is not None else problem.curves[self._staged].steps
        self._rng = np.random.default_rng((seed, 13))
        self._designs: dict[str, Design] = {}
        self._losses: dict[Design, dict[str, float]] = {}
        self._complete: dict[Design, None] = {}
        self._levels: dict[str, int] = {}
        self._asked: Rung | None = None
        self._counts = Suggestions()
        self.rival = entry.make(StepSetting(problem.space, problem.names, problem.reference, self._last, seed))

    @property
    def suggestions(self) -> Suggestions:
        """What became of its designs so far; one that goes on counts once."""
        return replace(self._counts, failed=getattr(self.rival, "fallbacks", 0))

    def begin(self, initial: Sequence[Measurement]) -> None:
        """It starts on its own."""

    def ask(self, left: float) -> Suggestion | None:
        """What it wants to measure, moved to the nearest design that no other of its own has."""
        self._asked = self.rival.ask()
        if self._asked.token not in self._designs:
            taken = self._problem.space.designs(list(self._designs.values())).keys()
            design = nearest_new(self._problem.space, self._asked.design, taken, self._rng)
            if design is None:
                return None
            self._counts = counted(self._counts, self._asked.design, design)
            self._designs[self._asked.token] = design
        leads = [purchase.objective for purchase in purchases(self._problem.objectives)]
        if self._proxy is not None and self._asked.level < self._last:
            leads = [self._proxy.name if lead == self._staged else lead for lead in leads]
        stop = self._asked.level if self._proxy is None else None
        return Suggestion(self._designs[self._asked.token], tuple(leads), stop)

    def tell(self, measured: Sequence[Measurement]) -> None:
        """Tell it the losses after each new level."""
        assert self._asked is not None
        known = self._losses.setdefault(self._designs[self._asked.token], {})
        staged: dict[int, float] = {}
        for one in measured:
            before = self._levels.get(self._asked.token, 0)
            staged |= {step: self._loss(self._staged, value) for step, value in _after(before, one)}
            for name, value in one.values.items():
                objective = self._staged if self._proxy is not None and name == self._proxy.name else name
                known[objective] = self._loss(objective, value)
        staged[self._asked.level] = known[self._staged]
        self._levels[self._asked.token] = self._asked.level
        if self._asked.level == self._last:
            self._complete[self._designs[self._asked.token]] = None
        names = self._problem.names
        self.rival.tell(
            self._asked,
            {level: [own if name == self._staged else known[name] for name in names] for level, own in staged.items()},
        )

    def front(self) -> Sequence[Design]:
        """The best of the designs that reached the last level."""
        designs = list(self._complete)
        if not designs:
            return []
        losses = np.array([[self._losses[design][name] for name in self._problem.names] for design in designs])
        return [design for design, best in zip(designs, non_dominated(losses).tolist(), strict=True) if best]

    def predict(self, designs: Designs) -> FloatArray | None:
        """None: it has no model that it shows."""
        return None

    def _loss(self, objective: str, value: float) -> float:
        return self._problem.objectives[self._problem.names.index(objective)].loss(value)


def _after(step: int, measured: Measurement) -> tuple[tuple[int, float], ...]:
    """The values on the way after a step; none of an objective without steps."""
    reports = measured.reports if isinstance(measured, SteppedMeasurement) else ()
    return tuple(report for report in reports if report[0] > step)
