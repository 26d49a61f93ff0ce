from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping

import numpy as np
import pytest

from flexibo import Evaluation, Objective, Space, Study
from flexibo.history import History
from flexibo.history.events import Added, Asked, Failed, FailureKind
from flexibo.optimizer import StopKind
from flexibo.optimizer.start import FEWEST, MOST, MOST_CHEAP, missing_initial, readings

SPACE = Space({"x": [0, 1, 2, 3]})
PLANE = Space({"x": (0.0, 1.0), "y": (0.0, 1.0), "net": list("abcdefgh")})
COSTS = {"joules": 1.0, "error": 10.0}


def asked(history: History, x: int, objective: str) -> int:
    number = len(history.asked)
    design = history.space.design({"x": x})
    history.append(Asked(Evaluation(design, objective, None, 0.0, "", number, (objective,), initial=True)))
    return number


@pytest.fixture
def history() -> History:
    return History(SPACE, [Objective("a"), Objective("b")])


class TestDesignsThatAreMeasuredCompletely:
    def test_they_are_asked_design_by_design(self, history: History) -> None:
        initial = [SPACE.design({"x": x}) for x in (2, 0)]
        assert missing_initial(history, initial, 0, coupled=False) == [
            (initial[0], [0]),
            (initial[0], [1]),
            (initial[1], [0]),
            (initial[1], [1]),
        ]
        assert missing_initial(history, initial, 0, coupled=True) == [(initial[0], [0, 1]), (initial[1], [0, 1])]

    @pytest.mark.parametrize(("retries", "is_retried"), [(None, False), (0, False), (1, True)])
    def test_after_an_error_they_come_again_only_if_the_user_says_so(
        self, retries: int | None, is_retried: bool
    ) -> None:
        history = History(SPACE, [Objective("a", retries=retries), Objective("b")])
        initial = [SPACE.design({"x": x}) for x in (2, 0)]
        history.append(Failed(asked(history, 2, "a"), "broken", 0.0))
        assert ((initial[0], [0]) in missing_initial(history, initial, 0, coupled=False)) == is_retried

    def test_one_that_would_fail_like_others_is_left_out(self, history: History) -> None:
        initial = [SPACE.design({"x": x}) for x in (2, 0)]
        history.append(Added(initial[1], {"b": 1.0}, {}))
        history.append(Added(initial[0], {}, {}, {"a": "too large"}))
        assert (initial[0], [1]) in missing_initial(history, initial, 0, coupled=False), "a was never measured"
        history.append(Added(SPACE.design({"x": 1}), {"a": 1.0}, {}))
        assert (initial[0], [1]) not in missing_initial(history, initial, 0, coupled=False)
        assert (initial[0], [1]) in missing_initial(history, initial, 1, coupled=False), "the user gave it"

    def test_that_of_a_lost_worker_is_retried_after_the_others_and_then_given_up(self, history: History) -> None:
        initial = [SPACE.design({"x": x}) for x in (2, 0)]
        for attempt in range(3):
            history.append(Failed(asked(history, 2, "a"), "killed", 0.0, kind=FailureKind.LOST))
            tasks = missing_initial(history, initial, 0, coupled=False)
            assert tasks[0] == (initial[0], [1])
            assert ((initial[0], [0]) in tasks) == (attempt < 2)

    def test_what_is_pending_is_not_asked_again(self, history: History) -> None:
        initial = [SPACE.design({"x": 2})]
        asked(history, 2, "a")
        assert missing_initial(history, initial, 0, coupled=False) == [(initial[0], [1])]

    def test_an_imported_result_replaces_an_initial_design(self, history: History) -> None:
        initial = [SPACE.design({"x": x}) for x in (2, 0)]
        history.append(Added(SPACE.design({"x": 3}), {"a": 1.0}, {}))
        assert missing_initial(history, initial, 0, coupled=False) == [
            (initial[0], [0]),
            (initial[0], [1]),
            (initial[1], [1]),
        ]


