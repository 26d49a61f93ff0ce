"""The choices: why evaluations were asked, and their outcome."""

from __future__ import annotations

import pytest
from tests.strict_json import strict_json

from flexibo import Study
from flexibo.views import choices_view

LINE = {"x": (0.0, 1.0)}


@pytest.fixture
def study(finished_study: Study) -> Study:
    return finished_study


def test_choices_are_newest_first_and_say_why(study: Study) -> None:
    view = choices_view(study, last=len(study.history.asked))
    assert [choice.number for choice in view.choices] == [e.number for e in reversed(study.history.asked)]
    by_number = {choice.number: choice for choice in view.choices}
    asked = study.history.asked[-1]
    newest = by_number[asked.number]
    assert (newest.why, newest.cost, newest.gain) == (asked.why, asked.cost, asked.gain)
    assert asked.gain is not None
    assert asked.volume is not None
    assert newest.gain_share == pytest.approx(asked.gain / asked.volume)
    assert newest.state == "measured"
    assert newest.value == study.trace()[-1].value
    failed = by_number[1]
    assert (failed.state, failed.value, failed.paid, failed.reason) == ("failed", None, 2.0, "a < b\n\x1b[2J")
    assert by_number[0].gain is None
    shown = strict_json(view)["choices"]
    second = asked.runner_up
    assert second is not None
    assert shown[0]["runner_up"] == {
        "objective": second.objective, "design": dict(second.design), "gain": second.gain, "cost": second.cost
    }  # fmt: skip


def test_the_last_choices_are_few_and_what_is_asked_is_pending() -> None:
    study = Study(LINE, ["a", "b"], method="random", n_initial=2, seed=0, stop={"max_evaluations": 6})
    study.run({"a": lambda d: (d["x"], 1.0), "b": lambda d: (1 - d["x"], 1.0)})
    study.stop = None
    assert study.ask() is not None
    view = choices_view(study, last=3)
    assert [choice.state for choice in view.choices] == ["pending", "measured", "measured"]
    assert view.choices[0].paid is None
    assert choices_view(study, last=0).choices == ()
    assert choices_view(Study(LINE, ["a", "b"])).choices == ()
