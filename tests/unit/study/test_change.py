"""Tests of studies that are changed while they run."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from flexibo import Study
from flexibo.errors import FlexiBOError, InvalidValueError, SettingsDifferError
from flexibo.history.event_dicts import UnknownEventError, event_to_dict
from flexibo.history.events import Changed, Dequeued, Evaluation, Event, Released
from flexibo.objectives import Objective
from flexibo.optimizer import StopKind
from flexibo.space import Categorical, Design, Real, Space
from flexibo.space.changes import present_space
from flexibo.storage import MemoryStorage
from flexibo.surrogates import GaussianProcess

OPTIONS: Mapping[str, Any] = {"x": (0.0, 1.0), "k": ["p", "q"]}
FUNCTIONS = {
    "a": lambda design: (design["x"] + (design["k"] == "q"), 1.0),
    "b": lambda design: ((1 - design["x"]) ** 2 + (design.get("z") or 0), 1.0),
    "c": lambda design: (abs(design["x"] - 0.3), 1.0),
}


def begun(storage: Any = None, *, budget: float = 16, candidates: int = 60, **given: Any) -> Study:
    given = {"budget": budget, "seed": 0, "n_initial": 4, "candidates": candidates, **given}
    study = Study(OPTIONS, ["a", "b"], storage=storage, **given)
    study.run({name: FUNCTIONS[name] for name in ("a", "b")})
    return study


def asked(study: Study) -> Evaluation:
    evaluation = study.ask()
    assert evaluation is not None, study.stopped
    return evaluation


def test_a_narrower_range_keeps_what_is_outside_as_knowledge_only() -> None:
    study = begun()
    data = study.history.count(0)
    changes = study.change(options={"x": (0.0, 0.4)}, budget=40)
    assert changes
    assert changes.outside > 0
    assert study.history.count(0) == data
    assert all(row.design["x"] <= 0.4 for row in study.front())
    study.run({name: FUNCTIONS[name] for name in ("a", "b")})
    new = [one for one in study.history.asked if one.number >= 16]
    assert new
    assert all(one.design["x"] <= 0.4 for one in new)
    assert study.spent == 40
    assert all(row.design["x"] <= 0.4 for row in study.promising())


def test_a_space_that_has_none_of_the_known_designs_has_an_empty_front_and_is_explored() -> None:
    study = begun()
    changes = study.change(options={"k": ["r"]}, budget=24)
    assert changes.outside == changes.seen > 0
    assert (len(study.front()), len(study.promising()), study.summary().front) == (0, 0, 0)
    study.hand_over()
    study.run({name: FUNCTIONS[name] for name in ("a", "b")})
    assert study.spent == 24
    assert {row.design["k"] for row in study.front()} == {"r"}


def test_new_values_a_wider_range_and_a_new_option_are_explored() -> None:
    study = begun()
    wider = {"x": (-1.0, 1.0), "k": ["p", "r"], "z": [0, 1]}
    study.change(options=wider, defaults={"z": 0}, reference={"a": 2.0, "b": 4.0}, budget=40)
    assert study.reference == {"a": 2.0, "b": 4.0}
    assert study.space.options["k"] == Categorical(["p", "r"], known=["p", "r", "q"])
    assert all(design["z"] == 0 for design in study.history.known_designs)
    study.run({name: FUNCTIONS[name] for name in ("a", "b")})
    new = [one.design for one in study.history.asked if one.number >= 16]
    assert any(design["x"] < 0 for design in new)
    assert any(design["k"] == "r" for design in new)
    assert not any(design["k"] == "q" for design in new)


def test_a_limit_decides_what_is_reported_and_an_optimised_objective_stays_so() -> None:
    study = begun()
    study.change(limits={"a": 0.5})
    assert study.objectives[0].optimise
    assert study.objectives[0].at_most == 0.5
    assert all(row.values["a"] <= 0.5 for row in study.front())
    study.change(limits={"a": None})
    assert study.objectives[0] == Objective("a")
    assert any(row.values["a"] > 0.5 for row in study.front())


def test_a_new_objective_is_measured_of_the_designs_that_are_known() -> None:
    study = begun(budget=16)
    reference = study.reference
    study.change(objectives=[Objective("c")], budget=30)
    assert reference
    assert study.reference is None
    assert len(study.front()) == 0
    evaluation = asked(study)
    assert evaluation.objective == "c"
    assert evaluation.design in study.history.designs[:]
    study.release(evaluation)
    study.run(FUNCTIONS)
    assert len(study.front()) > 0
    assert study.history.count(2) > 0
    assert set(study.reference or {}) == {"a", "b", "c"}


def test_method_models_costs_and_numbers_can_change() -> None:
    study = begun()
    changes = study.change(method="parego", surrogate="rf", cost="ratio", candidates=50, delta=0.1)
    assert [row.what for row in changes.rows] == ["method", "cost", "surrogate", "candidates", "delta"]
    assert (study.method.name, study.settings.candidates, study.predictor.m) == ("parego", 50, 50)
    study.change(surrogate=None, cost=None, budget=20)
    assert study.settings.surrogate == ""
    assert study.settings.cost == ""
    study.run({name: FUNCTIONS[name] for name in ("a", "b")})
    assert study.spent == 20


def test_retries_and_timeouts_are_changed_by_giving_the_objective_again() -> None:
    study = begun()
    study.change(objectives=[Objective("a", retries=5, timeout=3.0)])
    assert (study.objectives[0].retries, study.objectives[0].timeout) == (5, 3.0)
    failing = Study(OPTIONS, [Objective("a", retries=0), "b"], seed=0, n_initial=2)
    evaluation = asked(failing)
    failing.fail(evaluation, "broken")
    assert failing.history.is_hopeless(0, evaluation.design)
    failing.change(objectives=[Objective("a", retries=3)])
    assert not failing.history.is_hopeless(0, evaluation.design)


def test_a_change_that_changes_nothing_stores_nothing() -> None:
    study = begun()
    events = len(study.events)
    for nothing in (
        {},
        {"options": OPTIONS},
        {"space": Space(OPTIONS)},
        {"objectives": ["a", Objective("b")]},
        {"limits": {"a": None}},
        {"method": "flexibo", "budget": 16, "candidates": 60, "delta": 0.05},
    ):
        assert not study.change(**nothing)  # type: ignore[arg-type]
    assert study.change(options={"x": (0.0, 0.5)}, dry_run=True)
    assert len(study.events) == events


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"objectives": [Objective("a", "max")]}, "direction"),
        ({"objectives": [Objective("a", options=["x"])]}, "options"),
        ({"objectives": [Objective("a", measured_with="b")]}, "measured_with"),
        ({"objectives": [Objective("a", upper=0.1)]}, "0.1"),
        ({"objectives": [Objective("u", unit="s")]}, "unit"),
        ({"objectives": [Objective("u", unit="ms", noisy=False)]}, "noisy"),
        ({"objectives": [Objective("a"), Objective("a")]}, "'a'"),
        ({"objectives": [3]}, "3"),
        ({"options": {"x": [0.1, 0.2]}}, "'x'"),
        ({"options": {"z": [1, 2]}}, "'z'"),
        ({"options": {"x": (0.6, 0.2)}}, "'x'"),
        ({"space": Space({"x": (0.0, 1.0)})}, "'k'"),
        ({"limits": {"zz": 1}}, "zz"),
        ({"limits": {"a": math.nan}}, "nan"),
        ({"limits": {"u": None}}, "'u'"),
        ({"method": "nope"}, "nope"),
        ({"surrogate": "nope"}, "nope"),
        ({"surrogate": 3}, "surrogate"),
        ({"cost": 3}, "cost"),
        ({"cost": lambda: 1.0}, "cost"),
        ({"candidates": 0}, "candidates"),
        ({"budget": -1}, "budget"),
        ({"options": {"x": (0.5, 0.5), "k": ["p"]}, "valid": lambda design: False}, "legal"),
        ({"reference": {"a": 1.0}}, "b"),
    ],
)
def test_what_would_make_readings_wrong_is_refused_and_changes_nothing(given: dict[str, Any], named: str) -> None:
    study = Study(OPTIONS, ["a", "b", Objective("u", unit="ms", noisy=True, at_most=9)], seed=0, n_initial=2)
    for _ in range(6):
        evaluation = asked(study)
        study.tell(evaluation, 0.5, cost=1.0)
    events, settings = len(study.events), study.history.settings
    with pytest.raises(FlexiBOError, match=named):
        study.change(**given)
    assert len(study.events) == events
    assert study.history.settings is settings
    assert study.ask() is not None


def test_a_unit_may_be_named_that_was_not() -> None:
    study = begun()
    study.change(objectives=[Objective("a", unit="ms", noisy=True)])
    assert study.objectives[0].unit == "ms"


def test_questions_that_were_asked_before_are_answered_after(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/s.db"
    study = Study(OPTIONS, ["a", "b"], budget=20, seed=0, n_initial=4, storage=url)
    outside = next(one for one in iter(lambda: asked(study), None) if one.design["x"] > 0.5)
    other = Study.load(url)
    other.change(options={"x": (0.0, 0.5), "z": (0, 3)}, defaults={"z": 0})
    study.tell(outside, 0.7, cost=1.0)
    study.tell(outside, 0.7, cost=1.0)  # again: it is stored once
    assert study.history.count(study.history.names.index(outside.objective)) == 1
    assert study.spent == 1.0
    other.refresh()
    assert event_log(other) == event_log(study)
    assert dict(other.history.asked[outside.number].design) == {**outside.design, "z": 0}
    assert outside.design not in list(other.history.designs)


def event_log(study: Study) -> list[dict[str, Any]]:
    return [event_to_dict(event) for event in study.events]


def test_what_a_lost_worker_held_outside_the_space_is_not_asked_again() -> None:
    study = Study(OPTIONS, [Objective("a", cost=1), Objective("b", cost=1)], budget=40, seed=0, n_initial=4)
    held = [asked(study) for _ in range(4)]
    study.change(options={"x": (0.0, 0.4)})
    for evaluation in held:
        study.release(evaluation)
    assert any(one.design["x"] > 0.4 for one in held)
    assert all(asked(study).design["x"] <= 0.4 for _ in range(5))


def test_queued_designs_outside_are_withdrawn_and_the_others_asked() -> None:
    study = begun()
    inside = study.enqueue({"x": 0.31, "k": "p"}, budget=4)
    gone = study.enqueue({"x": 0.91, "k": "p"}, budget=4)
    changes = study.change(options={"x": (0.0, 0.4), "z": [0, 1]}, defaults={"z": 1})
    assert "queue" in [row.what for row in changes.rows]
    assert [queued.number for queued in study.queue] == [inside.number]
    assert [event.number for event in study.events if isinstance(event, Dequeued)] == [gone.number]
    evaluation = asked(study)
    assert dict(evaluation.design) == {"x": 0.31, "k": "p", "z": 1}
    assert evaluation.queued == inside.number


def test_a_stored_study_is_the_same_when_it_is_opened_again(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/s.db"
    study = begun(url)
    study.change(options={"x": (0.2, 0.9), "z": [0, 1]}, defaults={"z": 0}, limits={"a": 1.5}, budget=24)
    study.run({name: FUNCTIONS[name] for name in ("a", "b")})
    for again in (Study.load(url), pickle.loads(pickle.dumps(study))):
        assert event_log(again) == event_log(study)
        assert [dict(row.design) for row in again.front()] == [dict(row.design) for row in study.front()]
        assert again.space == study.space
        assert again.settings == study.settings
        assert again.spent == study.spent
        assert again.history.changes == 1
    study.budget = again.budget = 30
    assert asked(Study.load(url)).design == asked(again).design


def test_a_program_opens_a_changed_study_with_its_new_settings_and_not_with_the_old_ones(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/s.db"
    begun(url).change(options={"x": (0.2, 0.9)}, objectives=[Objective("a", at_most=1.5, optimise=True)])
    again = Study({**OPTIONS, "x": (0.2, 0.9)}, [Objective("a", at_most=1.5, optimise=True), "b"], storage=url)
    assert again.history.count(0) > 0
    with pytest.raises(SettingsDifferError, match="x"):
        Study(OPTIONS, [Objective("a", at_most=1.5, optimise=True), "b"], storage=url)
    with pytest.raises(SettingsDifferError, match="'a'"):
        Study({**OPTIONS, "x": (0.2, 0.9)}, ["a", "b"], storage=url)


def test_two_workers_that_change_at_once_both_have_their_way() -> None:
    storage = MemoryStorage()
    first = Study(OPTIONS, ["a", "b"], budget=20, seed=0, storage=storage)
    second = Study(OPTIONS, ["a", "b"], budget=20, seed=0, storage=storage)
    first.change(options={"x": (0.0, 0.5)})
    changes = second.change(options={"k": ["q"]}, limits={"b": 1})
    assert [row.what for row in changes.rows] == ["k", "at_most of b"]
    first.refresh()
    for study in (first, second):
        assert present_space(study.space).options == {"x": Real(0.0, 0.5), "k": Categorical(["q"])}
        assert study.objectives[1].at_most == 1
        assert study.history.changes == 2
    assert first.history.settings == second.history.settings


def test_what_is_added_or_queued_is_checked_with_what_others_changed_meanwhile() -> None:
    storage = MemoryStorage()
    boss = Study(OPTIONS, ["a", "b"], budget=20, seed=0, storage=storage)
    other, third = Study.load(storage), Study.load(storage)
    boss.change(options={"x": (0.0, 0.5)}, objectives=["c"])
    other.add({"x": 0.25, "k": "p"}, {"c": 1.0})
    assert third.enqueue({"x": 0.5, "k": "p"}, ["c"]).objectives == ("c",)
    boss.change(options={"x": (0.0, 0.25), "z": [0, 1]}, defaults={"z": 0})
    events = len(boss.events)
    refused: list[Callable[[], object]] = [
        lambda: other.add({"x": 0.5, "k": "p"}, {"a": 1.0}),
        lambda: third.enqueue({"x": 0.1, "k": "p"}),
    ]
    for call, option in zip(refused, ("x", "z"), strict=True):
        with pytest.raises(InvalidValueError, match=rf"^Option '{option}'"):
            call()
    boss.refresh()
    assert len(boss.events) == events


def test_rows_of_another_process_that_changes_the_study_are_not_confirmed(monkeypatch: pytest.MonkeyPatch) -> None:
    storage = MemoryStorage()
    study, boss = begun(storage, budget=8), Study.load(storage)
    for x in (0.02, 0.22, 0.42, 0.62, 0.82):
        study.add({"x": x, "k": "p"}, {"a": x})
    assert max(row.design["x"] for row in study.promising()) > 0.4
    changes = [lambda: boss.change(options={"x": (0.0, 0.4)}, budget=40)]
    written = storage.commit

    def crossed(*given: Any) -> None:
        if changes:
            changes.pop()()
        written(*given)

    monkeypatch.setattr(storage, "commit", crossed)
    queued = study.confirm(budget=40)
    assert queued
    assert all(one.design in study.space for one in queued)
    assert not changes


def test_a_change_that_was_shown_is_not_made_if_another_came_first() -> None:
    from flexibo.study.changes import ChangeRequest

    storage = MemoryStorage()
    first, second = (Study(OPTIONS, ["a", "b"], seed=0, storage=storage) for _ in range(2))
    wish = ChangeRequest(options={"x": (0.0, 0.5)})
    shown = first.grant(wish, dry_run=True)
    second.change(options={"x": (0.0, 0.7)})
    with pytest.raises(InvalidValueError):
        first.grant(wish, expected=shown)
    assert present_space(first.space).options["x"] == Real(0.0, 0.7)


def test_a_worker_whose_study_is_changed_goes_on_with_the_new_one() -> None:
    storage = MemoryStorage()
    worker = Study(OPTIONS, ["a", "b"], budget=30, seed=0, storage=storage, n_initial=4)
    boss = Study.load(storage)
    calls: list[Design] = []

    def measured(design: Design) -> tuple[float, float]:
        calls.append(design)
        if len(calls) == 6:
            boss.change(options={"x": (0.0, 0.3)}, method="random")
        if len(calls) == 12:
            boss.change(objectives=[Objective("c")])
        return FUNCTIONS["a"](design)

    worker.run({"a": measured, "b": FUNCTIONS["b"]}, idle=0)
    later = [one for one in worker.history.asked if one.number > 14]
    assert later
    assert all(one.design["x"] <= 0.3 for one in later)
    unknown = [one.number for one in later if one.objective == "c"]
    assert len(unknown) <= 1
    released = [event for event in worker.events if isinstance(event, Released)]
    assert [event.number for event in released] == unknown
    assert all("'c'" in event.reason for event in released)
    assert worker.method.name == "random"
    assert not worker.pending
    worker.run(FUNCTIONS)
    assert worker.spent == 30
    assert worker.history.count(2) > 0


def test_a_worker_that_does_not_know_a_new_option_or_rule_stops_after_its_answer() -> None:
    for given in ({"options": {"z": [0, 1]}, "defaults": {"z": 0}}, {"valid": lambda design: design["x"] > 0.1}):
        storage = MemoryStorage()
        worker = Study(OPTIONS, ["a", "b"], budget=30, seed=0, storage=storage, n_initial=4)
        boss = Study.load(storage)
        evaluation = asked(worker)
        boss.change(**given)  # type: ignore[arg-type]
        worker.tell(evaluation, 0.5, cost=1.0)
        assert worker.ask() is None
        assert worker.stop_kind is StopKind.CHANGED
        worker.run({name: FUNCTIONS[name] for name in ("a", "b")})
        assert worker.spent == 1.0
        assert asked(boss)


def test_a_rule_and_objects_of_ones_own_are_used_from_the_change_on() -> None:
    study = begun()
    surrogate = GaussianProcess()
    study.change(valid=lambda design: design["x"] < 0.5, surrogate=surrogate, cost=lambda design, name: 1.0, budget=24)
    assert study.predictor.surrogate.settings == surrogate
    assert study.history.rules == 1
    study.run({name: FUNCTIONS[name] for name in ("a", "b")})
    assert all(one.design["x"] < 0.5 for one in study.history.asked if one.number >= 16)
    study.change(valid=None, surrogate=None, cost=None)
    assert study.space.valid is None
    assert len(study.history.designs) == len(study.history.known_designs)


@pytest.mark.parametrize("method", ["pal", "epsilon-pal", "nsga2", "sobol", "parego", "mesmo", "random-coupled"])
def test_every_kind_of_method_goes_on_after_a_change(method: str) -> None:
    study = begun(method=method)
    study.change(options={"x": (0.1, 0.6), "k": ["q", "r"]}, objectives=[Objective("c")], budget=34)
    study.run(FUNCTIONS)
    new = [one.design for one in study.history.asked if one.number >= 16]
    assert new
    assert all(0.1 <= design["x"] <= 0.6 and design["k"] in "qr" for design in new)


def test_an_older_version_refuses_a_changed_study_with_a_clear_message(monkeypatch: pytest.MonkeyPatch) -> None:
    storage = MemoryStorage()
    begun(storage).change(limits={"a": 1})
    from flexibo.history import event_dicts

    monkeypatch.setattr(event_dicts, "EVENTS", {k: v for k, v in event_dicts.EVENTS.items() if k != "changed"})
    monkeypatch.setattr("flexibo.study.event_log.CHANGED", "")
    with pytest.raises(UnknownEventError, match="newer"):
        Study.load(storage)


def test_a_change_notifies_callbacks_once_and_is_listed() -> None:
    seen: list[Event] = []
    study = Study(OPTIONS, ["a", "b"], seed=0, callbacks=lambda study, event: seen.append(event))
    study.change(limits={"a": 1.0})
    (event,) = [event for event in seen if isinstance(event, Changed)]
    assert event.changes == ("at_most of a: none -> 1",)
