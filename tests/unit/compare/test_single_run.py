"""Everybody pays alike, sees only what was paid for, and is judged by true values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from flexibo import Design, Objective, Space
from flexibo.compare import contestants
from flexibo.compare.metered_problem import MeteredProblem
from flexibo.compare.problems.base import Problem, nadir_reference, true_front
from flexibo.compare.rivals.base import RivalEntry, Setting, Suggestion
from flexibo.compare.runs import SHARES, Allowance
from flexibo.compare.single_run import run
from flexibo.errors import InvalidValueError
from flexibo.history.measurements import Measurement
from flexibo.pareto import hypervolume
from flexibo.space import Designs

SPACE = Space.from_designs([{"width": w, "cores": c} for w in range(1, 13) for c in range(1, 9) if (w + c) % 5])
OWN = ("flexibo", "flexibo-gp-log", "ehvi", "random", "random-coupled", "sobol")
THEIRS = ("fake-coupled", "fake-decoupled")


class Spy:
    """A problem's values and costs, and a clock that tells when a contestant is thinking."""

    def __init__(self) -> None:
        self.thinking = False
        self.ticks = 0.0

    def values(self, designs: Designs) -> np.ndarray:
        assert not self.thinking, "a contestant looked at values that it did not buy"
        width, cores = designs.codes[:, 0], designs.codes[:, 1]
        return np.stack([100.0 / (width + 2.0) + 0.1 * cores, (width + 1.0) * (1.0 + 0.3 * (cores - 3.0) ** 2)], axis=1)

    def costs(self, designs: Designs) -> np.ndarray:
        return np.stack([10.0 + 5.0 * designs.codes[:, 0], np.ones(len(designs))], axis=1)

    def clock(self) -> float:
        self.thinking = not self.thinking
        self.ticks += 1.0
        return self.ticks


class Recorder(MeteredProblem):
    """A metered problem that keeps every purchase."""

    def __init__(self, problem: Problem, seed: int) -> None:
        super().__init__(problem, seed=seed)
        self.bought: list[tuple[Design, str, Measurement]] = []

    def measure(self, design: Design, objective: str) -> Measurement:
        measurement = super().measure(design, objective)
        self.bought.append((design, objective, measurement))
        return measurement


class FakeRival:
    """Suggests random designs, legal or not, and remembers what it is told."""

    def __init__(self, setting: Setting, *, decoupled: bool) -> None:
        self.rng = np.random.default_rng(setting.seed)
        self.setting = setting
        self.decoupled = decoupled
        self.told: list[tuple[Design, Mapping[str, float]]] = []

    def tell(self, design: Design, losses: Mapping[str, float]) -> None:
        self.told.append((design, losses))

    def ask(self) -> Suggestion:
        wanted = {"width": int(self.rng.integers(1, 13)), "cores": int(self.rng.integers(1, 9))}
        objectives = (self.setting.leads[int(self.rng.integers(2))],) if self.decoupled else ()
        return Suggestion(wanted, objectives)

    def front(self) -> Sequence[Design] | None:
        return None


@pytest.fixture
def spy() -> Spy:
    return Spy()


@pytest.fixture
def problem(spy: Spy) -> Problem:
    objectives = (Objective("error"), Objective("joules"))
    front = true_front(spy.values(SPACE.enumerate()))
    reference = nadir_reference(front)
    return Problem(
        "spied", "", SPACE, objectives, spy.values, spy.costs, reference, front, hypervolume(front, reference)
    )


@pytest.fixture(autouse=True)
def fakes(monkeypatch: pytest.MonkeyPatch) -> list[FakeRival]:
    made: list[FakeRival] = []

    def entry(name: str, decoupled: bool) -> RivalEntry:
        def make(setting: Setting) -> FakeRival:
            made.append(FakeRival(setting, decoupled=decoupled))
            return made[-1]

        return RivalEntry(name, "", (), (), make, "", decoupled)

    known = {name: entry(name, name == "fake-decoupled") for name in THEIRS}
    monkeypatch.setattr(contestants, "RIVALS", known)
    return made


@pytest.mark.parametrize("method", [*OWN, *THEIRS])
def test_what_is_counted_is_what_was_bought_and_nobody_buys_twice(problem: Problem, spy: Spy, method: str) -> None:
    metered, allowance = Recorder(problem, seed=2), Allowance(n_initial=4, budget=1.0)
    made = run(problem, method, 2, allowance, clock=spy.clock, metered=metered)
    initial, later = metered.bought[:8], metered.bought[8:]
    assert {(design, objective) for design, objective, _ in initial} == {
        (design, name) for design in problem.initial_designs(4, 2) for name in problem.names
    }
    amount = allowance.amount(problem)
    spent = 0.0
    counted = 0
    for design, objective, measurement in later:
        price = float(spy_costs(problem, design)[problem.names.index(objective)])
        assert measurement.cost == price
        if spent + price > amount * (1 + 1e-9):
            break
        spent, counted = spent + price, counted + 1
    last = made.moments[-1]
    assert sum(last.evaluations) in (counted, counted - 1)  # one design of a coupled rival may end beyond the budget
    assert last.spent <= amount * (1 + 1e-9)
    paid = [measurement.cost or 0.0 for _, _, measurement in later[: sum(last.evaluations)]]
    assert last.spent == pytest.approx(sum(paid))
    bought = [(design, objective) for design, objective, _ in metered.bought]
    assert len(bought) > 8
    if method != "fake-decoupled":
        assert len(set(bought)) == len(bought)
        assert all(measurement.cost for _, _, measurement in metered.bought)
    assert all(design in SPACE for design, _ in bought)


