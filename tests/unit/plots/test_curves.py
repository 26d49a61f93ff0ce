"""The picture of learning curves."""

from __future__ import annotations

import pytest
from tests.pictures import drawn
from tests.unit.study.small_studies import asked

from flexibo import Objective, Study, plots
from flexibo.errors import InvalidValueError
from flexibo.storage import MemoryStorage


@pytest.fixture
def study() -> Study:
    """A study with a training that is complete, one that was stopped at step 3, and one that runs."""
    memory = MemoryStorage()
    objectives = [Objective("error", steps=[3, 9], unit="%"), Objective("joules")]
    begun = Study({"x": [1, 2, 3]}, objectives, storage=memory, seed=0, method="random")
    begun.ask(3, only=["error"])
    contents = memory.read()
    contents[-2]["stop"] = 3
    copy = MemoryStorage()
    copy.commit(0, lambda none: contents)
    study = Study.load(copy)
    whole, early, _ = study.pending
    study.tell(whole, 20.0, reports=[(1, 90.0), (3, 40.0)])
    study.tell(early, 60.0, reports=[(1, 95.0)])
    return study


def lines(study: Study) -> dict[str, list[tuple[float, float]]]:
    """The curves by label."""
    ax = plots.curves(study)
    found = {str(line.get_label()): line.get_xydata().tolist() for line in ax.get_lines()}  # type: ignore[union-attr]
    return {label: [tuple(point) for point in points] for label, points in found.items() if label[0] != "_"}


def test_each_design_has_a_line_that_says_how_far_it_went(study: Study) -> None:
    assert lines(study) == {
        "measured to the last step: 1": [(1.0, 90.0), (3.0, 40.0), (9.0, 20.0)],
        "stopped before the last step: 1": [(1.0, 95.0), (3.0, 60.0)],
    }
    ax = plots.curves(study, "error")
    assert "error [%]" in ax.get_ylabel()
    drawn(ax)


def test_designs_of_the_confirmed_front_stand_out(study: Study) -> None:
    best = study.history.asked[0].design
    study.tell(asked(study, only=["joules"]), 1.0)
    while not study.front():
        study.tell(asked(study, only=["joules"]), 1.0)
    assert [row.design for row in study.front()] == [best]
    assert "on the confirmed front" in lines(study)


def test_without_steps_or_values_the_picture_says_so(study: Study) -> None:
    def words(of: Study) -> str:
        return " ".join(text.get_text() for text in plots.curves(of).texts)

    assert "no objective has steps" in words(Study({"x": [1, 2]}, ["a", "b"]))
    assert "no value at a step" in words(Study({"x": [1, 2]}, [Objective("a", steps=9), "b"]))
    with pytest.raises(InvalidValueError, match="joules"):
        plots.curves(study, "joules")
