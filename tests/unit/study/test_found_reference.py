"""The reference point that a study finds is widened when its confirmed front reaches beyond it; a given one stays."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.study.small_studies import asked

from flexibo import Objective, Study
from flexibo.errors import SettingsDifferError
from flexibo.history.events import Evaluation, ReferenceFixed
from flexibo.storage import MemoryStorage

FUNCTIONS = {
    "error": lambda design: (1.0 / design["width"], 1.0),
    "latency": lambda design: (0.01 * design["width"], 1.0),
    "size": lambda design: (float(design["width"]), 1.0),
}
NARROW = {"error": pytest.approx(0.01 + 0.1 * (0.01 - 1 / 150)), "latency": pytest.approx(1.55)}
WIDE = {"error": pytest.approx(1.0 + 0.1 * (1.0 - 1 / 150)), "latency": pytest.approx(1.55)}


def opened(storage: MemoryStorage | None = None, **given: Any) -> Study:
    """A study of networks of width 1 to 200 that begins with two wide ones."""
    settings = {"initial_designs": [{"width": 100}, {"width": 150}], "budget": 60, "seed": 0, "candidates": 20}
    return Study({"width": (1, 200)}, ["error", "latency"], storage=storage, **settings | given)  # type: ignore[arg-type]


def answer(study: Study, evaluation: Evaluation) -> None:
    value, cost = FUNCTIONS[evaluation.objective](evaluation.design)
    study.tell(evaluation, value, cost=cost)


def begun(storage: MemoryStorage | None = None, **given: Any) -> Study:
    """The same, after its start; the first question that it chose was given back."""
    study = opened(storage, **given)
    while (evaluation := asked(study)).initial:
        answer(study, evaluation)
    study.release(evaluation)
    return study


def add_end_of_the_front(study: Study) -> None:
    study.add({"width": 1}, {"error": 1.0, "latency": 0.01})


def fixed(study: Study) -> list[ReferenceFixed]:
    return [event for event in study.events if isinstance(event, ReferenceFixed)]


def test_both_ends_of_the_front_are_found_with_a_small_budget() -> None:
    study = Study({"width": (1, 200)}, ["error", "latency"], budget=20, seed=0, candidates=60)
    study.run({name: FUNCTIONS[name] for name in study.history.names}, progress=False)
    widths = sorted(row.design["width"] for row in study.front())
    assert widths[0] == 1
    assert sum(1 < width < 80 for width in widths) >= 3, "they lay beyond the point that the start had found"
    assert study.reference is not None
    assert all(row.values[name] < worst for row in study.front() for name, worst in study.reference.items())


def test_the_point_is_widened_for_the_next_question_and_stored_with_it() -> None:
    storage = MemoryStorage()
    study = begun(storage)
    assert study.reference == NARROW
    add_end_of_the_front(study)
    assert study.reference == WIDE
    assert study.summary().reference == WIDE
    assert study.summary().hypervolume > 0.5, "the added design counts"
    assert study.predictor.belief(study.history, study.predictor.generator(study.history, 0)).reference[0] > 1.0
    assert len(fixed(study)) == 1
    answer(study, asked(study))
    assert [(event.values, event.found) for event in fixed(study)] == [(NARROW, True), (WIDE, True)]
    again = opened(storage)
    assert again.events == study.events
    assert again.history.is_reference_found
    assert again.reference == study.reference
    expected = asked(again)
    again.release(expected)
    assert len(fixed(again)) == 2


def test_two_workers_that_see_the_same_design_widen_it_once() -> None:
    storage = MemoryStorage()
    first = begun(storage)
    second = opened(storage)
    add_end_of_the_front(first)
    think, claimed = second._mind.optimizer.ask, list[Evaluation]()

    def disturbed(history: Any, **how: Any) -> Any:
        thought = think(history, **how)
        if not claimed:
            claimed.append(asked(first))  # between the question and its claim
        return thought

    second._mind.optimizer.ask = disturbed  # type: ignore[method-assign]
    mine = asked(second)
    first.refresh()
    assert (mine.design, mine.objective) != (claimed[0].design, claimed[0].objective)
    assert first.events == second.events
    assert [event.values for event in fixed(first)] == [NARROW, WIDE]


@pytest.mark.parametrize("how", ["created", "opened", "changed"])
def test_a_given_point_never_moves(how: str) -> None:
    storage = MemoryStorage()
    study = begun(storage, **({"reference": {"error": 0.02, "latency": 2.0}} if how == "created" else {}))
    given = study.reference
    if how == "opened":
        study = opened(storage, reference=given)
    elif how == "changed":
        changes = study.change(reference=given)
        assert [row.what for row in changes.rows] == ["reference"]
        assert not study.change(reference=given)
    add_end_of_the_front(study)
    answer(study, asked(study))
    assert study.reference == given
    assert fixed(study)[-1] == ReferenceFixed(given or {})


def test_another_point_than_the_stored_one_is_refused_and_the_stored_one_stays_found() -> None:
    storage = MemoryStorage()
    study = begun(storage)
    with pytest.raises(SettingsDifferError, match="reference"):
        opened(storage, reference={"error": 3.0, "latency": 3.0})
    study.refresh()
    assert study.history.is_reference_found


def test_another_objective_begins_anew_also_where_the_point_was_given() -> None:
    study = begun(reference={"error": 0.02, "latency": 2.0})
    study.change(objectives=[Objective("size")])
    assert study.reference is None
    assert not study.history.is_reference_found
    while (evaluation := asked(study)).initial:
        answer(study, evaluation)
    assert study.history.is_reference_found
    assert set(fixed(study)[-1].values) == {"error", "latency", "size"}


def test_the_point_of_a_study_of_an_earlier_version_stays() -> None:
    before, storage = MemoryStorage(), MemoryStorage()
    found = begun(before).reference
    contents = [{name: value for name, value in content.items() if name != "found"} for content in before.read()]
    storage.commit(0, lambda none: contents)
    study = opened(storage)
    add_end_of_the_front(study)
    answer(study, asked(study))
    assert study.reference == found
    assert len(fixed(study)) == 1
