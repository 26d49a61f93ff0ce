from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from flexibo.compare import single_run
from flexibo.compare.contestants import checked_method, checked_rival, is_default, is_rival
from flexibo.compare.metered_problem import MeteredProblem
from flexibo.compare.problems.table import find_problem
from flexibo.compare.rivals.step_rival import Rung, StepRivalEntry, StepSetting
from flexibo.compare.runs import Allowance
from flexibo.compare.single_run import run
from flexibo.compare.step_contestants import (
    StepRivalContestant,
    StudyWithSteps,
    described_with_steps,
    enter_with_steps,
)
from flexibo.errors import InvalidValueError

PAID = Allowance(budget=3.0, from_scratch=True)


class Scripted:
    """A rival that brings two designs to their rungs, and remembers what it was told."""

    def __init__(self, setting: StepSetting) -> None:
        self.setting = setting
        self.told: list[tuple[Rung, dict[int, list[float]]]] = []
        self.script = [("a", 1), ("b", 1), ("a", setting.levels)]
        first, second = setting.space.sample(2, np.random.default_rng(0))
        self.designs = {"a": first, "b": second}

    def ask(self) -> Rung:
        token, level = self.script.pop(0)
        return Rung(token, self.designs[token], level)

    def tell(self, rung: Rung, losses: Mapping[int, Sequence[float]]) -> None:
        self.told.append((rung, {level: list(own) for level, own in losses.items()}))


ENTRY = StepRivalEntry(
    name="s", summary="", packages=("flexibo",), modules=("flexibo",), make=Scripted, documentation=""
)


def paid(contestant: StepRivalContestant, metered: MeteredProblem) -> float:
    """What the next question of a contestant costs; it gets the answer."""
    suggestion = contestant.ask(1e9)
    assert suggestion is not None
    before = metered.spent
    design = metered.problem.space.design(suggestion.design)
    staged = metered.problem.curves
    contestant.tell(
        [metered.measure(design, name, suggestion.stop if name in staged else None) for name in suggestion.objectives]
    )
    return metered.spent - before


def test_a_rival_with_steps_pays_for_new_steps_and_learns_every_one_of_them() -> None:
    problem = find_problem("clear-curves")
    contestant, metered = StepRivalContestant(problem, ENTRY, 0), MeteredProblem(problem, seed=0)
    costs = [paid(contestant, metered) for _ in range(3)]
    assert costs == pytest.approx([1 + 10 / 27, 1 + 10 / 27, 10 * 26 / 27])
    rival = contestant.rival
    assert isinstance(rival, Scripted)
    assert [sorted(losses) for _, losses in rival.told] == [[1], [1], list(range(2, 28))]
    row = problem.space.designs([rival.designs["a"]])
    assert rival.told[-1][1][27] == problem.losses(row)[0].tolist()
    assert contestant.front() == metered.confirmed() == [rival.designs["a"]]


def test_a_rival_learns_every_step_of_a_design_whose_network_was_trained_for_another() -> None:
    problem = find_problem("resnet-h200-curves")
    contestant, metered = StepRivalContestant(problem, ENTRY, 0), MeteredProblem(problem, seed=0)
    rival, pool = contestant.rival, problem.space.enumerate()
    assert isinstance(rival, Scripted)
    networks = pool.keys(problem.objectives[0].depends_on)
    one, other = (pool[int(i)] for i in np.flatnonzero(networks == networks[0])[:2])
    rival.designs, rival.script = {"a": one, "b": other}, [("a", 5), ("b", 3), ("b", 7)]
    costs = [paid(contestant, metered) for _ in range(3)]
    rows = problem.space.designs([one, other])
    seconds, readings = problem.curves["error_percent"].costs(rows)[0], problem.costs(rows)[:, 1]
    assert costs == pytest.approx([seconds[4] + readings[0], readings[1], seconds[6] - seconds[4]])
    assert [sorted(losses) for _, losses in rival.told] == [[1, 2, 3, 4, 5], [1, 2, 3], [4, 5, 6, 7]]


