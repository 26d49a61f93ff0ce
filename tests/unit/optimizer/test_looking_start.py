"""A start that looks at many designs of an objective with steps and completes a few of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

import pytest

from flexibo import Evaluation, Objective, Space, Study
from flexibo.optimizer.start import FEWEST

PLANE = Space({"x": (0.0, 1.0), "y": (0.0, 1.0), "net": list("abcdefgh")})
COSTS = {"joules": 1.0, "error": 10.0}


def counts(questions: list[Evaluation]) -> Mapping[str, int]:
    return Counter(question.objective for question in questions)


def study(*objectives: Objective | str, **settings: object) -> Study:
    return Study(PLANE, objectives, **({"seed": 0, "candidates": 100} | settings))  # type: ignore[arg-type]


def read_at(stops: Mapping[str, int], questions: list[Evaluation]) -> list[tuple[int, int | None]]:
    """From and to which step the questions for the objectives with these last steps go."""
    return [(question.start, question.stop) for question in questions if question.objective in stops]


class TestAStartWithLooks:
    """An error in 27 steps, whose first stop after a tenth of the way is 3, beside joules."""

    @staticmethod
    def answered(own: Study, cost: Callable[[Evaluation], float], most: int = 60) -> list[Evaluation]:
        found: list[Evaluation] = []
        while len(found) < most and (evaluation := own.ask()) is not None and evaluation.initial:
            x, y = float(evaluation.design["x"]), float(evaluation.design["y"])
            own.tell(evaluation, x if evaluation.objective == "error" else 1.0 - y, cost=cost(evaluation))
            found.append(evaluation)
        return found

    @staticmethod
    def cost(evaluation: Evaluation) -> float:
        if evaluation.objective == "joules":
            return 1.0
        assert evaluation.stop is not None
        return 10.0 * (evaluation.stop - evaluation.start) / 27

    @pytest.fixture
    def own(self) -> Study:
        return study(Objective("error", steps=27), "joules", budget=300, method="flexibo")

    def test_half_of_the_money_buys_looks_and_the_rest_completes_a_few_of_these_designs(self, own: Study) -> None:
        questions = self.answered(own, self.cost)
        steps = read_at({"error": 27}, questions)
        assert steps[:12] == [(0, 3)] * 12
        assert steps[12:] == [(3, 27)] * 3, "40 for errors pay 12 looks of 1.1 and 3 further ways of 8.9"
        assert counts(questions)["joules"] == 20
        assert own.spent <= 60

    def test_the_best_of_the_cheaper_half_are_completed(self, own: Study) -> None:
        def twice_where_y_is_high(evaluation: Evaluation) -> float:
            return self.cost(evaluation) * (2.0 if evaluation.design["y"] > 0.5 else 1.0)  # type: ignore[operator]

        questions = [e for e in self.answered(own, twice_where_y_is_high) if e.objective == "error"]
        looks, completed = (
            [e.design for e in questions if e.start == 0],
            [e.design for e in questions if e.stop == 27],
        )
        cheap = sorted((d for d in looks if d["y"] <= 0.5), key=lambda design: design["x"])
        assert completed[0] == cheap[0]
        assert set(completed) < set(looks)

    @pytest.mark.parametrize(("budget", "turns"), [(300, "best best"), (620, "best worst best best")])
    def test_the_second_of_four_is_the_worst_of_the_cheaper_half(self, budget: int, turns: str) -> None:
        def more_where_y_is_high(evaluation: Evaluation) -> float:
            return self.cost(evaluation) * (1.0 + float(evaluation.design["y"]))

        own = study(Objective("error", steps=27), "joules", budget=budget, method="flexibo")
        questions = [e for e in self.answered(own, more_where_y_is_high) if e.objective == "error"]
        seen, completed = ([e.design for e in questions if e.start == 0], [e.design for e in questions if e.stop == 27])
        expected = []
        for turn in turns.split():
            cheaper = sorted(seen, key=lambda design: design["y"])[: (len(seen) + 1) // 2]
            expected.append((max if turn == "worst" else min)(cheaper, key=lambda design: design["x"]))
            seen.remove(expected[-1])
        assert completed == expected

    def test_the_questions_say_why(self, own: Study) -> None:
        questions = [e for e in self.answered(own, self.cost) if e.objective == "error"]
        assert (
            questions[0].why
            == "initial design 1: its first stop shows what it costs and how it begins; first to step 3"
        )
        assert "completed to learn" in questions[-1].why
        others = self.answered(
            study(Objective("error", steps=27), "joules", budget=300, method="flexibo"), self.cost, 2
        )
        assert [e.why for e in others if e.objective == "joules"] == [
            "initial design 1: the first 2 show what each objective costs"
        ]

    def test_what_is_left_completes_what_was_seen_rather_than_begins_another_one(self) -> None:
        own = study(Objective("error", steps=27), "joules", budget=14, method="flexibo")
        steps = [(e.start, e.stop) for e in self.answered(own, self.cost) if e.objective == "error"]
        assert (0, 3) in steps
        assert (3, 27) in steps, "12 of 14 are enough for one design, not for two"

    def test_a_design_whose_look_fails_is_replaced(self, own: Study) -> None:
        failed, seen = [], []
        while (evaluation := own.ask()) is not None and evaluation.initial:
            if evaluation.objective == "error" and evaluation.design["x"] < 0.3 and evaluation.start == 0:
                own.fail(evaluation, "too small", cost=1.0, impossible=True)
                failed.append(evaluation.design)
            else:
                own.tell(evaluation, float(evaluation.design["x"]), cost=self.cost(evaluation))
                seen.append(evaluation)
        assert failed
        assert sum(e.stop == 27 for e in seen) >= FEWEST

    def test_workers_together_complete_no_more_than_one_does(self, own: Study) -> None:
        waiting: list[Evaluation] = []
        told = []
        while True:
            while len(waiting) < 5 and (evaluation := own.ask()) is not None and evaluation.initial:
                waiting.append(evaluation)
            if not waiting:
                break
            evaluation = waiting.pop(0)
            own.tell(evaluation, float(evaluation.design["x"]), cost=self.cost(evaluation))
            told.append((evaluation.design, evaluation.objective, evaluation.stop))
        assert len(told) == len(set(told)), "nothing is read twice"
        assert FEWEST <= sum(stop == 27 for *_, stop in told) <= 4

    @pytest.mark.parametrize(
        "error", [Objective("error"), Objective("error", steps=27, resumable=False), Objective("error", steps=[27])]
    )
    def test_without_stops_from_which_one_goes_on_designs_are_completed(self, error: Objective) -> None:
        own = study(error, "joules", budget=300, method="flexibo")
        questions = self.answered(own, lambda evaluation: COSTS[evaluation.objective])
        assert {e.stop for e in questions if e.objective == "error"} <= {None, 27}

    def test_other_methods_and_starts_of_the_user_s_complete_designs(self) -> None:
        for settings in ({"method": "random"}, {"method": "flexibo", "n_initial": 4}):
            own = study(Objective("error", steps=27), "joules", budget=300, **settings)
            assert {e.stop for e in self.answered(own, self.cost) if e.objective == "error"} == {27}

    def test_a_look_counts_where_evaluations_are_limited(self) -> None:
        own = study(Objective("error", steps=27), "joules", stop={"max_evaluations": 80}, method="flexibo")
        questions = [e for e in self.answered(own, self.cost) if e.objective == "error"]
        assert len(questions) <= 8
        assert sum(e.stop == 27 for e in questions) >= FEWEST
