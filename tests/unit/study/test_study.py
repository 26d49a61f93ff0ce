from __future__ import annotations

import csv
import itertools
import logging
import math
import pickle
import signal
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from flexibo import Design, Objective, Space, Study
from flexibo.errors import InvalidTypeError, InvalidValueError, UnknownNameError
from flexibo.history.event_dicts import event_to_dict
from flexibo.history.events import Asked, BudgetSet, Created, Failed, ReferenceFixed, Told
from flexibo.optimizer import StopKind
from flexibo.results.handover import HandOver, hand_over
from flexibo.storage import MemoryStorage

Functions = Mapping[str, Callable[[Design], Any]]
Make = Callable[..., Study]


def answer(study: Study, functions: Functions, count: int) -> list[tuple[str, Design]]:
    """Ask and tell this many times; the questions."""
    asked = []
    for _ in range(count):
        evaluation = study.ask()
        if evaluation is None:
            break
        value, cost = functions[evaluation.objective](evaluation.design)
        study.tell(evaluation, value, cost=cost)
        asked.append((evaluation.objective, evaluation.design))
    return asked


def test_the_front_of_a_small_problem_is_found_within_the_budget(make_study: Make, functions: Functions) -> None:
    study = make_study(budget=100)
    study.run(functions)
    assert study.spent <= 100
    front = study.front()
    assert len(front) >= 3
    best = min(row.values["error"] for row in front)
    assert best == pytest.approx(4 / 128)
    summary = study.summary()
    assert summary.evaluations["joules"] > summary.evaluations["error"]
    assert summary.stop_kind in (StopKind.BUDGET, StopKind.NO_REGION)


