"""The certificate of a front, and the stop rule that looks at it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flexibo import Evaluation, Objective, Space, Study
from flexibo.errors import InvalidValueError
from flexibo.optimizer import StopKind
from flexibo.pareto import hypervolume
from flexibo.results.certificate import percent

POOL = Space({"x": list(range(12)), "k": [1, 2, 3]})
MANY = Space({"x": (0.0, 1.0), "y": (0.0, 1.0)})


def truth(evaluation: Evaluation) -> float:
    x, k = float(evaluation.design["x"]) / 11, float(evaluation.design["k"])  # type: ignore[arg-type]
    return {"a": x + k / 10, "b": (1 - x) ** 2 + k / 20, "c": x * k}[evaluation.objective]


def run(study: Study, most: int = 10_000) -> Study:
    for _ in range(most):
        if (evaluation := study.ask()) is None:
            break
        study.tell(evaluation, truth(evaluation), cost=1.0)
    return study


def pool_study(**settings: Any) -> Study:
    return Study(POOL, ["a", "b"], **{"seed": 0, "n_initial": 4, "surrogate": "gp-plain", **settings})


def known_pool(values: Any, objectives: list[Any] | None = None, **settings: Any) -> Study:
    """A study of the designs x = 0, 1, ... in which rows of values are known."""
    objectives = ["a", "b"] if objectives is None else objectives
    study = Study(Space({"x": list(range(len(values)))}), objectives, seed=0, n_initial=1, **settings)
    for x, row in enumerate(values):
        study.add({"x": x}, dict(zip(study.history.names, row, strict=True)))
    return study


def test_before_every_objective_is_measured_nothing_is_certified() -> None:
    study = pool_study()
    with pytest.raises(InvalidValueError, match="every objective"):
        study.certificate()


def test_a_pool_that_is_measured_whole_has_no_gap() -> None:
    study = known_pool([(1.0, 3.0), (2.0, 2.0), (3.0, 1.0), (3.0, 3.0)], reference=(4.0, 4.0))
    certificate = study.certificate()
    assert (certificate.gap, certificate.relative, certificate.designs) == (0.0, 0.0, 3)
    assert certificate.optimistic_volume == certificate.reported_volume == 6.0
    assert certificate.whole_space
    assert certificate.candidates == 4


def test_the_gap_is_between_the_best_corners_and_the_worst_corners_of_what_is_reported() -> None:
    from flexibo.belief.reported import reported
    from flexibo.results.confidence import confidence

    study = run(pool_study(), 16)
    certificate = study.certificate(0.1)
    history, predictor = study.history, study.predictor
    sure = confidence(predictor, history, delta=0.1)
    front = reported(history, predictor.estimates(history), complete=False)
    reference = predictor.reference(history)
    assert certificate.gap == pytest.approx(
        hypervolume(sure.best, reference) - hypervolume(sure.worst[front], reference)
    )
    assert certificate.relative == pytest.approx(certificate.gap / certificate.optimistic_volume)
    assert 0.0 < certificate.relative < 1.0
    assert certificate.beta == pytest.approx(2.0 * np.log(2 * 36 * np.pi**2 * 16**2 / (6 * 0.1)))
    assert (certificate.t, certificate.designs) == (16, len(sure.worst[front]))


def test_more_confidence_makes_a_wider_gap() -> None:
    study = run(pool_study(), 16)
    gaps = [study.certificate(delta).gap for delta in (0.5, 0.05, 0.001)]
    assert gaps[0] < gaps[1] < gaps[2]


def test_the_delta_of_a_certificate_is_the_studys_own_unless_given(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'study.db'}"
    study = run(pool_study(delta=0.3, storage=url), 16)
    assert study.certificate() == study.certificate(0.3)
    assert study.certificate(0.05).delta == 0.05
    study.close()
    assert Study.load(url).certificate().delta == 0.3


def test_the_same_history_has_the_same_certificate(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'study.db'}"
    study = Study(MANY, ["a", "b"], seed=1, n_initial=3, storage=url, candidates=60)
    for _ in range(10):
        evaluation = study.ask()
        assert evaluation is not None
        x, y = float(evaluation.design["x"]), float(evaluation.design["y"])  # type: ignore[arg-type]
        study.tell(evaluation, x + y if evaluation.objective == "a" else 2 - x, cost=1.0)
    first = study.certificate()
    assert study.certificate() == first
    study.close()
    assert Study.load(url).certificate() == first
    assert not first.whole_space


def test_looking_does_not_change_what_is_asked_next() -> None:
    plain, watched = pool_study(), pool_study()
    for _ in range(20):
        one, other = plain.ask(), watched.ask()
        assert one is not None
        assert other is not None
        assert replace(one, token=other.token) == other
        for study, evaluation in ((plain, one), (watched, other)):
            study.tell(evaluation, truth(evaluation), cost=1.0)
        if all(watched.history.count(j) for j in range(2)):
            watched.certificate()
            watched.certificate(0.5, candidates=7)
            watched.front(include="possible")


def test_what_is_pending_counts_as_unknown() -> None:
    study = run(pool_study(), 12)
    before = study.certificate()
    asked = len(study.ask(8))
    after = study.certificate()
    assert (before.pending, after.pending) == (0, asked)
    assert (after.gap, after.beta, after.t) == (before.gap, before.beta, before.t)


def test_a_reported_design_that_may_break_a_constraint_counts_for_nothing() -> None:
    objectives = [Objective("a"), Objective("b"), Objective("c", at_most=1.0)]
    study = known_pool([(1.0, 3.0, 0.5), (3.0, 1.0, 2.0)], objectives, reference=(4.0, 4.0))
    certificate = study.certificate()
    assert certificate.gap == 0.0  # the second design breaks it, so the best front is the first design
    assert certificate.reported_volume == 3.0
    unsure = Study(Space({"x": [0, 1, 2]}), objectives, seed=0, n_initial=1, reference=(4.0, 4.0))
    unsure.add({"x": 0}, {"a": 1.0, "b": 3.0, "c": 0.5})
    unsure.add({"x": 1}, {"a": 3.0, "b": 1.0})
    unsure.add({"x": 2}, {"a": 3.5, "b": 3.5, "c": 1.5})
    certificate = unsure.certificate()
    assert certificate.reported_volume == 3.0
    assert certificate.optimistic_volume == 5.0
    assert "break a constraint" in str(certificate)


def test_three_objectives_have_a_certificate() -> None:
    study = run(Study(POOL, ["a", "b", "c"], seed=0, n_initial=5), 24)
    certificate = study.certificate()
    assert 0.0 <= certificate.relative <= 1.0
    assert certificate.beta == pytest.approx(2.0 * np.log(3 * 36 * np.pi**2 * 24**2 / (6 * 0.05)))


def test_noise_leaves_a_gap_where_everything_is_measured() -> None:
    noisy = known_pool(
        [(x + 0.1 * (-1) ** x, 10 - x) for x in range(10)], [Objective("a", noisy=True), Objective("b", noisy=True)]
    )
    assert noisy.certificate().gap > 0.0


@pytest.mark.parametrize("method", ["random", "sobol", "pal", "ehvi", "flexibo-gp-log"])
def test_every_kind_of_method_has_a_certificate(method: str) -> None:
    certificate = run(pool_study(method=method), 14).certificate()
    assert 0.0 < certificate.relative <= 1.0
    assert certificate.whole_space


def test_as_many_candidates_as_are_wanted_cover_a_larger_part_of_the_space() -> None:
    study = run(pool_study(candidates=10), 14)
    some, all_of_them = study.certificate(), study.certificate(candidates=36)
    assert not some.whole_space
    assert some.candidates < 36
    assert all_of_them.whole_space
    assert all_of_them.candidates == 36


def test_where_nothing_beats_the_reference_nothing_is_certified() -> None:
    certificate = known_pool([(1.0, 3.0), (3.0, 1.0)], reference=(0.5, 0.5)).certificate()
    assert certificate.relative == 1.0
    assert "Nothing is certified" in str(certificate)


def test_it_says_in_words_what_holds_over_what_and_when() -> None:
    study = run(pool_study(candidates=10), 14)
    words = str(study.certificate(0.1))
    assert " 90 %, if the models " in words
    assert "a draw" in words
    whole = str(run(pool_study(), 14).certificate())
    assert "among all 36 designs" in whole
    assert "a draw" not in whole


def test_it_is_ready_for_json() -> None:
    certificate = run(pool_study(), 14).certificate()
    found = json.loads(json.dumps(certificate.to_dict(), allow_nan=False))
    assert found["words"] == str(certificate)
    assert found["gap"] == certificate.gap
    assert found["whole_space"] is True


@pytest.mark.parametrize("delta", [0, 1, -0.1, float("nan"), "5%", True])
def test_a_delta_that_is_no_probability_is_refused(delta: Any) -> None:
    study = known_pool([(1.0, 3.0), (3.0, 1.0)])
    with pytest.raises(InvalidValueError, match="delta is"):
        study.certificate(delta)


@pytest.mark.parametrize("candidates", [0, 1.5, "many", True])
def test_a_number_of_candidates_that_is_none_is_refused(candidates: Any) -> None:
    study = known_pool([(1.0, 3.0), (3.0, 1.0)])
    with pytest.raises(InvalidValueError, match=r"candidates is .* 1 "):
        study.certificate(candidates=candidates)


def test_a_probability_is_not_made_larger_by_printing_it() -> None:
    assert "probability of 99.99 %," in str(run(pool_study(), 14).certificate(delta=1e-4))
    assert percent(1.0 - 1e-7, up=False) != "100 %"


def test_volumes_that_are_too_large_for_a_number_certify_nothing() -> None:
    study = known_pool(np.ones((1, 4)), ["a", "b", "c", "d"], reference=[2.0] * 4)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("flexibo.results.certificate.volumes", lambda *_: (np.inf, 1.0))
        found = study.certificate()
    assert (found.gap, found.relative) == (np.inf, 1.0)


def test_a_bound_is_not_made_smaller_by_printing_it() -> None:
    rng = np.random.default_rng(0)
    for share in (*rng.random(200), *10.0 ** rng.uniform(-6, 0, 200)):
        assert float(percent(share).removesuffix(" %")) >= 100.0 * share * (1 - 1e-6)


class TestStopping:
    def test_a_study_stops_when_its_front_is_certified(self) -> None:
        study = run(pool_study(stop={"certified_error": 0.4}))
        assert study.stop_kind is StopKind.RULE
        assert all(fact in study.stopped for fact in ("40 %", "95 %"))
        assert study.certificate().relative <= 0.4
        assert study.certificate().unread == 0
        assert len(study.history.measurements) < 2 * POOL.size

    @pytest.mark.slow
    def test_it_goes_on_where_no_pareto_region_is_left_until_then(self) -> None:
        plain = run(pool_study(surrogate="gp", seed=10))
        certified = run(pool_study(surrogate="gp", seed=10, stop={"certified_error": 0.01}))
        assert plain.stop_kind is StopKind.NO_REGION
        assert plain.certificate().relative > 0.01
        alike = [e.design for e in plain.history.asked if "confirms" not in e.why]
        assert len(alike) > len(plain.history.asked) - 5, "it only confirms what it reports after the last region"
        assert [e.design for e in certified.history.asked[: len(alike)]] == alike
        assert len(certified.history.asked) > len(alike)
        assert certified.stop_kind is StopKind.RULE

    def test_it_goes_on_until_then(self) -> None:
        study = pool_study(stop={"certified_error": 0.4})
        while (evaluation := study.ask()) is not None:
            if not evaluation.initial:
                before = study.certificate()
                assert before.relative > 0.4 or before.unread > 0
            study.tell(evaluation, truth(evaluation), cost=1.0)

    def test_the_initial_designs_are_measured_whatever_is_certified(self) -> None:
        settings: dict[str, Any] = {"reference": (20.0, 20.0), "stop": {"certified_error": 0.99}}
        study = Study(Space({"x": [0, 1, 2]}), ["a", "b"], seed=0, initial_designs=[{"x": 2}], **settings)
        study.add({"x": 0}, {"a": 0.0, "b": 0.0})
        study.add({"x": 1}, {"a": 10.0, "b": 10.0})
        assert study.certificate().relative < 0.99
        evaluation = study.ask()
        assert evaluation is not None
        assert evaluation.initial

    def test_the_rule_is_kept_with_the_study(self, tmp_path: Path) -> None:
        url = f"sqlite:///{tmp_path / 'study.db'}"
        run(pool_study(storage=url, stop={"certified_error": 0.4})).close()
        again = Study.load(url)
        assert again.ask() is None
        assert again.stop_kind is StopKind.RULE

    def test_the_studys_own_delta_decides(self) -> None:
        loose = run(pool_study(delta=0.5, stop={"certified_error": 0.4}))
        assert "50 %" in loose.stopped

    def test_a_share_that_is_none_is_refused(self) -> None:
        with pytest.raises(InvalidValueError, match=r"'certified_error'.* 5.* 1"):
            pool_study(stop={"certified_error": 5})
