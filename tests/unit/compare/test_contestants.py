"""Every method and every rival is entered alike, and learns what was bought for it and nothing else."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests import comparisons
from tests.unit.compare.spied_problem import SPACE, THEIRS, FakeRival, Recorder, Spy

from flexibo import Objective
from flexibo._internal.arrays import FloatArray
from flexibo.compare import contestants
from flexibo.compare.metered_problem import MeteredProblem
from flexibo.compare.problems.base import Problem, constant_costs
from flexibo.compare.problems.table import find_problem
from flexibo.compare.rivals.base import RivalEntry, Suggestion
from flexibo.compare.runs import Allowance, Suggestions
from flexibo.compare.single_run import run
from flexibo.errors import InvalidValueError, MissingExtraError, UnknownNameError
from flexibo.history.measurements import Measurement
from flexibo.methods.pal import PARETO, PalMemory
from flexibo.space import Designs, Real, Space
from flexibo.surrogates.table import find_surrogate

pytestmark = pytest.mark.usefixtures("fakes")


@pytest.mark.parametrize("method", THEIRS)
def test_a_rival_is_told_exactly_what_was_bought(
    problem: Problem, spy: Spy, method: str, fakes: list[FakeRival]
) -> None:
    metered = Recorder(problem, seed=1)
    run(problem, method, 1, Allowance(n_initial=3, budget=4.0), clock=spy.clock, metered=metered)
    [rival] = fakes
    told = [(design, name, loss) for design, losses in rival.told for name, loss in losses.items()]
    bought = [(d, name, value) for d, _, m in metered.bought for name, value in m.values.items()]
    assert told == bought[: len(told)]
    assert len(bought) - len(told) <= 2  # what ends beyond the budget is not told
    assert all(set(losses) == set(problem.names) for _, losses in rival.told[:3])


def test_a_rival_sees_losses_of_what_is_maximised(problem: Problem, spy: Spy, fakes: list[FakeRival]) -> None:
    objectives = (Objective("error"), Objective("speed", "max"))
    front = np.array([[1.0, -1.0]])
    other = Problem("max", "", SPACE, objectives, spy.values, spy.costs, np.array([99.0, 99.0]), front, 1.0)
    run(other, "fake-coupled", 0, Allowance(n_initial=3, budget=1.0), clock=spy.clock)
    assert all(losses["speed"] < 0 < losses["error"] for _, losses in fakes[0].told)


def test_only_who_looks_at_costs_is_told_the_budget(problem: Problem) -> None:
    bought = [
        MeteredProblem(problem, seed=0).measure(d, name)
        for d in problem.initial_designs(3, 0)
        for name in problem.names
    ]
    opening = sum(measurement.cost or 0.0 for measurement in bought)
    budgets = {
        name: contestants.enter(problem, name, bought, seed=0, budget=50.0).study.budget  # type: ignore[attr-defined]
        for name in ("flexibo", "flexibo-gp-log", "ca-mobo", "ehvi/cost", "ehvi", "random-coupled", "pesmo-dec")
    }
    aware = ("flexibo", "flexibo-gp-log", "ca-mobo", "ehvi/cost")
    assert {name for name, budget in budgets.items() if budget is not None} == set(aware)
    assert budgets["flexibo"] == pytest.approx(opening + 50.0)


def test_a_rival_is_told_what_the_initial_designs_cost(problem: Problem, spy: Spy, fakes: list[FakeRival]) -> None:
    run(problem, "fake-coupled", 5, Allowance(n_initial=4, budget=1.0), clock=spy.clock)
    expected = spy.costs(problem.initial_designs(4, 5)).mean(axis=0)
    assert fakes[0].setting.costs.tolist() == pytest.approx(expected.tolist())
    assert fakes[0].setting.leads == problem.names


def test_a_decoupled_rival_that_cannot_pay_gets_what_it_can_pay(problem: Problem, spy: Spy) -> None:
    class Greedy(FakeRival):
        def ask(self) -> Suggestion:
            return Suggestion(super().ask().design, ("error",))

    entry = RivalEntry("fake-decoupled", "", (), (), lambda setting: Greedy(setting, decoupled=True), "", True)
    contestants.RIVALS["fake-decoupled"] = entry
    allowance = Allowance(n_initial=4, budget=2.0)
    made = run(problem, "fake-decoupled", 0, allowance, clock=spy.clock)
    errors, joules = made.moments[-1].evaluations
    assert errors >= 1
    assert joules >= 5
    assert made.moments[-1].spent == pytest.approx(allowance.amount(problem), abs=1.0)


def entered(problem: Problem, name: str, n: int = 3) -> contestants.RivalContestant:
    """A rival that has learnt n initial designs."""
    bought = [
        MeteredProblem(problem, seed=0).measure(design, objective)
        for design in problem.initial_designs(n, 0)
        for objective in problem.names
    ]
    made = contestants.enter(problem, name, bought, seed=0, budget=50.0)
    assert isinstance(made, contestants.RivalContestant)
    made.begin(bought)
    return made


def test_a_rival_never_gets_a_design_that_is_known_in_all_it_would_measure(
    problem: Problem, fakes: list[FakeRival]
) -> None:
    entrant = entered(problem, "fake-coupled")
    known = problem.initial_designs(3, 0)[0]
    fakes[0].ask = lambda: Suggestion(dict(known))  # type: ignore[method-assign]
    asked = entrant.ask(50.0)
    assert asked is not None
    assert asked.objectives == problem.names
    assert asked.design in SPACE
    assert asked.design not in list(problem.initial_designs(3, 0))


def test_what_becomes_of_suggestions_is_counted(problem: Problem, fakes: list[FakeRival]) -> None:
    entrant = entered(problem, "fake-coupled")
    fakes[0].fallbacks = 2  # type: ignore[attr-defined]
    free = next(design for design in SPACE.enumerate() if design not in list(problem.initial_designs(3, 0)))
    fakes[0].ask = lambda: Suggestion({name: value + 1e-12 for name, value in free.items()})  # type: ignore[method-assign]
    assert entrant.ask(50.0) is not None
    assert entrant.suggestions == Suggestions(1, 0, 0, 2)
    fakes[0].ask = lambda: Suggestion({"width": 1, "cores": 4})  # type: ignore[method-assign]  # not in the pool
    assert entrant.ask(50.0) is not None
    assert entrant.suggestions == Suggestions(2, 1, 1, 2)


def test_a_rival_has_nothing_to_ask_when_all_is_known_or_nothing_is_affordable(
    problem: Problem, fakes: list[FakeRival]
) -> None:
    assert entered(problem, "fake-coupled", SPACE.size).ask(50.0) is None
    assert entered(problem, "fake-decoupled").ask(0.5) is None


def test_the_front_of_a_rival_is_the_best_of_what_was_measured_in_every_objective(
    problem: Problem, fakes: list[FakeRival]
) -> None:
    entrant = entered(problem, "fake-decoupled", 4)
    initial = list(problem.initial_designs(4, 0))
    losses = problem.losses(SPACE.designs(initial))
    best = [design for design, row in zip(initial, losses, strict=True) if not (losses < row).all(axis=1).any()]
    assert entrant.front() == best
    other = next(design for design in SPACE.enumerate() if design not in initial)
    entrant.tell([Measurement(other, {"error": -9.0}, 1.0, None)])
    assert entrant.front() == best
    entrant.tell([Measurement(other, {"joules": -9.0}, 1.0, None)])
    assert entrant.front() == [other]
    fakes[0].front = lambda: initial[1:3]  # type: ignore[method-assign]
    assert entrant.front() == initial[1:3]


def test_a_rival_without_any_measurement_has_an_empty_front(problem: Problem) -> None:
    assert entered(problem, "fake-coupled", 0).front() == []


def test_names_are_those_of_methods_or_of_rivals() -> None:
    assert contestants.checked_method("ehvi/cost") == "ehvi/cost"
    assert contestants.checked_rival("fake-coupled") == "fake-coupled"
    for name in ("ehvi", "fake-coupled"):
        contestants.check_contestant(name)
    with pytest.raises(UnknownNameError, match=r"'ehvy'.*'ehvi'"):
        contestants.check_contestant("ehvy")
    with pytest.raises(UnknownNameError, match=r"'fake-couple'.*'fake-coupled'"):
        contestants.checked_rival("fake-couple")
    with pytest.raises(InvalidValueError, match=r"'fake-coupled'.*--rivals"):
        contestants.checked_method("fake-coupled")


def test_a_rival_that_is_not_installed_is_refused_with_the_extra(problem: Problem) -> None:
    entry = RivalEntry("gone", "", (), ("nosuchmodule",), lambda setting: FakeRival(setting, decoupled=False), "")
    contestants.RIVALS["gone"] = entry
    with pytest.raises(MissingExtraError, match=r"nosuchmodule.*bench"):
        contestants.check_contestant("gone")
    with pytest.raises(MissingExtraError, match=r"nosuchmodule.*bench"):
        contestants.enter(problem, "gone", [], seed=0, budget=1.0)


def test_a_coupled_rival_gets_a_design_that_is_known_in_one_objective_only(
    problem: Problem, fakes: list[FakeRival]
) -> None:
    entrant = entered(problem, "fake-coupled")
    half = next(design for design in SPACE.enumerate() if design not in list(problem.initial_designs(3, 0)))
    entrant.tell([Measurement(half, {"error": 1.0}, 1.0, None)])
    fakes[0].ask = lambda: Suggestion(dict(half))  # type: ignore[method-assign]
    assert entrant.ask(50.0) == Suggestion(half, problem.names)


@pytest.mark.parametrize(("left", "objective"), [(20.0, "error"), (9.0, "energy"), (2.0, "latency")])
def test_what_a_rival_cannot_pay_is_replaced_by_the_most_expensive_that_it_can(
    fakes: list[FakeRival], left: float, objective: str
) -> None:
    three = replace(comparisons.problem(n=3), costs=constant_costs([10.0, 5.0, 1.0]))
    entrant = entered(three, "fake-decoupled", 2)
    fakes[0].ask = lambda: Suggestion({"x": 0}, ("error",))  # type: ignore[method-assign]
    asked = entrant.ask(left)
    assert asked is not None
    assert asked.objectives == (objective,)


def opening(problem: Problem, n: int = 4) -> list[Measurement]:
    metered = MeteredProblem(problem, seed=0)
    return [metered.measure(design, name) for design in problem.initial_designs(n, 0) for name in problem.names]


def test_a_method_may_have_another_surrogate() -> None:
    names = ["ehvi/cost+gp", "ehvi+rf", "flexibo"]
    assert [contestants.checked_method(name) for name in names] == names
    with pytest.raises(UnknownNameError):
        contestants.checked_method("ehvi+gpp")
    with pytest.raises(UnknownNameError):
        contestants.checked_method("ehvy+gp")


def test_a_surrogate_in_the_name_replaces_the_methods_own(problem: Problem) -> None:
    plain, other = (
        contestants.enter(problem, name, opening(problem), seed=0, budget=9.0) for name in ("ehvi", "ehvi/cost+rf")
    )
    assert isinstance(other, contestants.OwnContestant)
    assert isinstance(plain, contestants.OwnContestant)
    assert other.study.method.name == "ehvi/cost"
    assert other.study.predictor.surrogate == find_surrogate("rf")
    assert plain.study.predictor.surrogate == find_surrogate("gp-plain")


def test_own_methods_predict_any_designs_and_know_what_was_measured(problem: Problem) -> None:
    bought = opening(problem, 8)
    one = contestants.enter(problem, "flexibo", bought, seed=0, budget=9.0)
    one.begin(bought)
    designs = SPACE.enumerate()
    means = one.predict(designs)
    assert means is not None
    assert means.shape == (len(designs), 2)
    measured = {m.design for m in bought}
    rows = [i for i, design in enumerate(designs) if design in measured]
    assert len(rows) == 8
    np.testing.assert_allclose(means[rows], problem.losses(designs[rows]))


def test_own_methods_choose_the_scale_of_ranges_that_a_problem_draws_evenly() -> None:
    space = Space({"rate": Real(1e-5, 0.1, log=False), "size": (1, 9), "depth": Real(1.0, 2.0, log=True)})
    problem = Problem(
        "even",
        "a weight decay that is drawn evenly",
        space,
        (Objective("f"), Objective("g")),
        lambda designs: np.column_stack([designs.codes[:, 0], designs.codes[:, 1] - np.log10(designs.codes[:, 0])]),
        constant_costs([1.0, 1.0]),
        reference=np.array([1.0, 20.0]),
        front=np.array([[1e-5, 6.0]]),
        best=14.0,
    )
    study = contestants.study_of(problem, "flexibo", None, seed=0, budget=10.0)
    scales = {name: option.log for name, option in study.space.options.items()}  # type: ignore[union-attr]
    assert scales == {"rate": True, "size": False, "depth": True}
    assert dict(problem.space.options)["rate"] == Real(1e-5, 0.1, log=False)

    initial = problem.initial_designs(4, 0)
    contestant = contestants.enter(problem, "flexibo", measured(problem, initial), seed=0, budget=10.0)
    contestant.begin(measured(problem, initial))
    means = contestant.predict(initial)
    assert means is not None
    np.testing.assert_allclose(means, problem.losses(initial))


def measured(problem: Problem, designs: Designs) -> list[Measurement]:
    metered = MeteredProblem(problem, seed=0)
    return [metered.measure(design, name) for design in designs for name in problem.names]


def test_a_method_with_a_fixed_pool_gets_the_candidates_of_the_judge() -> None:
    large = find_problem("branin-currin")
    one = contestants.enter(large, "pal", opening(large), seed=0, budget=9.0)
    assert isinstance(one, contestants.OwnContestant)
    pool = one.study.space.pool
    assert pool is not None
    assert large.error(pool) < 0.002


def test_a_method_that_classifies_reports_what_it_classified(problem: Problem) -> None:
    bought = opening(problem, 40)
    one = contestants.enter(problem, "pal", bought, seed=0, budget=1e9)
    one.begin(bought)
    metered = MeteredProblem(problem, seed=0)
    for _ in range(60):
        suggestion = one.ask(1e9)
        if suggestion is None:
            break
        one.tell([metered.measure(problem.space.design(suggestion.design), suggestion.objectives[0])])
    assert isinstance(one, contestants.OwnContestant)
    predictor, history = one.study.predictor, one.study.history
    belief = predictor.belief(history, predictor.generator(history, 0))
    assert isinstance(belief.memory, PalMemory)
    assert list(one.front()) == list(belief.designs[belief.memory.status == PARETO])
    assert len(one.front()) > 0


def shared(problem: Problem, *, noisy: bool = False) -> Problem:
    """The problem with an error that depends on the width alone."""

    def values(designs: Designs) -> FloatArray:
        return np.stack([designs.codes[:, 0], problem.values(designs)[:, 1]], axis=1)

    error = Objective("error", options=["width"], noisy=noisy)
    return replace(problem, objectives=(error, problem.objectives[1]), values=values)


def test_a_rival_is_told_which_options_an_objective_depends_on(problem: Problem, fakes: list[FakeRival]) -> None:
    entered(shared(problem), "fake-coupled")
    assert fakes[0].setting.options == {"error": ("width",), "joules": ("width", "cores")}


@pytest.mark.parametrize("noisy", [False, True])
def test_an_exact_loss_is_known_for_all_designs_that_share_it(
    problem: Problem, fakes: list[FakeRival], noisy: bool
) -> None:
    entrant = entered(shared(problem, noisy=noisy), "fake-decoupled")
    initial = list(problem.initial_designs(3, 0))
    known = {design["width"] for design in initial}
    same = next(d for d in SPACE.enumerate() if d["width"] in known and d not in initial)
    fakes[0].ask = lambda: Suggestion(dict(same), ("error",))  # type: ignore[method-assign]
    asked = entrant.ask(100.0)
    assert asked is not None
    assert asked.objectives == ("error",)
    assert (asked.design["width"] in known) == noisy


def test_a_design_whose_losses_are_all_shared_is_measured_for_nothing_and_told(
    problem: Problem, fakes: list[FakeRival]
) -> None:
    both = replace(shared(problem), objectives=(Objective("error", options=["width"]), Objective("joules", options=[])))
    entrant = entered(both, "fake-coupled")
    initial = list(problem.initial_designs(3, 0))
    same = next(d for d in SPACE.enumerate() if d["width"] == initial[0]["width"] and d not in initial)
    fakes[0].ask = lambda: Suggestion(dict(same))  # type: ignore[method-assign]
    asked = entrant.ask(100.0)
    assert asked is not None
    assert asked.design == same


def test_a_rival_whose_objective_is_known_for_every_design_measures_another(
    problem: Problem, fakes: list[FakeRival]
) -> None:
    entrant = entered(shared(problem), "fake-decoupled")
    every = {design["width"]: design for design in SPACE.enumerate()}
    for design in every.values():
        entrant.tell([Measurement(design, {"error": 1.0}, 1.0, None)])
    fakes[0].ask = lambda: Suggestion(dict(every[1]), ("error",))  # type: ignore[method-assign]
    asked = entrant.ask(100.0)
    assert asked is not None
    assert asked.objectives == ("joules",)
