from __future__ import annotations

import numpy as np
import pytest
from tests.unit.optimizer.small_history import SPACE, Flat, ask, at, fail, history_of, tell

from flexibo import Integer, Objective, Space
from flexibo.belief.belief import exploration
from flexibo.belief.trust import widening
from flexibo.history import History
from flexibo.history.events import Added, ReferenceFixed, StopSet
from flexibo.methods import find_method
from flexibo.methods.base import Candidates
from flexibo.optimizer.predictor import CERTIFIED, Predictor, simultaneous_beta
from flexibo.surrogates.table import SurrogateChoice, find_surrogate

ANY_SIGN = SurrogateChoice(Flat(), assume_positive=False)


def predictor_of(method: str = "flexibo-gp-log", **settings: object) -> Predictor:
    return Predictor(
        find_method(method),
        settings.pop("initial", ()),  # type: ignore[arg-type]
        **({"seed": 0, "m": 10, "delta": 0.05, "surrogate": ANY_SIGN} | settings),  # type: ignore[arg-type]
    )


def measured(*rows: tuple[int, float, float], space: Space = SPACE) -> History:
    """A history with losses a and b of the designs x."""
    history = history_of(space=space)
    for x, a, b in rows:
        history.append(Added(space.design({"x": x}), {"a": a, "b": b}, {}))
    return history


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def test_every_question_draw_and_salt_has_its_own_random_numbers() -> None:
    history, predictor = history_of(), predictor_of()
    first = predictor.generator(history, 0).random()
    assert predictor.generator(history, 0).random() == first
    others = {predictor.generator(history, 1).random(), predictor.generator(history, 0, salt=1).random()}
    ask(history, at(0), "a")
    others |= {predictor.generator(history, 0).random(), predictor_of(seed=1).generator(history_of(), 0).random()}
    assert len(others | {first}) == 5


def test_the_reference_is_the_worst_measurement_and_a_tenth_of_the_range_unless_it_is_fixed() -> None:
    history = measured((0, 1.0, 5.0), (1, 3.0, 5.0))
    # All losses of b are equal, so their own size stands in for the range.
    assert predictor_of().reference(history) == pytest.approx([3.2, 5.5])
    history.append(ReferenceFixed({"a": 7.0, "b": 8.0}))
    assert predictor_of().reference(history).tolist() == [7.0, 8.0]


def test_a_measured_loss_is_certain_and_the_others_are_as_wide_as_beta_says() -> None:
    history = measured((0, 1.0, 5.0), (1, 3.0, 7.0))
    predictor = predictor_of(initial=(at(0), at(1)))
    belief = predictor.belief(history, rng())
    assert [*belief.designs] == [at(0), at(1), at(2), at(3)]
    assert belief.mu.tolist() == [[1.0, 5.0], [3.0, 7.0], [2.0, 6.0], [2.0, 6.0]]
    half = np.sqrt(exploration(2, 4, 2, 0.05))
    assert (belief.upper - belief.lower).ravel() == pytest.approx([0.0] * 4 + [2 * half] * 4)
    assert belief.known.tolist() == [[True, True]] * 2 + [[False, False]] * 2


def test_what_is_being_measured_counts_as_known_at_its_mean() -> None:
    history = measured((0, 1.0, 5.0), (1, 3.0, 7.0))
    ask(history, at(2), "a")
    belief = predictor_of().belief(history, rng())
    place = [*belief.designs].index(at(2))
    assert belief.known[place].tolist() == [True, False]
    assert belief.lower[place, 0] == belief.upper[place, 0] == 2.0


def test_a_region_belongs_to_methods_that_are_about_it() -> None:
    history = measured((0, 1.0, 5.0), (1, 3.0, 7.0))
    assert predictor_of("flexibo-gp-log").belief(history, rng()).region is not None
    assert predictor_of("ehvi").belief(history, rng()).region is None


