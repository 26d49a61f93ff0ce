"""Everybody pays alike, sees only what was paid for, and is judged by true values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from tests.unit.compare.spied_problem import SPACE, THEIRS, FakeRival, Recorder, Spy

from flexibo import Design
from flexibo.compare import contestants
from flexibo.compare.problems.base import Problem
from flexibo.compare.rivals.base import RivalEntry, Suggestion
from flexibo.compare.runs import SHARES, Allowance
from flexibo.compare.single_run import MODEL_SHARES, run
from flexibo.pareto import hypervolume
from flexibo.space import Designs

pytestmark = pytest.mark.usefixtures("fakes")

OWN = ("flexibo", "flexibo-gp-log", "ehvi", "random", "random-coupled", "sobol")


@pytest.mark.parametrize("method", [*OWN, *THEIRS])
def test_what_is_counted_is_what_was_bought_and_nobody_buys_twice(problem: Problem, spy: Spy, method: str) -> None:
    metered, allowance = Recorder(problem, seed=2), Allowance(n_initial=4, budget=3.0)
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


def test_the_same_seed_gives_everybody_the_same_initial_designs_and_the_same_first_error(
    problem: Problem, spy: Spy
) -> None:
    errors = {
        run(problem, method, 7, Allowance(n_initial=6, budget=1.0), clock=spy.clock).moments[0].confirmed
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
    assert all(0.0 <= moment.confirmed <= 1.0 for moment in made.moments)
    thinking = [moment.overhead_s for moment in made.moments]
    assert thinking == sorted(thinking)


def test_the_front_is_judged_by_true_values_of_the_designs_it_names(problem: Problem, spy: Spy) -> None:
    made = run(problem, "ehvi", 0, Allowance(n_initial=4, budget=2.0), clock=spy.clock)
    for measure, front in made.fronts.items():
        error = 1.0 - hypervolume(np.array(front), problem.reference) / problem.best
        assert made.moments[-1].error(measure) == pytest.approx(error)
    assert set(made.fronts) == {"confirmed", "model", "reported"}


def test_a_contestant_with_nothing_more_to_ask_keeps_its_last_moment(problem: Problem, spy: Spy) -> None:
    made = run(problem, "random-coupled", 0, Allowance(n_initial=72, budget=1000.0), clock=spy.clock)
    assert made.moments[-1].confirmed == pytest.approx(0.0, abs=1e-12)
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


def test_the_model_is_asked_at_few_shares_about_all_candidates_alike(problem: Problem, spy: Spy) -> None:
    asked: list[set[int]] = []

    class Modelled(FakeRival):
        def predict(self, designs: Designs) -> np.ndarray:
            asked.append(set(designs.keys().tolist()))
            return problem.losses(designs)

    entry = RivalEntry("fake-coupled", "", (), (), lambda setting: Modelled(setting, decoupled=False), "")
    contestants.RIVALS["fake-coupled"] = entry
    made = run(problem, "fake-coupled", 0, Allowance(n_initial=3, budget=4.0), clock=spy.clock)
    judged = [moment.share for moment in made.moments if moment.model is not None]
    assert tuple(judged) == MODEL_SHARES
    assert all(moment.model == pytest.approx(0.0, abs=1e-12) for moment in made.moments if moment.model is not None)
    assert asked[0] == set(SPACE.enumerate().keys().tolist())
    assert made.moments[-1].confirmed > 0.0


def test_a_contestant_without_a_model_has_no_model_error(problem: Problem, spy: Spy) -> None:
    made = run(problem, "fake-coupled", 0, Allowance(n_initial=3, budget=4.0), clock=spy.clock)
    assert {moment.model for moment in made.moments} == {None}
    assert set(made.fronts) == {"confirmed", "reported"}


def test_what_a_decoupled_contestant_did_not_measure_whole_confirms_nothing(problem: Problem, spy: Spy) -> None:
    class Cheapskate(FakeRival):
        def ask(self) -> Suggestion:
            return Suggestion(super().ask().design, ("joules",))

        def front(self) -> Sequence[Design]:
            return list(SPACE.enumerate())

    entry = RivalEntry("fake-decoupled", "", (), (), lambda setting: Cheapskate(setting, decoupled=True), "", True)
    contestants.RIVALS["fake-decoupled"] = entry
    made = run(problem, "fake-decoupled", 0, Allowance(n_initial=3, budget=2.0), clock=spy.clock)
    assert made.moments[-1].evaluations[1] > 5
    assert made.moments[-1].confirmed == made.moments[0].confirmed > 0.0
    assert made.moments[-1].reported == pytest.approx(0.0, abs=1e-12)


class TestFromScratch:
    """Everything is paid from the budget, initial designs included."""

    @pytest.mark.parametrize("method", ["flexibo", "ehvi", "ehvi/cost", "random", "pal", *THEIRS])
    def test_nobody_gets_anything_for_nothing(self, problem: Problem, spy: Spy, method: str) -> None:
        metered, allowance = Recorder(problem, seed=2), Allowance(n_initial=4, budget=8.0, from_scratch=True)
        made = run(problem, method, 2, allowance, clock=spy.clock, metered=metered)
        first, last = made.moments[0], made.moments[-1]
        assert (first.spent, first.confirmed, sum(first.evaluations)) == (0.0, 1.0, 0)
        assert last.spent <= allowance.amount(problem) * (1 + 1e-9)
        paid = [measurement.cost or 0.0 for _, _, measurement in metered.bought[: sum(last.evaluations)]]
        assert last.spent == pytest.approx(sum(paid))
        assert last.confirmed < 1.0

    @pytest.mark.parametrize("method", ["ehvi", "fake-coupled"])
    def test_who_does_not_know_the_budget_begins_with_the_same_designs(
        self, problem: Problem, spy: Spy, method: str
    ) -> None:
        metered = Recorder(problem, seed=2)
        run(problem, method, 2, Allowance(budget=20.0, from_scratch=True), clock=spy.clock, metered=metered)
        begun = {design for design, _, _ in metered.bought[:10]}  # a quarter of 20 evaluations, two objectives
        assert begun == set(problem.initial_designs(5, 2))

    def test_who_knows_it_has_a_start_of_its_own(self, problem: Problem, spy: Spy) -> None:
        metered = Recorder(problem, seed=2)
        run(problem, "flexibo", 2, Allowance(budget=20.0, from_scratch=True), clock=spy.clock, metered=metered)
        first = [objective for _, objective, _ in metered.bought[:14]]
        assert first.count(problem.names[1]) > 2 * first.count(problem.names[0])

    def test_before_a_model_exists_its_error_is_that_of_what_was_measured(self, problem: Problem, spy: Spy) -> None:
        class Modelled(FakeRival):
            def predict(self, designs: Designs) -> np.ndarray:
                return problem.losses(designs)

        contestants.RIVALS["fake-coupled"] = RivalEntry(
            "fake-coupled", "", (), (), lambda setting: Modelled(setting, decoupled=False), ""
        )
        allowance = Allowance(n_initial=3, budget=8.0, from_scratch=True)
        made = run(problem, "fake-coupled", 0, allowance, clock=spy.clock)
        assert [moment.share for moment in made.moments if moment.model is not None] == [*MODEL_SHARES]
        assert made.moments[0].model == made.moments[0].confirmed == 1.0
        assert made.moments[-1].model == pytest.approx(0.0, abs=1e-12)

    def test_a_budget_that_ends_in_the_initial_designs_of_a_rival_ends_the_run(
        self, problem: Problem, spy: Spy
    ) -> None:
        allowance = Allowance(n_initial=3, budget=1.5, from_scratch=True)
        made = run(problem, "fake-coupled", 0, allowance, clock=spy.clock)
        assert len(made.moments) == len(SHARES)
        assert made.moments[-1].model is None
        assert made.moments[-1].spent <= allowance.amount(problem)