def spy_costs(problem: Problem, design: Design) -> np.ndarray:
    return np.asarray(problem.costs(problem.space.designs([design]))[0])


def test_a_contestant_that_peeks_is_caught(problem: Problem, spy: Spy, fakes: list[FakeRival]) -> None:
    class Cheat(FakeRival):
        def ask(self) -> Suggestion:
            problem.values(SPACE.enumerate())
            return super().ask()

    entry = RivalEntry("fake-coupled", "", (), (), lambda setting: Cheat(setting, decoupled=False), "")
    contestants.RIVALS["fake-coupled"] = entry
    with pytest.raises(AssertionError, match="did not buy"):
        run(problem, "fake-coupled", 0, Allowance(n_initial=3, budget=2.0), clock=spy.clock)


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


def test_the_same_seed_gives_everybody_the_same_initial_designs_and_the_same_first_error(
    problem: Problem, spy: Spy
) -> None:
    errors = {
        run(problem, method, 7, Allowance(n_initial=6, budget=1.0), clock=spy.clock).moments[0].error
        for method in ("ehvi", "random-coupled", "fake-coupled", "fake-decoupled")
    }
    assert len(errors) == 1
    assert problem.initial_designs(6, 7).keys().tolist() != problem.initial_designs(6, 8).keys().tolist()


def test_a_run_has_a_moment_for_each_share_and_never_spends_more_than_it(problem: Problem, spy: Spy) -> None:
    allowance = Allowance(n_initial=4, budget=1.0)
    made = run(problem, "flexibo", 0, allowance, clock=spy.clock)
    assert tuple(moment.share for moment in made.moments) == SHARES
    amount = allowance.amount(problem)
    assert all(moment.spent <= moment.share * amount * (1 + 1e-9) for moment in made.moments)
    assert all(0.0 <= moment.error <= 1.0 for moment in made.moments)
    thinking = [moment.overhead_s for moment in made.moments]
    assert thinking == sorted(thinking)


def test_the_front_is_judged_by_true_values_of_the_designs_it_names(problem: Problem, spy: Spy) -> None:
    made = run(problem, "ehvi", 0, Allowance(n_initial=4, budget=2.0), clock=spy.clock)
    losses = np.array(made.front)
    assert made.moments[-1].error == pytest.approx(1.0 - hypervolume(losses, problem.reference) / problem.best)


def test_the_error_of_the_true_front_is_zero_and_no_front_has_less(problem: Problem) -> None:
    designs = SPACE.enumerate()
    losses = problem.losses(designs)
    on_front = [design for design, row in zip(designs, losses, strict=True) if (row == problem.front).all(axis=1).any()]
    assert problem.error(on_front) == pytest.approx(0.0, abs=1e-12)
    assert problem.error(list(designs)) == pytest.approx(0.0, abs=1e-12)
    assert problem.error(on_front[1:]) > 1e-6
    assert problem.error([]) == 1.0


def test_a_contestant_with_nothing_more_to_ask_keeps_its_last_moment(problem: Problem, spy: Spy) -> None:
    made = run(problem, "random-coupled", 0, Allowance(n_initial=72, budget=1000.0), clock=spy.clock)
    assert made.moments[-1].error == pytest.approx(0.0, abs=1e-12)
    assert made.moments[-1].evaluations == (len(SPACE.enumerate()) - 72,) * 2


def test_all_that_a_contestant_does_is_timed(problem: Problem, spy: Spy) -> None:
    seen: list[str] = []

    class Watched(FakeRival):
        def tell(self, design: Design, losses: Mapping[str, float]) -> None:
            assert spy.thinking
            seen.append("tell")
            super().tell(design, losses)

        def ask(self) -> Suggestion:
            assert spy.thinking
            seen.append("ask")
            return super().ask()

        def front(self) -> Sequence[Design] | None:
            assert spy.thinking
            seen.append("front")
            return None

    entry = RivalEntry("fake-coupled", "", (), (), lambda setting: Watched(setting, decoupled=False), "")
    contestants.RIVALS["fake-coupled"] = entry
    made = run(problem, "fake-coupled", 0, Allowance(n_initial=3, budget=2.0), clock=spy.clock)
    assert {"tell", "ask", "front"} <= set(seen)
    told, asked, fronts = (seen.count(what) for what in ("tell", "ask", "front"))
    assert made.moments[-1].overhead_s == 1 + (told - 3) + asked + fronts  # the initial designs are one step


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


def test_terms_without_a_budget_are_refused() -> None:
    with pytest.raises(InvalidValueError, match="budget is 0"):
        Allowance(budget=0)
    with pytest.raises(InvalidValueError, match="initial designs is 1"):
        Allowance(n_initial=1)