def test_the_belief_around_the_best_has_what_is_known_the_best_and_designs_near_them() -> None:
    space = Space({"x": Integer(0, 10_000)})
    history = measured((0, 1.0, 5.0), (5_000, 3.0, 4.0), space=space)
    predictor = predictor_of("flexibo", m=40)
    belief = predictor.belief(history, rng())
    best = np.array([5, 9])
    finer = predictor.belief_around(history, belief, best, rng())
    assert {*history.designs, *belief.designs[best]} <= set(finer.designs)
    assert 4 < len(finer.designs) <= 4 + 40 // 2
    assert set(finer.designs) - set(belief.designs)
    assert finer.reference.tolist() == belief.reference.tolist()
    assert belief.region is not None
    assert finer.region is not None
    assert finer.region.volume == belief.region.volume
    assert len(finer.region.alive) == len(finer.designs)


def test_few_readings_of_a_start_are_stretched_to_the_range_of_ten() -> None:
    # Three readings of a uniform loss cover 1/2 of its range on average, ten 9/11: the ratio is 18/11.
    history = measured((0, 1.0, 5.0), (1, 3.0, 0.0), (2, 2.0, 2.5))
    stretch = 18 / 11
    share = 0.1 * stretch + 0.5 * (stretch - 1)
    assert predictor_of(full_start=False).reference(history) == pytest.approx([3.0 + 2.0 * share, 5.0 + 5.0 * share])
    many = measured(*((x, float(x), -float(x)) for x in range(10)), space=Space({"x": [*range(10)]}))
    assert predictor_of(full_start=False).reference(many) == pytest.approx([9.9, 0.9])


def test_the_designs_of_a_start_that_a_budget_limits_are_those_that_were_asked() -> None:
    history = history_of()
    tell(history, at(0), 1.0, initial=True)
    tell(history, at(1), 1.0, "a", initial=True)
    t = exploration(2, 10, 2, 0.05), exploration(2, 10, 4, 0.05)
    initial = [at(x) for x in range(4)]
    assert predictor_of(initial=initial, full_start=False)._beta(history, 10) == pytest.approx(t[0])
    assert predictor_of(initial=initial)._beta(history, 10) == pytest.approx(t[1])


def test_a_reference_that_nothing_beats_moves_back_to_the_worst_measurement() -> None:
    history = measured((0, 10.0, 10.0), (1, 12.0, 12.0), (2, 11.0, 11.0), (3, 11.0, 11.0))
    history.append(ReferenceFixed({"a": 1.0, "b": 11.5}))
    belief = predictor_of().belief(history, rng())
    assert belief.reference == pytest.approx([12.2, 12.2])
    assert belief.region is not None
    assert belief.region.optimistic_volume > 0


def test_a_study_that_wants_a_certificate_looks_again_with_boxes_that_all_hold_at_once() -> None:
    # Nobody can beat the first: not with the narrow boxes, but perhaps with the wide ones.
    history = measured((0, -3.0, -3.0), (1, 3.0, 3.0))
    predictor = predictor_of(initial=(at(0), at(1)), m=4)
    assert predictor.belief(history, rng()).region.is_gone  # type: ignore[union-attr]
    history.append(StopSet({CERTIFIED: 0.1}))
    certified = predictor.belief(history, rng())
    assert not certified.region.is_gone  # type: ignore[union-attr]
    wide = widening(history, predictor.models(history))
    assert wide > 1.0, "the flat model is six deviations off"
    half = wide * np.sqrt(simultaneous_beta(history, 4, 0.05))
    assert certified.upper[2] - certified.mu[2] == pytest.approx([half, half])


def test_simultaneous_boxes_count_the_answers_that_the_models_learned_from() -> None:
    history = measured((0, 1.0, 5.0), (1, 3.0, 7.0), (2, 3.0, 7.0))
    assert simultaneous_beta(history, 100, 0.05) == pytest.approx(2.0 * np.log(2 * 100 * np.pi**2 * 9 / 0.3))


def test_tolerances_are_as_given_or_a_hundredth_of_the_range_of_the_first_measurements() -> None:
    history = history_of(Objective("a", tolerance=0.5), Objective("b"))
    for x, b in enumerate((1.0, 3.0, 99.0)):
        history.append(Added(at(x), {"a": float(x), "b": b}, {}))
    belief = predictor_of("epsilon-pal", initial=(at(0), at(1))).belief(history, rng())
    assert belief.tolerances == pytest.approx([0.5, 0.02])


