"""A reading keeps its error bar: told, stored, shown, and read again from old and new studies."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest

from flexibo import Objective, Space, Study
from flexibo.errors import InvalidValueError
from flexibo.history.event_dicts import event_from_dict, event_to_dict
from flexibo.history.events import Told
from flexibo.history.readings import readings
from flexibo.objectives import Reading
from flexibo.storage import open_storage
from flexibo.storage.base import DamagedStudyError

SPACE = Space({"filters": [16, 32, 64, 128]})
OBJECTIVES = [Objective("error"), Objective("energy", noisy=True)]


def begun(path: Path) -> Study:
    return Study(SPACE, OBJECTIVES, budget=100, seed=0, storage=f"sqlite:///{path / 's.db'}", name="s")


def test_a_reading_is_a_number_that_travels_with_its_error_bar() -> None:
    reading = pickle.loads(pickle.dumps(Reading(3.0, deviation=0.2, repeats=5)))
    assert (reading + 1, reading.deviation, reading.repeats) == (4.0, 0.2, 5)
    assert repr(reading) == "Reading(3.0, deviation=0.2, repeats=5)"
    for deviation in (-1.0, float("nan"), float("inf")):
        with pytest.raises(InvalidValueError, match="deviation of"):
            Reading(3.0, deviation=deviation)
    with pytest.raises(InvalidValueError, match="repeats"):
        Reading(3.0, deviation=1.0, repeats=0)


def test_the_median_of_repeats_has_the_deviation_of_a_median() -> None:
    median = Reading.of_median([1.0, 2.0, 3.0, 4.0, 5.0])
    assert isinstance(median, Reading)
    assert (float(median), median.repeats) == (3.0, 5)
    assert median.deviation == pytest.approx(1.2533 * 1.5811 / 5**0.5, rel=1e-3)
    single = Reading(2.0, deviation=0.3, repeats=7)
    assert Reading.of_median([single]) is single


def test_an_error_bar_is_stored_and_shown_after_a_single_reading(tmp_path: Path) -> None:
    study = begun(tmp_path)
    while (evaluation := study.ask()) is not None and len(study.history.measurements) < 6:
        study.tell(
            evaluation, Reading(2.0, deviation=0.25, repeats=9) if evaluation.objective == "energy" else 1.0, cost=1
        )
    stored = [event for event in open_storage(f"sqlite:///{tmp_path / 's.db'}", "s").read() if event["event"] == "told"]
    assert {json.dumps(event.get("noise")) for event in stored} == {"null", '{"energy": [0.25, 9]}'}
    again = Study.load(f"sqlite:///{tmp_path / 's.db'}", "s")
    assert [event.noise for event in again.events if isinstance(event, Told)] == [
        event.noise for event in study.events if isinstance(event, Told)
    ]
    read = readings(again.history)
    once = read.count[:, 1] == 1
    assert once.any()
    assert (read.spread[once, 1] == 0.25).all()
    row = study.front()[0]
    assert row.spreads["energy"] == 0.25
    assert "2 ±0.25 (1)" in str(study.front())


def test_repeats_of_a_function_become_an_error_bar(tmp_path: Path) -> None:
    values = iter([1.0, 2.0, 3.0] * 50)
    objectives = [Objective("error"), Objective("energy", noisy=True, repeats=3)]
    study = Study(SPACE, objectives, budget=100, seed=0, stop={"max_evaluations": 6})
    study.run({"error": lambda design: (1.0, 1.0), "energy": lambda design: (next(values), 1.0)})
    noises = [event.noise["energy"] for event in study.events if isinstance(event, Told) and event.noise]
    assert noises
    assert {repeats for _, repeats in noises} == {3}
    assert noises[0][0] == pytest.approx(1.2533 / 3**0.5, rel=1e-3)


def test_an_answer_without_an_error_bar_is_stored_as_before() -> None:
    plain = Told(0, {"energy": 2.0}, 1.0)
    assert "noise" not in event_to_dict(plain)
    assert event_from_dict(event_to_dict(plain), SPACE) == plain
    barred = Told(0, {"energy": 2.0}, 1.0, noise={"energy": (0.5, 3)})
    assert event_from_dict(json.loads(json.dumps(event_to_dict(barred))), SPACE) == barred


@pytest.mark.parametrize(
    "noise", [{"energy": [-1.0, 3]}, {"energy": [1.0, 0]}, {"energy": 1.0}, {"other": [1.0, 3]}, 3]
)
def test_a_damaged_error_bar_is_refused(tmp_path: Path, noise: object) -> None:
    study = begun(tmp_path)
    evaluation = study.ask()
    assert evaluation is not None
    told = {"event": "told", "number": 0, "values": {evaluation.objective: 1.0}, "cost": 1.0, "noise": noise}
    storage = open_storage(f"sqlite:///{tmp_path / 's.db'}", "s")
    storage.commit(len(storage.read()), lambda _: [told])
    with pytest.raises(DamagedStudyError, match=r"noise|no objective .other"):
        Study.load(f"sqlite:///{tmp_path / 's.db'}", "s")
