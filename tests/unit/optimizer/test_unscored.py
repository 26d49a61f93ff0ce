from __future__ import annotations

import pytest

from flexibo import Objective, Space
from flexibo.history import History
from flexibo.history.events import Added, Asked, Evaluation, Failed
from flexibo.optimizer._unscored import missing_initial

SPACE = Space({"x": [0, 1, 2, 3]})


def asked(history: History, x: int, objective: str) -> int:
    number = len(history.asked)
    design = history.space.design({"x": x})
    history.append(Asked(Evaluation(design, objective, None, 0.0, "", number, (objective,), initial=True)))
    return number


@pytest.fixture
def history() -> History:
    return History(SPACE, [Objective("a"), Objective("b")])


def test_initial_designs_are_asked_design_by_design(history: History) -> None:
    initial = [SPACE.design({"x": x}) for x in (2, 0)]
    assert missing_initial(history, initial, 0, coupled=False) == [
        (initial[0], [0]),
        (initial[0], [1]),
        (initial[1], [0]),
        (initial[1], [1]),
    ]
    assert missing_initial(history, initial, 0, coupled=True) == [(initial[0], [0, 1]), (initial[1], [0, 1])]


def test_a_failed_initial_evaluation_is_retried_after_the_others_and_then_given_up(history: History) -> None:
    initial = [SPACE.design({"x": x}) for x in (2, 0)]
    for attempt in range(3):
        history.append(Failed(asked(history, 2, "a"), "broken", 0.0))
        tasks = missing_initial(history, initial, 0, coupled=False)
        assert tasks[0] == (initial[0], [1])
        assert ((initial[0], [0]) in tasks) == (attempt < 2)


def test_what_is_pending_is_not_asked_again(history: History) -> None:
    initial = [SPACE.design({"x": 2})]
    asked(history, 2, "a")
    assert missing_initial(history, initial, 0, coupled=False) == [(initial[0], [1])]


def test_an_imported_result_replaces_an_initial_design(history: History) -> None:
    initial = [SPACE.design({"x": x}) for x in (2, 0)]
    history.append(Added(SPACE.design({"x": 3}), {"a": 1.0}, {}))
    assert missing_initial(history, initial, 0, coupled=False) == [
        (initial[0], [0]),
        (initial[0], [1]),
        (initial[1], [1]),
    ]
