from __future__ import annotations

import json
from dataclasses import replace

import pytest
from tests.unit.experiments.made_repeats import made_up
from tests.unit.experiments.toy_problem import TINY, toy

from flexibo.errors import InvalidValueError
from flexibo.experiments import ExperimentSize, Repeat
from flexibo.experiments.making import repeat
from flexibo.experiments.repeats import methods_of, of_problem, problems_of, recharged, with_free_readings


def test_a_repeat_survives_being_written() -> None:
    made = repeat(toy(), "flexibo-gp-log", 0, TINY)
    read = Repeat.from_dict(made.to_dict())
    assert read.iterations[-1].spent == pytest.approx(made.iterations[-1].spent, rel=1e-8)
    assert read.iterations[1].objectives == made.iterations[1].objectives
    assert Repeat.from_dict(read.to_dict()) == read


@pytest.mark.parametrize("wrong", [{"repeats": 0}, {"n_initial": 1}, {"iterations": 0}])
def test_terms_that_make_no_sense_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(InvalidValueError, match=next(iter(wrong))):
        ExperimentSize(**wrong)


BOUGHT = [["cheap"], ["expensive", "cheap"], ["expensive"], ["expensive"]]


def test_evaluations_are_counted_and_paid_by_objective() -> None:
    made = made_up("pal", [1] * 5, bought=BOUGHT)
    assert (made.count("cheap"), made.count("expensive")) == (2, 3)
    assert (made.count("expensive", last=3), made.count("expensive", first=3)) == (1, 2)
    assert (made.cost("cheap"), made.cost("expensive")) == (20.0, 300.0)
    assert made.cost("nothing") == 0.0


def test_the_cheapest_and_the_most_expensive_objective_are_those_by_mean_cost() -> None:
    made = made_up("pal", [1])
    assert (made.cheap, made.expensive) == ("cheap", "expensive")
    turned = replace(made, lead_costs=(1.0, 10.0))
    assert (turned.cheap, turned.expensive) == ("expensive", "cheap")


def test_repeats_are_found_by_problem_and_method_in_order() -> None:
    repeats = [made_up(method, [1], problem=name) for name in ("q", "p") for method in ("pal", "parego")]
    assert (problems_of(repeats), methods_of(repeats)) == (["q", "p"], ["pal", "parego"])
    assert of_problem(repeats, "p") == repeats[2:]
    assert of_problem(repeats, "p", "parego") == repeats[3:]
    assert of_problem(repeats, "r") == []


def test_a_written_repeat_is_plain_and_rounded() -> None:
    made = made_up("pal", [1, 1 / 3], bought=[["cheap"]], stopped="done")
    content = json.loads(json.dumps(made.to_dict(), allow_nan=False))
    assert content["iterations"]["error"] == [1, 0.333333333]
    assert content["iterations"]["objectives"] == [[], ["cheap"]]
    read = Repeat.from_dict(content)
    assert (read.stopped, read.iterations[0].volume, read.iterations[1].objectives) == ("done", None, ("cheap",))


def test_other_prices_change_what_was_spent_and_nothing_else() -> None:
    made = made_up("pal", [1, 0.5, 0.4, 0.3, 0.2], bought=BOUGHT)
    other = recharged(made, lambda name, cost: cost * (3.0 if name == "cheap" else 1.0))
    assert [iteration.spent for iteration in other.iterations] == [0.0, 30.0, 160.0, 260.0, 360.0]
    assert other.lead_costs == (100.0, 30.0)
    assert [iteration.error for iteration in other.iterations] == [1, 0.5, 0.4, 0.3, 0.2]
    assert recharged(made, lambda name, cost: cost) == made


def test_with_free_readings_only_the_most_expensive_objective_is_charged() -> None:
    free = with_free_readings(made_up("pal", [1] * 5, bought=BOUGHT))
    assert [iteration.spent for iteration in free.iterations] == [0.0, 0.0, 100.0, 200.0, 300.0]
    assert free.cost("cheap") == 0.0
    assert free.iterations[1].log_spent == 1.0  # the paper's log cost is at least 1
