"""What failures teach: chances of success, and studies that stay away from what cannot be measured."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests import networks as network

from flexibo import Design, Objective, Space, Study
from flexibo.belief.failures import causes, chance_of_success, chances, possible, success_weights
from flexibo.pareto import non_dominated
from flexibo.views import slice_view


def network_study(**settings: Any) -> Study:
    return network.network_study({"batch": [1, 4, 16, 64]}, candidates=200, **settings)


def train(study: Study, most: int = 400) -> int:
    """Ask and answer; a network that is too large cannot be trained. Says how often that was tried."""
    failed = 0
    for _ in range(most):
        evaluation = study.ask()
        if evaluation is None:
            break
        failed += not network.answered(study, evaluation)
    return failed


@pytest.mark.parametrize("seed", [0, pytest.param(2, marks=pytest.mark.long)])
def test_a_study_keeps_away_from_what_cannot_be_measured(seed: int) -> None:
    # Without learning, these studies have 38 and 42 failures.
    study = network_study(seed=seed, budget=300)
    failed = train(study)
    assert study.spent > 290
    assert failed <= 20
    front = study.front()
    assert len(front) >= 5
    assert all(network.operations(row.design) <= network.MOST for row in front)


def test_nothing_changes_without_failures() -> None:
    study = network_study(seed=0)
    for _ in range(24):
        evaluation = study.ask()
        assert evaluation is not None
        study.tell(
            evaluation, {"energy": network.energy, "error": network.error}[evaluation.objective](evaluation.design)
        )
    designs = study.space.sample(50, np.random.default_rng(0))
    assert possible(study.history, designs).all()
    assert (success_weights(chance_of_success(study.history, designs)) == 1.0).all()


def test_chances_fall_towards_what_failed_and_are_sure_of_what_was_tried() -> None:
    study = network_study(seed=0, n_initial=10)
    train(study, 40)
    history = study.history
    small, large = (
        Design(
            {
                **{f"width_{i}": width for i in (1, 2, 3)},
                **{f"kernel_{i}": k for i in (1, 2, 3)},
                "batch": 4,
            }
        )
        for width, k in ((16, 1), (1024, 9))
    )
    likely, unlikely = chance_of_success(history, study.space.designs([small, large]))
    assert likely > 0.7
    assert unlikely < 0.4
    assert success_weights(chance_of_success(history, study.space.designs([large])))[0] < 1e-5
    tried = history.designs
    fits = np.array([network.operations(design) <= network.MOST for design in tried])
    asked = np.isin(tried.keys(network.NETWORK), np.union1d(history.hopeless(0), history.measured(0)))
    assert asked.sum() > 10
    assert (chance_of_success(history, tried)[asked] == fits[asked]).all()
    assert (possible(history, tried)[asked] == fits[asked]).all()


def test_designs_that_share_the_failed_part_are_impossible_too() -> None:
    study = network_study(seed=0)
    train(study, 20)
    failed = next(design for design in study.history.designs if study.history.is_hopeless(0, design))
    others = study.space.designs([Design({**failed, "batch": batch}) for batch in (1, 4, 16, 64)])
    assert not possible(study.history, others).any()


def test_a_value_counts_though_later_attempts_failed() -> None:
    noisy = Objective("a", noisy=True, remeasure=True)
    study = Study(Space({"x": [1, 2, 3]}), [noisy, "b"], n_initial=3, seed=0)
    known: set[Any] = set()
    for _ in range(40):
        evaluation = study.ask()
        if evaluation is None:
            break
        if evaluation.objective == "a" and evaluation.design in known:
            study.fail(evaluation, "broken since")
        else:
            study.tell(evaluation, float(evaluation.design["x"]) * (1 if evaluation.objective == "a" else -1))
            known |= {evaluation.design} if evaluation.objective == "a" else set()
    assert len(study.history.hopeless(0)) > 0
    assert possible(study.history, study.history.designs).all()
    assert len(study.front()) == 3


@pytest.mark.slow
def test_what_would_fail_rules_nothing_out() -> None:
    def size(design: Design) -> float:
        return float(design["width"] * design["depth"])

    def values(design: Design) -> tuple[float, float]:
        return 30 / size(design) ** 0.4, size(design) * (1 + 1 / design["batch"])

    space = Space({"width": [16, 32, 64, 128, 256, 512], "depth": (1, 4), "batch": [1, 4, 16, 64]})
    study = Study(space, [Objective("error", options=["width", "depth"]), "latency"], n_initial=8, seed=0, budget=300)
    fits = [design for design in space.enumerate() if size(design) * design["batch"] <= 8000]
    while (evaluation := study.ask()) is not None:
        if evaluation.objective == "error":
            study.tell(evaluation, values(evaluation.design)[0], cost=10)
        elif evaluation.design in fits:
            study.tell(evaluation, values(evaluation.design)[1], cost=2)
        else:
            study.fail(evaluation, "out of memory", cost=1, impossible=True)
    best = {fits[i] for i in np.flatnonzero(non_dominated(np.array([values(design) for design in fits])))}
    found = [row.standing for row in study.front() if row.design in best]
    assert len(found) >= 8
    assert "ruled out" not in found


def answered(study: Study, works: Callable[[str, int], bool]) -> Study:
    """Ask and answer until nothing is left; what does not work is impossible."""
    while (evaluation := study.ask()) is not None:
        x = evaluation.design["x"]
        if works(evaluation.objective, x):
            study.tell(evaluation, float(x) if evaluation.objective == "a" else -float(x))
        else:
            study.fail(evaluation, "no", impossible=True)
    return study


def test_one_design_is_reported_where_all_others_are_impossible() -> None:
    study = answered(Study(Space({"x": [0, 1, 2, 3]}), ["a", "b"], seed=0), lambda name, x: name == "b" or x == 2)
    assert [row.design["x"] for row in study.front()] == [2]
    assert [row.design["x"] for row in study.front(include="possible")] == [2]
    assert study.certificate().gap == 0


def test_the_front_is_empty_where_every_design_lacks_something_impossible() -> None:
    study = answered(Study(Space({"x": [0, 1, 2, 3]}), ["a", "b"], seed=0), lambda name, x: (name == "a") == (x < 2))
    assert all(study.history.count(j) for j in range(2))
    assert len(study.front()) == 0
    assert "No confirmed design" in str(study.front())
    assert study.summary().front == 0
    assert slice_view(study, "a", "x").at in study.history.designs


@pytest.fixture(scope="module")
def coupled() -> Study:
    study = network_study(seed=1, budget=300, method="ehvi")
    train(study)
    return study


def test_other_methods_learn_from_failures_too(coupled: Study) -> None:
    assert 0 < coupled.history.failed_attempts["error"] <= 15
    assert coupled.spent > 275


@pytest.mark.slow
def test_a_limit_that_seems_to_be_kept_only_beyond_the_border_does_not_lead_there() -> None:
    # The constraint that is most likely kept used to be asked about 30 times in a row, where nothing can be measured.
    space = Space({f"x{i}": list(range(40)) for i in range(3)})
    objectives = ["energy", "size", Objective("error", at_most=20, optimise=True)]
    study = Study(space, objectives, n_initial=8, seed=1, candidates=200)
    in_a_row = []
    for _ in range(60):
        evaluation = study.ask()
        if evaluation is None:
            break
        x = evaluation.design
        share = sum(x.values()) / 117
        if evaluation.objective == "error" and share > 0.8:
            study.fail(evaluation, "too large", cost=0.2, impossible=True)
        else:
            values = {"energy": 1 + 10 * share + np.sin(x["x0"]), "size": x["x0"] - x["x1"]}
            values["error"] = 80 - 85 * share + 0.1 * x["x1"]
            study.tell(evaluation, float(values[evaluation.objective]), cost=1)
        in_a_row.append(study.history.failed_in_a_row["error"])
    assert study.history.has_feasible()
    assert max(in_a_row) <= 8


@pytest.mark.slow
def test_a_study_that_knows_all_that_can_be_measured_does_not_count_as_failed() -> None:
    # Half of the designs are impossible, and promise more than all others.
    space = Space({"x": list(range(40))})
    study = answered(Study(space, ["a", "b"], seed=0, surrogate="gp-plain"), lambda name, x: name == "b" or x > 20)
    assert "failed in" not in study.stopped
    found = {row.design["x"] for row in study.front()}
    assert {21, 22, 23} <= found <= set(range(21, 40))
    assert all(all(row.measured.values()) for row in study.front())


def test_a_study_does_not_try_all_of_an_impossible_combination() -> None:
    # Once nothing else was left to learn, six of its eight designs used to be tried, for 40 % of the money.
    space = Space({"a": (0, 5), "b": ["x", "y", "z"], "c": (0, 3)})
    study = Study(space, ["error", "energy"], seed=0, budget=300, candidates=100, surrogate="gp-plain")
    failed = 0
    while (evaluation := study.ask()) is not None:
        a, b, c = (evaluation.design[name] for name in "abc")
        kind = "xyz".index(b)
        if evaluation.objective == "energy":
            study.tell(evaluation, (0.2 + a / 5 + 0.2 * c) * (1 - 0.1 * kind), cost=1)
        elif a == 2 and b != "x":
            study.fail(evaluation, "no such kernel", cost=20, impossible=True)
            failed += 1
        else:
            study.tell(evaluation, 0.5 * (1 - a / 5) ** 2 + 0.3 * (1 - c / 3) ** 2 + 0.05 * kind, cost=3)
    assert 0 < failed <= 3
    assert len(study.front()) > 5


def test_other_designs_begin_a_study_whose_initial_ones_are_all_impossible() -> None:
    space = Space({"x": list(range(40))})
    tried: list[int] = []

    def works(name: str, x: int) -> bool:
        tried.append(x)
        return name == "b" or len({*tried}) > 4

    study = answered(Study(space, ["a", "b"], seed=0, n_initial=4, surrogate="gp-plain"), works)
    assert study.history.count(0) > 5
    assert len(study.front()) > 5


def test_the_rest_of_a_bundle_is_not_bought_for_an_impossible_design(coupled: Study) -> None:
    wasted = [
        evaluation
        for evaluation in coupled.history.asked
        if evaluation.objective == "energy"
        and not evaluation.initial
        and coupled.history.is_hopeless(0, evaluation.design)
    ]
    assert not wasted


def told(study: Study, answers: list[tuple[str, int, bool]]) -> Study:
    """A study with these results: objective, option value, whether it could be measured."""
    for name, x, works in answers:
        study.add({"x": x}, {name: float(x)} if works else None, failed=None if works else name)
    return study


def test_one_failure_is_learned_from_at_once() -> None:
    study = Study({"x": list(range(100))}, ["a", "b"], seed=0)
    told(study, [("a", x, x < 80) for x in (10, 30, 50, 90)])
    near, far = chances(study.history, study.space.designs([{"x": 92}, {"x": 20}]))[:, 0]
    assert near < 0.4
    assert far > 0.8
    assert (chances(study.history, study.space.designs([{"x": 92}]))[:, 1] == 1.0).all(), "b never failed"


def test_failures_have_one_cause_if_the_user_says_so() -> None:
    objectives = [Objective("a"), Objective("b", fails_with="a")]
    study = Study({"x": list(range(100))}, objectives, seed=0)
    told(study, [("a", 10, True), ("a", 90, False), ("b", 95, False), ("b", 50, True)])
    assert causes(study.history) == [(0, 1)]
    both = chances(study.history, study.space.designs([{"x": 93}, {"x": 50}, {"x": 20}]))
    assert (both[0] < 0.4).all()
    assert both[1, 1] == 1.0, "measured"
    assert both[1, 0] > 0.6
    assert chance_of_success(study.history, study.space.designs([{"x": 20}]))[0] == pytest.approx(both[2, 0])


def test_a_shared_cause_is_learned_and_forgotten() -> None:
    study = Study({"x": list(range(100))}, ["a", "b"], seed=0)
    told(study, [(name, x, x < 80) for x in (10, 85) for name in ("a", "b")])
    assert causes(study.history) == [(0,), (1,)], "one design that failed in both is not enough"
    told(study, [("a", 90, False), ("b", 90, False)])
    assert causes(study.history) == [(0, 1)]
    told(study, [("a", 95, False), ("b", 95, True)])
    assert causes(study.history) == [(0,), (1,)]


def test_a_design_that_failed_is_asked_again_only_as_often_as_its_retries_say() -> None:
    attempts: dict[tuple[Design, str], int] = {}
    objectives = [Objective("a", retries=1), Objective("b")]
    study = Study({"x": list(range(12))}, objectives, seed=0, n_initial=4, surrogate="gp-plain")
    while evaluation := study.ask():
        key = (evaluation.design, evaluation.objective)
        attempts[key] = attempts.get(key, 0) + 1
        if evaluation.design["x"] > 7:
            study.fail(evaluation, "no memory", cost=1.0, timeout=evaluation.objective == "b")
        else:
            study.tell(evaluation, (-1.0) ** (evaluation.objective == "a") * evaluation.design["x"], cost=1.0)
    assert max(attempts[key] for key in attempts if key[1] == "a") <= 2
    assert max(attempts[key] for key in attempts if key[1] == "b") == 1
