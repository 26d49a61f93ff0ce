"""A reading keeps its error bar: told, stored, shown, and read again from old and new studies."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from flexibo import Objective, Space, Study
from flexibo.history.event_dicts import event_from_dict, event_to_dict
from flexibo.history.events import Told
from flexibo.history.readings import confirmed_front, readings
from flexibo.objectives import Reading
from flexibo.results.cells import MODEL_LEGEND
from flexibo.results.rows import json_row
from flexibo.storage import MemoryStorage, open_storage
from flexibo.storage.base import DamagedStudyError
from flexibo.studyfile import read_study_file
from flexibo.surrogates import RandomForest

SPACE = Space({"filters": [16, 32, 64, 128]})
OBJECTIVES = [Objective("error"), Objective("energy", noisy=True)]


def begun(path: Path) -> Study:
    return Study(SPACE, OBJECTIVES, budget=100, seed=0, storage=f"sqlite:///{path / 's.db'}", name="s")


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
    assert {tuple(one.repeats.items()) for one in (row, again.front()[0])} == {(("energy", 9),)}
    assert "sums up 9 repeats" in str(again.front())
    assert json_row(row)["repeats"] == {"energy": 9}
    assert "repeats" not in json_row(replace(row, repeats={}))


def test_the_front_explains_why_an_estimate_is_less_certain_than_its_only_reading() -> None:
    for noisy in (True, False):
        study = Study(SPACE, [Objective("error"), Objective("energy", noisy=noisy)], budget=100, seed=0)
        for filters in (16, 32, 64):
            energy = Reading(1.0 * filters, deviation=0.002 * filters, repeats=10)
            study.add({"filters": filters}, {"error": 100.0 / filters, "energy": energy})
        (row,) = (row for row in study.front() if row.design["filters"] == 64)
        wide = row.deviations["energy"] > 4 * 0.002 * 64
        assert wide == (MODEL_LEGEND in str(study.front())) == noisy


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


WIDE = Space({"x": (0.0, 1.0), "w": (0.0, 1.0)})


def asked(study: Study, count: int, bar: float) -> list[tuple[dict[str, float], str]]:
    """The next questions of a study whose every second energy has an error bar."""
    questions = []
    while len(questions) < count and (evaluation := study.ask()):
        x, w = evaluation.design["x"], evaluation.design["w"]
        value = x + w**2 if evaluation.objective == "error" else 2.0 - x + w
        number = evaluation.number
        told = Reading(value, deviation=bar, repeats=3) if evaluation.objective == "energy" and number % 2 else value
        study.tell(evaluation, told, cost=1.0)
        questions.append((dict(evaluation.design), evaluation.objective))
    return questions


def with_bars(storage: object, *, noisy: bool = True, **settings: object) -> Study:
    objectives = [Objective("error"), Objective("energy", noisy=noisy)]
    return Study(WIDE, objectives, budget=100, seed=3, n_initial=4, candidates=40, storage=storage, **settings)  # type: ignore[arg-type]


def test_a_resumed_study_with_error_bars_asks_what_the_uninterrupted_one_asks(tmp_path: Path) -> None:
    whole = asked(with_bars(MemoryStorage()), 16, 0.5)
    url = f"sqlite:///{tmp_path / 's.db'}"
    first = asked(with_bars(url), 11, 0.5)
    again = Study.load(url)
    assert again.history.variances(1) is not None
    assert first + asked(again, 5, 0.5) == whole


def test_an_error_bar_of_zero_is_none_to_the_models() -> None:
    exact = asked(with_bars(MemoryStorage()), 12, 0.0)
    plain = with_bars(MemoryStorage())
    for _ in range(12):
        evaluation = plain.ask()
        assert evaluation is not None
        x, w = evaluation.design["x"], evaluation.design["w"]
        plain.tell(evaluation, x + w**2 if evaluation.objective == "error" else 2.0 - x + w, cost=1.0)
    assert exact == [(dict(e.design), e.objective) for e in plain.history.asked]


@pytest.mark.parametrize("surrogate", ["gp", RandomForest(trees=4)])
def test_a_reading_is_not_taken_as_known_if_it_has_an_error_bar_that_the_models_use(surrogate: object) -> None:
    study = with_bars(MemoryStorage(), noisy=False, surrogate=surrogate)
    asked(study, 12, 0.5)
    history = study.history
    variances = history.variances(1)
    assert variances is not None
    barred = np.isin(history.designs.keys(), history.data(1)[0][variances > 0].keys())
    found = study.predictor.estimates(history)
    exact = found.known[:, 1] & ~barred
    assert barred.any()
    assert exact.any()
    assert (found.sigma[exact, 1] == 0.0).all()
    assert ((found.sigma[barred, 1] > 0.0) == (surrogate == "gp")).all()
    assert found.known[barred, 1].all()
    read = readings(history)
    assert [row.values["energy"] for row in study.front()] == [
        float(read.mean[place, 1]) for place in confirmed_front(history, read)
    ]


def test_a_command_prints_error_bars_which_the_models_are_told(tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(
        """
budget: 100
options: {x: [1, 2, 3, 4, 5]}
objectives:
  error: {command: "echo {x} 1"}
  joules:
    noisy: true
    command: |
      echo '{"value": '{x}', "deviation": 0.5, "repeats": 4, "cost": 1}'
n_initial: 2
stop: {max_evaluations: 6}
"""
    )
    file = read_study_file(tmp_path / "study.yaml")
    study = file.study(storage=None)
    study.run(file.measures, progress=False)
    variances = study.history.variances(1)
    assert variances is not None
    assert set(variances) == {0.25}
    assert study.history.variances(0) is None
    assert study.front()[0].spreads["joules"] == 0.5


def test_a_known_result_keeps_its_error_bar(tmp_path: Path) -> None:
    study = begun(tmp_path)
    study.add({"filters": 16}, {"error": 0.5, "energy": Reading(2.0, deviation=0.25, repeats=9)})
    study.add({"filters": 32}, {"energy": 3.0})
    again = Study.load(f"sqlite:///{tmp_path / 's.db'}", "s").history
    for history in (study.history, again):
        assert history.variances(0) is None
        np.testing.assert_array_equal(history.variances(1), [0.0625, 0.0])
        np.testing.assert_array_equal(history.bars(1), [0.25, np.nan])


def test_readings_of_a_design_are_averaged_by_their_error_bars() -> None:
    study = Study(SPACE, OBJECTIVES, budget=100, seed=0, n_initial=1)
    evaluations = study.history.asked
    design = {"filters": 16}
    for told in (Reading(1.0, deviation=0.1), Reading(1.2, deviation=0.2)):
        study.enqueue(design, ["energy"], readings=len(evaluations) + 1)
        evaluation = study.ask()
        assert evaluation is not None
        assert evaluation.objective == "energy"
        study.tell(evaluation, told, cost=1.0)
    read = readings(study.history)
    place = study.history.designs.keys().tolist().index(int(study.history.data(1)[0].keys()[0]))
    assert read.count[place, 1] == 2
    assert read.mean[place, 1] == pytest.approx((100 * 1.0 + 25 * 1.2) / 125)
    assert read.spread[place, 1] == pytest.approx(0.2 / 2**0.5)


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
