"""Why the Pareto region grew between two questions."""

from __future__ import annotations

from dataclasses import replace

from flexibo import Objective, Space
from flexibo.history import History
from flexibo.history.events import Added, Asked, Changed, Evaluation, Event, Failed, ReferenceFixed, Told
from flexibo.results.region_rises import comparable_volumes, region_rises
from flexibo.space import Design

SPACE = Space({"x": (0.0, 1.0)})
OBJECTIVES = (Objective("a"), Objective("b"))
SETTINGS = {"space": SPACE.to_dict(), "objectives": [objective.to_dict() for objective in OBJECTIVES]}


def design(x: float) -> Design:
    return SPACE.design({"x": x})


def asked(number: int, volume: float | None, objective: str = "a") -> Asked:
    made = Evaluation(design(number / 100), objective, None, 1.0, "", number, (objective,))
    return Asked(replace(made, volume=volume))


def rises(*events: Event) -> dict[int, str]:
    history = History(SPACE, OBJECTIVES)
    history.extend(list(events))
    return region_rises(history)


def test_a_region_that_shrinks_or_hardly_grows_needs_no_reason() -> None:
    assert rises(asked(0, None), asked(1, 1.0), Told(1, {"a": 1.0}, 1.0), asked(2, 0.9), asked(3, 0.91)) == {}


def test_a_rise_after_a_failure_names_it() -> None:
    found = rises(asked(0, 1.0), Failed(0, "no memory", 1.0), asked(1, 1.5))
    assert list(found) == [1]
    assert "evaluation 0 (a) failed" in found[1]
    assert "50%" in found[1]


def test_a_rise_after_a_measurement_or_added_results_says_so() -> None:
    found = rises(
        asked(0, 1.0), Told(0, {"a": 1.0}, 1.0), asked(1, 1.5), Added(design(0.5), {"b": 1.0}, {}), asked(2, 3.0)
    )
    assert "evaluation 0 (a)" in found[1]
    assert "boxes" in found[1]
    assert "added" in found[2]


def test_a_rise_from_nothing_and_without_an_answer_has_a_reason_too() -> None:
    found = rises(asked(0, 0.0), asked(1, 1.0))
    assert "candidates" in found[1]
    assert "%" not in found[1]


def test_a_rise_after_a_change_of_the_study_says_so() -> None:
    found = rises(asked(0, 1.0), Told(0, {"a": 1.0}, 1.0), Changed(SETTINGS, ("budget",)), asked(1, 1.5))
    assert "changed" in found[1]


def test_a_rise_after_the_reference_point_was_fixed_or_widened_says_which() -> None:
    values = {"a": 1.0, "b": 1.0}
    first, given = ReferenceFixed(values, found=True), ReferenceFixed(values)
    found = rises(asked(0, 1.0), first, asked(1, 2.0), first, asked(2, 3.0), given, asked(3, 4.0))
    assert ["widened" in found[number] for number in (1, 2, 3)] == [False, True, False]
    assert all("reference" in text for text in found.values())


def test_volumes_are_compared_since_the_reference_point_was_moved_or_the_study_changed() -> None:
    history = History(SPACE, OBJECTIVES)
    assert comparable_volumes(history) == []
    history.extend([asked(0, None), ReferenceFixed({"a": 1.0, "b": 1.0}), asked(1, 3.0), asked(2, 2.0)])
    assert comparable_volumes(history) == [3.0, 2.0]
    history.extend([ReferenceFixed({"a": 9.0, "b": 1.0}, found=True), asked(3, 8.0), asked(4, 7.0)])
    assert comparable_volumes(history) == [8.0, 7.0]
    history.append(Changed(SETTINGS, ("limits",)))
    assert comparable_volumes(history) == []