def test_a_proxy_is_the_first_of_two_levels() -> None:
    problem = find_problem("noise-proxy")
    contestant, metered = StepRivalContestant(problem, ENTRY, 0), MeteredProblem(problem, seed=0)
    costs = [paid(contestant, metered) for _ in range(3)]
    assert costs == pytest.approx([1 + 10 / 6, 1 + 10 / 6, 10.0])
    rival = contestant.rival
    assert isinstance(rival, Scripted)
    assert rival.setting.levels == 2
    row = problem.space.designs([rival.designs["a"]])
    assert rival.told[0][1][1][1] == problem.proxies[0].values(row)[0, 0]
    assert rival.told[2][1][2] == problem.losses(row)[0].tolist()


def test_two_designs_of_a_rival_are_never_the_same_one() -> None:
    problem = find_problem("clear-curves")
    contestant, metered = StepRivalContestant(problem, ENTRY, 0), MeteredProblem(problem, seed=0)
    assert isinstance(contestant.rival, Scripted)
    contestant.rival.designs["b"] = contestant.rival.designs["a"]
    for _ in range(2):
        paid(contestant, metered)
    assert len(metered.touched()) == 2
    assert contestant.suggestions.replaced == 1


def test_successive_halving_makes_a_run_from_scratch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(single_run, "MODEL_SHARES", ())
    made = run(find_problem("clear-curves"), "successive-halving", 0, Allowance(budget=12.0, from_scratch=True))
    assert made.moments[0].confirmed == 1.0
    assert made.moments[-1].confirmed < 1.0
    assert made.moments[-1].evaluations[0] > made.moments[-1].evaluations[1] > 0
    assert made.moments[-1].spent <= 12.0 * 11.0


def test_who_starts_on_its_own_has_no_free_designs() -> None:
    with pytest.raises(InvalidValueError, match="with --from-scratch"):
        run(find_problem("clear-curves"), "successive-halving", 0, Allowance(budget=1.0))


def test_a_problem_without_steps_is_refused() -> None:
    with pytest.raises(InvalidValueError, match="branin-currin has none"):
        enter_with_steps(find_problem("branin-currin"), "flexibo/steps", seed=0, budget=1.0)


def test_a_method_with_steps_describes_the_objective_with_its_steps() -> None:
    described = described_with_steps(find_problem("clear-curves"))
    assert [objective.stops for objective in described] == [(), (1, 3, 9, 27)]


def test_a_study_with_steps_learns_the_values_on_the_way() -> None:
    problem = find_problem("clear-curves")
    contestant, metered = enter_with_steps(problem, "random/steps", seed=0, budget=1e3), MeteredProblem(problem, seed=0)
    assert isinstance(contestant, StudyWithSteps)
    far = []
    for _ in range(12):
        suggestion = contestant.ask(1e3)
        assert suggestion is not None
        (objective,), design = suggestion.objectives, problem.space.design(suggestion.design)
        assert (suggestion.stop is not None) == (objective == "f2")
        contestant.tell([metered.measure(design, objective, suggestion.stop)])
        far += [(design, suggestion.stop)] if suggestion.stop else []
    assert far
    for design, stop in far:
        curve = problem.curves["f2"].values(problem.space.designs([design]))[0]
        known = contestant.study.curve(design, "f2")
        assert len(known) >= (stop or 0) > 0
        assert all(value == pytest.approx(curve[step - 1]) for step, value in known)
    assert contestant.study.history.spent == pytest.approx(metered.spent)


def test_names_with_steps_are_methods_and_rivals_with_steps_are_rivals() -> None:
    assert checked_method("flexibo/steps") == "flexibo/steps"
    assert is_default("flexibo/steps")
    assert checked_rival("neps-primo") == "neps-primo"
    assert is_rival("successive-halving")
    with pytest.raises(InvalidValueError, match="with --rivals"):
        checked_method("syne-tune-moasha")