def test_what_is_handed_over_is_computed_once_for_each_event(
    make_study: Make, functions: Functions, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, computed = make_study(method="random", n_initial=2), []

    def counted(*arguments: Any, include: str) -> HandOver:
        computed.append(include)
        return hand_over(*arguments, include=include)

    monkeypatch.setattr("flexibo.study.study.hand_over", counted)
    answer(study, functions, 6)
    assert study.front() is study.hand_over().front
    assert study.promising(include="possible") is study.hand_over(include="possible").promising
    assert computed == ["probable", "possible"]
    before = study.front()
    answer(study, functions, 6)
    assert study.front() != before
    assert study.front() == Study.load(copied(study)).front()


def copied(study: Study) -> MemoryStorage:
    storage = MemoryStorage()
    storage.commit(0, lambda _: [event_to_dict(event) for event in study.events])
    return storage


def test_asking_twice_without_telling_gives_two_different_evaluations(make_study: Make, functions: Functions) -> None:
    study = make_study()
    answer(study, functions, 9)
    first, second = study.ask(), study.ask()
    assert first is not None
    assert second is not None
    assert (first.design, first.objective) != (second.design, second.objective)
    assert study.pending == (first, second)


def test_an_evaluation_says_what_it_is_expected_to_gain_and_cost(make_study: Make, functions: Functions) -> None:
    study = make_study()
    answer(study, functions, 10)
    evaluation = study.ask()
    assert evaluation is not None
    assert evaluation.gain is not None
    assert evaluation.gain > 0
    assert evaluation.cost == pytest.approx({"error": 10.0, "joules": 1.0}[evaluation.objective])
    assert "Pareto region" in evaluation.why


def test_an_evaluation_names_its_runner_up(make_study: Make, functions: Functions) -> None:
    study = make_study()
    first = study.ask()
    assert first is not None
    assert first.runner_up is None, "initial designs are not scored"
    study.release(first)
    answer(study, functions, 10)
    evaluation = study.ask()
    assert evaluation is not None
    rival = evaluation.runner_up
    assert rival is not None
    assert evaluation.gain is not None
    assert (rival.design, rival.objective) != (evaluation.design, evaluation.objective)
    assert rival.gain > 0
    assert rival.cost == pytest.approx({"error": 10.0, "joules": 1.0}[rival.objective])
    if rival.objective == evaluation.objective:
        assert rival.gain <= evaluation.gain


def test_the_same_seed_and_answers_give_the_same_questions(make_study: Make, functions: Functions) -> None:
    assert answer(make_study(), functions, 11) == answer(make_study(), functions, 11)


def test_another_seed_gives_other_questions(make_study: Make, functions: Functions) -> None:
    assert answer(make_study(seed=1), functions, 5) != answer(make_study(seed=2), functions, 5)


@pytest.mark.parametrize(
    "method", ["flexibo", pytest.param("flexibo-rf-log", marks=pytest.mark.slow), "random", "random-coupled"]
)
def test_a_study_rebuilt_from_its_storage_asks_the_same_next_questions(
    make_study: Make, functions: Functions, tmp_path: Path, method: str
) -> None:
    url = f"sqlite:///{tmp_path / 'study.db'}"
    first, later = (10, 2) if method != "flexibo-rf-log" else (8, 1)  # forests are slow
    live = make_study(storage=url, method=method)
    answer(live, functions, first)
    again = make_study(storage=url, method=method, seed=None)
    following = answer(again, functions, later)
    uninterrupted = make_study(method=method)
    assert answer(uninterrupted, functions, first + later)[first:] == following
    assert again.events[: len(live.events)] == live.events


def test_initial_designs_are_the_same_for_every_method(make_study: Make, functions: Functions) -> None:
    designs = [
        {design for _, design in answer(make_study(method=method, n_initial=10, budget=150), functions, 20)}
        for method in ("flexibo", "random", "random-coupled")
    ]
    first = make_study(n_initial=10, budget=150).settings.initial_designs
    assert set(first) >= designs[0] & designs[1] & designs[2]
    assert len(designs[0] & designs[1] & designs[2]) >= 5


def test_given_initial_designs_are_asked_first(make_study: Make) -> None:
    design = {"filters": 64, "kernel": "3x3", "cpu_ghz": 1.0, "cores": 2}
    evaluation = make_study(initial_designs=[design]).ask()
    assert evaluation is not None
    assert dict(evaluation.design) == design


def test_no_equivalent_evaluation_is_paid_twice(make_study: Make, functions: Functions) -> None:
    study = make_study(method="random", budget=2000, stop={"max_evaluations": 120})
    questions = answer(study, functions, 120)
    errors = [(d["filters"], d["kernel"]) for objective, d in questions if objective == "error"]
    assert len(errors) == len(set(errors)) <= 12
    joules = [d for objective, d in questions if objective == "joules"]
    assert len(joules) == len(set(joules))


def test_a_coupled_method_hands_out_its_bundle_one_after_the_other(make_study: Make, functions: Functions) -> None:
    questions = answer(make_study(method="random-coupled", n_initial=2, budget=150), functions, 40)
    by_design: dict[Design, set[str]] = {}
    for objective, design in questions:
        by_design.setdefault(design, set()).add(objective)
    fresh = [objectives for objectives in by_design.values() if "joules" in objectives]
    assert len(fresh) == len(by_design)
    for first, second in itertools.pairwise(questions):
        if first[0] == "error":
            assert second == ("joules", first[1])


def test_a_coupled_method_asks_only_if_the_budget_pays_for_the_whole_bundle(space: Space) -> None:
    study = Study(space, ["a", "b"], method="random-coupled", budget=25, n_initial=2, seed=0)
    questions = answer(study, {"a": lambda d: (0.5, 10.0), "b": lambda d: (0.5, 1.0)}, 100)
    assert len(questions) == 4
    assert study.spent == 22
    assert study.stop_kind is StopKind.BUDGET


def test_nothing_is_asked_that_the_budget_is_not_expected_to_pay(make_study: Make, functions: Functions) -> None:
    study = make_study(budget=60.5, method="random")
    study.run(functions)
    assert study.spent <= 60.5
    assert study.ask() is None


def test_a_raised_budget_lets_the_study_go_on(make_study: Make, functions: Functions) -> None:
    study = make_study(budget=60, method="random")
    study.run(functions)
    assert study.ask() is None
    study.budget = 70
    assert study.ask() is not None
    assert study.stopped == ""


def test_known_results_are_brought_in_and_not_asked_again(make_study: Make, functions: Functions) -> None:
    study = make_study(n_initial=3)
    designs = list(study.space.sample(3, __import__("numpy").random.default_rng(9)))
    for design in designs:
        values = {name: function(design)[0] for name, function in functions.items()}
        study.add(design, values, cost={"error": 10.0, "joules": 1.0})
    assert study.spent == 0
    evaluation = study.ask()
    assert evaluation is not None
    assert evaluation.gain is not None, "the initial designs are known, so the method chooses at once"
    assert evaluation.cost in (10.0, 1.0)


def test_a_partly_known_design_is_completed_not_repeated(make_study: Make) -> None:
    design = {"filters": 64, "kernel": "3x3", "cpu_ghz": 1.0, "cores": 2}
    study = make_study(initial_designs=[design])
    study.add(design, {"error": 0.2}, cost=7.0)
    evaluation = study.ask()
    assert evaluation is not None
    assert evaluation.objective == "joules"


def test_objectives_measured_together_are_bought_once(space: Space) -> None:
    study = Study(
        space,
        ["joules", Objective("ms", measured_with="joules"), "error"],
        budget=40,
        seed=0,
        n_initial=4,
        method="random",
    )
    calls = []

    def measure(design: Design) -> tuple[dict[str, float], float]:
        calls.append(design)
        return {"joules": float(design["filters"]), "ms": 300.0 / float(design["cpu_ghz"])}, 1.0  # type: ignore[arg-type]

    study.run({"joules": measure, "error": lambda d: (1.0 / float(d["filters"]), 3.0)})  # type: ignore[arg-type]
    assert len(calls) == study.summary().evaluations["joules"]
    assert all(row.measured["ms"] == row.measured["joules"] for row in study.front())


def test_the_median_of_repeats_is_told(space: Space) -> None:
    readings = iter([5.0, 1.0, 3.0] * 100)
    noisy = Objective("joules", noisy=True, repeats=3)
    study = Study(space, [noisy, "error"], budget=20, n_initial=2, seed=0)
    study.run({"joules": lambda d: (next(readings), 0.5), "error": lambda d: (0.1, 1.0)})
    told = [row for row in study.trace() if row.objective == "joules"]
    assert {row.value for row in told} == {3.0}
    assert told[0].cost == 1.5


def test_the_cost_of_a_function_is_its_wall_clock_time(space: Space) -> None:
    study = Study(space, ["a", "b"], n_initial=2, seed=0, stop={"max_evaluations": 4})
    study.run({"a": lambda d: time.sleep(0.02) or 1.0, "b": lambda d: 2.0})
    costs = {row.objective: row.cost for row in study.trace()}
    assert costs["a"] >= 0.02 > costs["b"]


def test_a_maximised_objective_is_maximised(space: Space) -> None:
    study = Study(space, [Objective("speed", "max"), "joules"], budget=24, n_initial=5, candidates=60, seed=0)
    study.run(
        {
            "speed": lambda d: (float(d["cpu_ghz"]) * float(d["cores"]), 1.0),  # type: ignore[arg-type]
            "joules": lambda d: (float(d["cpu_ghz"]) ** 2, 1.0),  # type: ignore[arg-type]
        }
    )
    assert max(row.values["speed"] for row in study.front()) > 10
    assert study.reference is not None
    assert study.reference["speed"] < 3


def test_a_given_reference_is_kept(make_study: Make, functions: Functions) -> None:
    study = make_study(reference={"error": 1.0, "joules": 2000.0})
    answer(study, functions, 10)
    assert study.reference == {"error": 1.0, "joules": 2000.0}
    assert sum(isinstance(event, ReferenceFixed) for event in study.events) == 1


def test_the_reference_is_fixed_after_the_initial_designs(make_study: Make, functions: Functions) -> None:
    study = make_study(n_initial=3)
    answer(study, functions, 8)
    first = study.reference
    assert first is not None
    answer(study, functions, 4)
    assert study.reference == first


def test_the_trace_has_cost_hypervolume_and_region(make_study: Make, functions: Functions, tmp_path: Path) -> None:
    study = make_study()
    study.run(functions)
    trace = study.trace()
    assert trace[-1].cumulative_cost == pytest.approx(study.spent)
    volumes = [row.hypervolume for row in trace]
    assert volumes == sorted(volumes)
    assert volumes[-1] > 0
    assert trace[-1].region_volume is not None
    trace.to_csv(tmp_path / "trace.csv")
    with open(tmp_path / "trace.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(trace)
    assert float(rows[-1]["cumulative_cost"]) == pytest.approx(study.spent)
    assert rows[0]["option:kernel"] in ("1x1", "3x3", "5x5")
    frame = trace.to_pandas()
    assert list(frame["objective"]) == [row.objective for row in trace]


def test_callbacks_see_every_event_and_cannot_break_the_study(
    make_study: Make, functions: Functions, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[type] = []

    def watch(study: Study, event: object) -> None:
        seen.append(type(event))
        if isinstance(event, Failed):
            raise RuntimeError("a broken callback")

    study = make_study(callbacks=watch)
    answer(study, functions, 9)
    evaluation = study.ask()
    assert evaluation is not None
    with caplog.at_level(logging.ERROR):
        study.fail(evaluation, "out of memory")
    assert seen[:2] == [Created, BudgetSet]
    assert {Asked, Told, Failed, ReferenceFixed} <= set(seen)
    assert len(seen) == len(study.events)
    assert "a broken callback" in caplog.text


def test_a_study_stops_when_no_region_is_left() -> None:
    study = Study(Space({"x": [1, 2, 3, 4]}), ["a", "b"], n_initial=2, seed=0)
    study.run({"a": lambda d: (d["x"], 1.0), "b": lambda d: (-d["x"], 1.0)})  # type: ignore[operator]
    assert "left" in study.stopped or "measured" in study.stopped
    assert len(study.trace()) <= 8


def test_a_function_that_raises_the_same_error_again_is_not_tried_a_third_time(
    make_study: Make, functions: Functions
) -> None:
    attempts: dict[Design, int] = {}

    def fragile(design: Design) -> tuple[float, float]:
        if design["filters"] == 128:
            attempts[design] = attempts.get(design, 0) + 1
            raise MemoryError("out of memory")
        return functions["joules"](design)  # type: ignore[no-any-return]

    study = make_study(stop={"max_evaluations": 40}, budget=2000, method="random")
    study.run({**functions, "joules": fragile})
    failed = [row for row in study.trace() if row.value is None]
    assert failed
    assert failed[0].reason.startswith("MemoryError: out of memory (test_study.py, line ")
    assert max(attempts.values()) == 2
    assert study.summary().failures["joules"] == len(failed)
    assert any(row.value is not None and row.number > failed[0].number for row in study.trace())


def test_an_objective_that_always_fails_stops_the_study_and_says_so(make_study: Make, functions: Functions) -> None:
    study = make_study()
    study.run({**functions, "joules": lambda design: 1 / 0}, raise_first=False)
    assert study.stop_kind is StopKind.FAILING
    assert all(fact in study.stopped for fact in ("'joules'", " 6 ", "division by zero"))
    assert study.front() == ()


@pytest.mark.parametrize("value", [math.nan, "fast", None, (1.0, 2.0, 3.0), {"other": 1.0}, (1.0, -1.0)])
def test_a_function_that_returns_no_number_fails_its_evaluation(
    make_study: Make, functions: Functions, value: object
) -> None:
    study = make_study(stop={"max_evaluations": 1})
    study.run({**functions, "error": lambda design: value}, raise_first=False)
    (row,) = study.trace()
    assert row.objective == "error"
    assert row.value is None
    assert "'error'" in row.reason
    assert row.cost >= 0


def test_a_function_that_takes_longer_than_its_timeout_fails(space: Space) -> None:
    study = Study(space, [Objective("a", timeout=0.05), "b"], n_initial=1, seed=0, stop={"max_evaluations": 1})
    begin = time.perf_counter()
    study.run({"a": lambda d: time.sleep(5), "b": lambda d: 1.0})
    assert time.perf_counter() - begin < 4.5
    (row,) = study.trace()
    assert "timeout of 0.05 s" in row.reason
    assert signal.getsignal(signal.SIGALRM) == signal.SIG_DFL


def test_a_timeout_also_counts_where_it_cannot_interrupt(space: Space) -> None:
    study = Study(space, [Objective("a", timeout=0.01), "b"], n_initial=1, seed=0, stop={"max_evaluations": 1})
    functions = {"a": lambda d: time.sleep(0.03) or 1.0, "b": lambda d: 1.0}
    thread = threading.Thread(target=study.run, args=(functions,))
    thread.start()
    thread.join()
    (row,) = study.trace()
    assert "timeout" in row.reason


@pytest.mark.parametrize(
    ("settings", "error", "facts"),
    [
        ({"method": "flexbo"}, UnknownNameError, "'flexbo'.*'flexibo'"),
        ({"cost": "logg"}, UnknownNameError, "'logg'.*'log'"),
        ({"surrogate": "gpp"}, UnknownNameError, "'gpp'.*'gp'"),
        ({"storage": 3}, InvalidTypeError, r"storage.* int;.* sqlite:///study\.db"),
        ({"storage": "nonsense"}, InvalidValueError, r"Storage 'nonsense'.* sqlite:///study\.db"),
    ],
)
def test_a_mistake_in_a_study_is_an_error_that_names_it(
    make_study: Make, settings: dict[str, Any], error: type[Exception], facts: str
) -> None:
    with pytest.raises(error, match=facts):
        make_study(**settings)


def test_an_unknown_method_lists_the_known_ones(make_study: Make) -> None:
    with pytest.raises(UnknownNameError, match="random-coupled"):
        make_study(method="magic")


def test_a_budget_that_runs_out_during_the_initial_designs_says_so(make_study: Make, functions: Functions) -> None:
    study = make_study(budget=30)
    study.run(functions)
    assert study.stop_kind is StopKind.BUDGET
    assert all(fact in study.stopped for fact in (" 30 ", "initial designs", "n_initial"))
    assert study.spent <= 30
    assert study.needed_budget is not None
    assert f" {study.needed_budget:g} or more" in study.stopped
    study.budget = study.needed_budget
    study.run(functions)
    assert "initial designs" not in study.stopped
    assert study.needed_budget is None


def test_a_free_objective_is_allowed(space: Space) -> None:
    study = Study(space, ["a", "b"], budget=30, seed=0, n_initial=3, stop={"max_evaluations": 20}, candidates=60)
    functions = {"a": lambda d: (float(d["filters"]), 0.0), "b": lambda d: (-float(d["cpu_ghz"]), 1.0)}
    study.run(functions)
    assert study.summary().evaluations["a"] > 3


@pytest.mark.parametrize("cost", ["log", "ratio", "sqrt", "constant", "learned", "paper-log"])
def test_every_cost_function_runs(make_study: Make, functions: Functions, cost: str) -> None:
    study = make_study(cost=cost, budget=36, n_initial=3)
    study.run(functions)
    assert study.front()


def test_a_callable_gives_expected_costs(make_study: Make, functions: Functions) -> None:
    study = make_study(cost=lambda design, objective: 10.0 if objective == "error" else 1.0 + design["cores"] / 6)
    answer(study, functions, 10)
    evaluation = study.ask()
    assert evaluation is not None
    expected = 10.0 if evaluation.objective == "error" else 1.0 + float(evaluation.design["cores"]) / 6  # type: ignore[arg-type]
    assert evaluation.cost == pytest.approx(expected)


def test_a_remeasured_noisy_objective_may_be_asked_again(space: Space) -> None:
    pool = Space({"x": [1, 2, 3]})
    noisy = Objective("a", noisy=True, remeasure=True)
    study = Study(pool, [noisy, "b"], n_initial=3, seed=0, stop={"max_evaluations": 12})
    readings = iter([0.9, 1.1, 1.0, 1.05] * 10)
    study.run({"a": lambda d: (d["x"] * next(readings), 1.0), "b": lambda d: (-d["x"], 1.0)})  # type: ignore[operator]
    assert study.summary().evaluations["a"] > 3


def test_a_study_of_three_objectives_runs(space: Space) -> None:
    study = Study(space, ["a", "b", "c"], budget=30, seed=0, n_initial=5, candidates=60)
    study.run(
        {
            "a": lambda d: (float(d["cpu_ghz"]), 1.0),  # type: ignore[arg-type]
            "b": lambda d: (1.0 / float(d["cpu_ghz"]) + float(d["cores"]), 1.0),  # type: ignore[arg-type]
            "c": lambda d: (1.0 / float(d["filters"]), 1.0),  # type: ignore[arg-type]
        }
    )
    assert len(study.front()) + len(study.promising()) > 3
    assert study.spent == 30


def test_a_space_may_be_given_as_a_mapping() -> None:
    assert Study({"x": (0.0, 1.0)}, ["a", "b"]).space.names == ("x",)


def test_a_pool_of_recorded_designs_is_searched(functions: Functions) -> None:
    rows = [{"x": x, "mode": mode} for x in range(30) for mode in ("a", "b")]
    study = Study(Space.from_designs(rows), ["f", "g"], budget=60, seed=5, n_initial=5)
    study.run(
        {
            "f": lambda d: ((float(d["x"]) - 20) ** 2, 2.0),  # type: ignore[arg-type]
            "g": lambda d: (float(d["x"]) + 5 * (d["mode"] == "a"), 1.0),  # type: ignore[arg-type]
        }
    )
    front = study.front()
    assert min(row.values["f"] for row in front) == 0
    assert min(row.values["g"] for row in front) == 0
    assert len(front) >= 15, "of 21, at both ends"
    assert all({**row.design} in rows for row in front)


def test_what_is_reported_beyond_the_reference_is_confirmed_before_a_study_ends() -> None:
    # The reference cuts off both ends of the front, so nothing there is worth a question while a region is left.
    space = Space({"x": list(range(30))})
    study = Study(
        space, ["a", "b"], seed=0, n_initial=6, reference={"a": 18.0, "b": 18.0}, stop={"max_evaluations": 90}
    )
    study.run({"a": lambda d: (float(d["x"]), 1.0), "b": lambda d: (29.0 - d["x"], 1.0)})
    assert study.stop_kind is StopKind.NO_REGION
    assert any(max(row.values.values()) > 18.0 for row in study.front())
    assert all(all(row.measured.values()) for row in study.front())


def test_confirming_keeps_to_the_budget_and_to_what_is_wanted() -> None:
    space = Space({"x": list(range(30))})
    study = Study(space, ["a", "b"], seed=0, n_initial=6, reference={"a": 18.0, "b": 18.0}, budget=30)
    wanted: list[str] | None = None
    while evaluation := study.ask(only=wanted):
        assert wanted is None or evaluation.objective in wanted
        x = evaluation.design["x"]
        study.tell(evaluation, float(x) if evaluation.objective == "a" else 29.0 - x, cost=1.0)
        wanted = ["a"] if study.history.chosen else None
    assert study.spent <= 30


def test_a_pickled_study_is_its_storage_opened_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    study = Study({"x": (0.0, 1.0)}, ["a", "b"], budget="2m", seed=3, storage="sqlite:///sqlite", method="ehvi")
    study.add({"x": 0.5}, {"a": 1.0, "b": 2.0})
    pickled = pickle.dumps(study)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    again = pickle.loads(pickled)
    assert (again.name, again.budget, again.method.name, again.settings.seed) == ("study", 120.0, "ehvi", 3)
    assert again.history.measurements == study.history.measurements
    assert not list((tmp_path / "elsewhere").iterdir())


def test_a_study_in_memory_says_that_it_cannot_be_pickled() -> None:
    with pytest.raises(InvalidTypeError, match="storage"):
        pickle.dumps(Study({"x": (0.0, 1.0)}, ["a", "b"]))