class TestReadings:
    def test_a_cheap_purchase_leaves_the_rest_of_its_share_to_the_expensive_one(self) -> None:
        # Half of 60 pays 30 cheap ones, of which 20 are made; the 40 that are left pay 4 of the others.
        assert readings(np.array([10.0, 1.0]), 60.0) == [4, 20]

    def test_equal_prices_give_equal_numbers_and_at_most_ten(self) -> None:
        assert readings(np.array([5.0, 5.0]), 60.0) == [6, 6]
        assert readings(np.array([5.0, 5.0]), 1e6) == [MOST, MOST]
        assert readings(np.zeros(3), 60.0) == [MOST] * 3

    def test_a_few_are_measured_whatever_they_cost(self) -> None:
        assert readings(np.array([1.0, 100.0]), 30.0) == [FEWEST, FEWEST]

    def test_cheap_ones_leave_enough_for_a_few_expensive_ones(self) -> None:
        # 2 * 20 of 50 are reserved: 10 are left for what costs 1.
        assert readings(np.array([1.0, 20.0]), 50.0) == [10, 2]

    def test_what_has_no_price_yet_is_measured_of_a_few_designs(self) -> None:
        assert readings(np.array([math.nan, math.nan]), 60.0) == [FEWEST, FEWEST]
        assert readings(np.array([math.nan, 6.0]), 60.0) == [FEWEST, 5]

    def test_their_cost_stays_within_the_limit_wherever_that_pays_a_few_complete_designs(self) -> None:
        rng = np.random.default_rng(0)
        for _ in range(300):
            prices = 10.0 ** rng.uniform(-2, 2, rng.integers(1, 5))
            limit = float(FEWEST * prices.sum() * 10.0 ** rng.uniform(0, 2))
            counts = readings(prices, limit)
            assert np.dot(counts, prices) <= limit * (1 + 1e-9)
            assert all(FEWEST <= count <= MOST_CHEAP for count in counts)


def started(study: Study, costs: Mapping[str, float], most: int = 200) -> list[Evaluation]:
    """The questions of the start, each answered."""
    found: list[Evaluation] = []
    while len(found) < most and (evaluation := study.ask()) is not None and evaluation.initial:
        value = (
            float(evaluation.design["x"]) if evaluation.objective == "error" else 1.0 - float(evaluation.design["y"])
        )
        study.tell(evaluation, value, cost=costs[evaluation.objective])
        found.append(evaluation)
    return found


def counts(questions: list[Evaluation]) -> Mapping[str, int]:
    return Counter(question.objective for question in questions)


def study(*objectives: Objective | str, **settings: object) -> Study:
    """A study of a method that is quick, since the start is the same for all that measure single objectives."""
    chosen = {"seed": 0, "method": "random", "candidates": 100} | settings
    return Study(PLANE, objectives or ("error", "joules"), **chosen)  # type: ignore[arg-type]