def test_estimates_are_of_the_designs_in_the_history_and_pending_ones_stay_open() -> None:
    history = measured((3, 1.0, 5.0), (1, 3.0, 7.0))
    ask(history, at(0), "a")
    estimates = predictor_of().estimates(history)
    assert estimates.mu[:, 0].tolist() == [1.0, 3.0, 2.0]
    assert estimates.known.tolist() == [[True, True], [True, True], [False, False]]
    assert estimates.usable.tolist() == [True] * 3  # type: ignore[union-attr]


def test_designs_that_cannot_be_measured_are_no_candidates_unless_there_are_no_others() -> None:
    history, predictor = measured((0, 1.0, 5.0)), predictor_of()
    fail(history, at(1), "a", impossible=True)
    assert {*predictor.candidates(history, rng())} == {at(0), at(2), at(3)}
    lost = history_of()
    for x in range(4):
        fail(lost, at(x), "a", impossible=True)
    assert len(predictor.candidates(lost, rng())) == 4


def test_the_pool_begins_with_the_designs_of_the_history_and_may_be_larger_than_a_question() -> None:
    space = Space({"x": (0.0, 1.0)})
    history = measured((0, 1.0, 5.0), (1, 3.0, 7.0), space=space)
    predictor = predictor_of("random", m=10)
    assert [*predictor.pool(history)][:2] == [{"x": 0.0}, {"x": 1.0}]
    assert len(predictor.pool(history)) == 12
    assert len(predictor.pool(history, 30)) == 32


def test_corners_are_the_fronts_of_the_next_question() -> None:
    history = measured((0, 1.0, 5.0), (1, 3.0, 7.0), (2, 1.0, 6.0), (3, 2.0, 4.0))
    optimistic, pessimistic = predictor_of().corners(history)
    assert sorted(optimistic.tolist()) == sorted(pessimistic.tolist()) == [[1.0, 5.0], [2.0, 4.0]]


def test_a_method_that_remembers_has_the_same_candidates_at_every_question() -> None:
    assert find_method("pal").candidates is Candidates.FIXED  # type: ignore[attr-defined]
    space = Space({"x": (0.0, 1.0)})
    history = measured((0, 1.0, 5.0), (1, 3.0, 7.0), space=space)
    predictor = predictor_of("pal", initial=tuple(history.designs))
    before = predictor.belief(history, rng())
    tell(history, space.design({"x": 0.5}), 2.0, "a")
    after = predictor.belief(history, np.random.default_rng(1))
    assert [*after.designs] == [*before.designs]
    assert before.memory is not None
    assert space.design({"x": 0.5}) not in {*after.designs}


def test_models_are_made_once_and_depend_on_the_objective() -> None:
    history = history_of(Objective("a"), Objective("b", noisy=True))
    predictor = predictor_of(surrogate="gp-plain")
    first, second = predictor.models(history), predictor.models(history)
    assert all(one is other for one, other in zip(first, second, strict=True))
    assert first[0]._settings != first[1]._settings


def test_models_know_the_families_among_the_options_of_their_objective() -> None:
    space = Space({"depth": [1, 2], "width_1": [8, 16], "width_2": [8, 16]})
    objectives = Objective("a"), Objective("b", options=["width_2", "width_1"]), Objective("c", options=["width_1"])
    models = predictor_of(surrogate="gp").models(history_of(*objectives, space=space))
    families = [((((1,), (2,)),)), ((((0,), (1,)),)), ()]
    assert [model._settings for model in models] == [
        find_surrogate("gp").of(objective, own) for objective, own in zip(objectives, families, strict=True)
    ]


def test_a_given_surrogate_and_cost_replace_those_of_the_method() -> None:
    assert predictor_of("flexibo-rf-log", surrogate=None).surrogate.growth == 1.0
    own = Flat()
    assert predictor_of("flexibo-rf-log", surrogate=own).surrogate.settings is own
    assert predictor_of("flexibo-rf-log").costs.cost == "paper-log"
    assert predictor_of("flexibo-rf-log", cost="ratio").costs.cost == "ratio"