class TestTheDefaultStart:
    def test_it_costs_at_most_a_fifth_of_the_budget_and_reads_what_is_cheap_of_more_designs(self) -> None:
        own = study(budget=300)
        assert counts(started(own, COSTS)) == {"joules": 20, "error": 4}
        assert own.spent == 60

    def test_the_first_designs_are_complete_and_then_the_cheap_ones_come_first(self) -> None:
        questions = started(study(budget=300), COSTS)
        assert len({question.design for question in questions[:4]}) == 2
        assert [question.objective for question in questions[4:]] == ["joules"] * 18 + ["error"] * 2
        complete = {question.design for question in questions if question.objective == "error"}
        assert complete <= {question.design for question in questions if question.objective == "joules"}

    def test_a_small_budget_pays_two_complete_designs(self) -> None:
        own = study(budget=60)
        assert counts(started(own, COSTS)) == {"joules": 2, "error": 2}
        assert own.spent == 22

    def test_a_budget_that_pays_no_second_design_goes_on_with_the_method(self) -> None:
        own = study(budget=14)
        assert counts(started(own, COSTS)) == {"joules": 1, "error": 1}
        assert own.stop_kind in (None, StopKind.BUDGET)

    def test_without_a_limit_ten_designs_are_measured_completely(self) -> None:
        assert counts(started(study(), COSTS)) == {"joules": 10, "error": 10}

    def test_a_fifth_of_the_evaluations_counts_where_these_are_limited(self) -> None:
        assert counts(started(study(stop={"max_evaluations": 60}), COSTS)) == {"joules": 6, "error": 6}
        own = study(stop={"max_evaluations": 60}, budget=1e6)
        assert counts(started(own, COSTS)) == {"joules": 6, "error": 6}

    def test_evaluations_without_costs_end_it_at_ten_designs(self) -> None:
        assert counts(started(study(budget=300), {"joules": 0.0, "error": 0.0})) == {"joules": 10, "error": 10}

    def test_a_coupled_method_measures_complete_designs(self) -> None:
        own = study(budget=300, method="random-coupled")
        assert counts(started(own, COSTS)) == {"joules": 5, "error": 5}
        assert own.spent == 55

    def test_n_initial_overrides_it(self) -> None:
        assert counts(started(study(budget=300, n_initial=3), COSTS)) == {"joules": 3, "error": 3}

    def test_designs_of_the_user_s_are_all_measured_completely(self) -> None:
        given = [{"x": x, "y": 0.5, "net": "a"} for x in (0.1, 0.2, 0.3)]
        questions = started(study(budget=60, initial_designs=given), COSTS)
        assert counts(questions) == {"joules": 3, "error": 3}

    def test_designs_that_share_a_value_count_once(self) -> None:
        own = study(Objective("error", options=["net"]), "joules", budget=300)
        questions = started(own, COSTS)
        nets = [question.design["net"] for question in questions if question.objective == "error"]
        assert len(nets) == len(set(nets)) == 4

    def test_objectives_that_are_measured_together_are_one_purchase(self) -> None:
        own = study("error", "joules", Objective("watts", measured_with="joules"), budget=300)
        found = []
        while (evaluation := own.ask()) is not None and evaluation.initial:
            x, y = float(evaluation.design["x"]), float(evaluation.design["y"])
            values = {"error": x} if evaluation.objective == "error" else {"joules": 1 - y, "watts": y * x}
            own.tell(evaluation, values, cost=COSTS[evaluation.objective])
            found.append(evaluation)
        assert counts(found) == {"joules": 20, "error": 4}

    def test_a_constraint_is_measured_like_an_objective(self) -> None:
        own = study("error", "joules", Objective("latency", at_most=0.5), budget=300)
        found = []
        while (evaluation := own.ask()) is not None and evaluation.initial:
            own.tell(evaluation, float(evaluation.design["x"]), cost={"latency": 2.0, **COSTS}[evaluation.objective])
            found.append(evaluation)
        # 20 joules leave 40: half of it would pay 10 latencies, and 2 errors are reserved.
        assert counts(found) == {"joules": 20, "latency": 10, "error": 2}

    def test_a_design_that_cannot_be_measured_is_replaced_by_the_next(self) -> None:
        own = study(budget=300)
        first = own.ask()
        assert first is not None
        own.fail(first, "out of memory", cost=5.0, impossible=True)
        questions = started(own, COSTS)
        assert first.design not in {question.design for question in questions}
        assert counts(questions)["error"] == 3  # what failed was paid from the same fifth
        assert own.spent <= 60

    def test_imported_results_replace_designs(self) -> None:
        own = study(budget=300)
        for x in (0.1, 0.3, 0.5, 0.9):
            own.add({"x": x, "y": x, "net": "a"}, {"error": x}, cost=10.0)
        assert counts(started(own, COSTS)) == {"joules": 20}
        own = study(budget=300)
        for i in range(20):
            own.add({"x": i / 20, "y": i / 20, "net": "a"}, {"error": i, "joules": -i}, cost={"error": 10, "joules": 1})
        assert started(own, COSTS) == []

    def test_known_prices_need_no_first_answer(self) -> None:
        own = study(Objective("error", cost=10.0), Objective("joules", cost=1.0), budget=300)
        assert counts(own.ask(24)) == {"joules": 20, "error": 4}

    def test_several_at_once_are_one_of_each_objective_until_prices_are_known(self) -> None:
        own = study(budget=300)
        questions = own.ask(8)
        assert counts(questions) == {"joules": 1, "error": 1}
        assert own.stop_kind is StopKind.WAITING
        for question in questions:
            own.tell(question, float(question.design["x"]), cost=COSTS[question.objective])
        assert counts(own.ask(22)) == {"joules": 19, "error": 3}

    def test_several_at_once_are_complete_designs_where_evaluations_are_counted(self) -> None:
        own = study(stop={"max_evaluations": 20})
        assert counts(own.ask(8)) == {"joules": FEWEST, "error": FEWEST}
        assert own.stop_kind is StopKind.WAITING

    def test_a_worker_for_one_objective_gets_its_own_part(self) -> None:
        own = study(budget=300)
        mine = own.ask(4, only=["joules"])
        assert [question.objective for question in mine] == ["joules"]
        for question in mine:
            own.tell(question, float(question.design["y"]), cost=1.0)
        assert {question.objective for question in own.ask(5, only=["joules"])} == {"joules"}

    def test_the_expensive_designs_are_far_apart(self) -> None:
        questions = started(study(budget=300), COSTS)
        X = PLANE.designs([question.design for question in questions if question.objective == "error"]).encoded()
        every = PLANE.designs([q.design for q in questions if q.objective == "joules"]).encoded()
        assert _closest(X) > 2.0 * _closest(every)

    def test_a_small_space_is_measured_once(self) -> None:
        own = Study({"x": [0, 1, 2], "y": [0]}, ["error", "joules"], seed=0, method="random")
        assert counts(started(own, COSTS)) == {"joules": 3, "error": 3}

    def test_a_resumed_study_goes_on_where_it_was(self, tmp_path: object, new_study: Callable[[], Study]) -> None:
        whole = [(q.objective, q.design) for q in started(new_study(), COSTS)]
        parts: list[tuple[str, object]] = []
        url = f"sqlite:///{tmp_path}/study.db"
        for _ in range(4):
            with study(budget=300, storage=url) as own:
                parts += [(q.objective, q.design) for q in started(own, COSTS, most=7)]
        assert parts == whole


@pytest.fixture
def new_study() -> Callable[[], Study]:
    return lambda: study(budget=300)


def _closest(X: np.ndarray) -> float:
    away = ((X[:, None] - X) ** 2).sum(axis=2)
    return float(away[~np.eye(len(X), dtype=bool)].min())
