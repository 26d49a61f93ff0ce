from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from flexibo import Space
from flexibo.belief.belief import Belief
from flexibo.belief.price_list import PriceList
from flexibo.methods._scalarise import expected_improvement, measured
from flexibo.methods.parego import drawn_weights, expected_scalarised_improvement, half_best, predictions
from flexibo.space import Designs
from flexibo.surrogates import GaussianProcess

LINE = Space({"x": [round(0.1 * step, 1) for step in range(11)]})


def believed(
    designs: Designs,
    mu: npt.ArrayLike,
    known: npt.ArrayLike,
    *,
    limits: list[float] | None = None,
    optimised: tuple[int, ...] | None = None,
    keys: npt.ArrayLike | None = None,
) -> Belief:
    mu, known = np.array(mu, dtype=float), np.array(known, dtype=bool)
    (m, n), sigma = mu.shape, np.where(known, 0.0, 1.0)
    return Belief(
        designs=designs,
        mu=mu,
        sigma=sigma,
        lower=mu - sigma,
        upper=mu + sigma,
        keys=np.tile(np.arange(m)[:, None], (1, n)).astype(np.uint64) if keys is None else np.array(keys, np.uint64),
        known=known,
        optimised=tuple(range(n)) if optimised is None else optimised,
        limits=np.full(n, np.inf) if limits is None else np.array(limits),
        reference=mu.max(axis=0)[list(range(n) if optimised is None else optimised)] + 1.0,
        tolerances=np.zeros(n),
        price_list=PriceList((tuple(range(n)),), np.ones((m, 1)), np.ones((m, 1)), ~known.all(axis=1, keepdims=True)),
    )


def bowl(*, measured_at: list[int]) -> Belief:
    """Two equal losses with their minimum at x = 0.5; what is not measured is believed to be 0 and must not matter."""
    x = np.arange(11) / 10
    known = np.isin(np.arange(11), measured_at)
    y = np.where(known, (x - 0.5) ** 2, 0.0)
    return believed(LINE.enumerate(), np.stack([y, 3.0 - 7.0 * (1.0 - y)], axis=1), np.stack([known, known], axis=1))


def scored(belief: Belief, seed: int = 0) -> np.ndarray:
    return expected_scalarised_improvement(belief, np.random.default_rng(seed))


def test_every_vector_of_the_lattice_is_drawn_about_equally_often() -> None:
    rng = np.random.default_rng(0)
    drawn = np.array([drawn_weights(2, rng) for _ in range(2200)])
    values, counts = np.unique(drawn[:, 0], return_counts=True)
    np.testing.assert_allclose(values, np.arange(11) / 10)
    assert counts.min() > 150
    assert counts.max() < 250


@pytest.mark.parametrize(("k", "sizes"), [(1, 1), (3, 5), (5, 4)])
def test_weights_of_any_number_of_objectives_sum_to_one(k: int, sizes: int) -> None:
    rng = np.random.default_rng(0)
    drawn = np.array([drawn_weights(k, rng) for _ in range(300)])
    np.testing.assert_allclose(drawn.sum(axis=1), 1.0)
    assert len(np.unique(drawn.round(9))) == sizes


def test_the_subset_is_half_the_best_and_half_drawn() -> None:
    y = np.random.default_rng(1).permutation(100).astype(float)
    chosen = half_best(y, 20, np.random.default_rng(0))
    assert len(np.unique(chosen)) == 20
    assert sorted(y[chosen[:10]]) == list(range(10))
    assert y[chosen[10:]].min() >= 10
    assert set(chosen[10:]) != set(half_best(y, 20, np.random.default_rng(2))[10:])
    np.testing.assert_array_equal(half_best(y, 100, np.random.default_rng(0)), np.arange(100))


def test_the_bottom_of_a_measured_bowl_is_chosen() -> None:
    for seed in range(5):
        scores = scored(bowl(measured_at=[0, 2, 4, 6, 8, 10]), seed)
        assert scores.shape == (11, 1)
        assert scores[:, 0].argmax() == 5


def test_a_known_design_scores_nothing_and_any_other_something() -> None:
    belief = bowl(measured_at=[1, 3, 8])
    scores = scored(belief)[:, 0]
    np.testing.assert_array_equal(scores > 0, ~belief.known.all(axis=1))


def test_the_scores_are_those_computed_step_by_step() -> None:
    rng = np.random.default_rng(3)
    space = Space({"a": (0.0, 1.0), "b": ["u", "v", "w"], "c": (1, 9)})
    designs = space.sample(40, rng)
    mu = rng.normal(size=(40, 2)) * [1.0, 1e12]
    mu[25:] *= 9.0  # predictions, which have no say in the scale
    known = np.repeat(np.arange(40)[:, None] < 25, 2, axis=1)
    belief = believed(designs, mu, known)

    stream = np.random.default_rng(7)
    share = stream.integers(11) / 10
    low, high = mu[:25].min(axis=0), mu[:25].max(axis=0)
    y = []
    for losses in mu[:25]:
        first, second = (losses - low) / (high - low) * [share, 1 - share]
        y.append(max(first, second) + 0.05 * (first + second))
    X = designs.encoded()
    model = GaussianProcess(restarts=0).fit(X[:25], np.array(y), groups=space.groups(), rng=stream)
    mean, deviation = model.predict(X[25:])
    expected = expected_improvement(mean, deviation, min(y))
    np.testing.assert_allclose(scored(belief, 7)[25:, 0], expected, rtol=1e-9)


def test_the_unit_of_a_loss_changes_nothing() -> None:
    belief = bowl(measured_at=[0, 3, 4, 9])
    other = believed(belief.designs, belief.mu * [2.0**40, 2.0**-40], belief.known)
    np.testing.assert_allclose(scored(other), scored(belief), rtol=1e-12)


def test_only_a_feasible_design_is_the_best() -> None:
    belief = bowl(measured_at=[0, 2, 4, 6, 8, 10])
    mu = np.hstack([belief.mu, np.zeros((11, 1))])
    mu[[4, 6], 2] = 1.0
    known = np.hstack([belief.known, belief.known[:, :1]])
    free = believed(belief.designs, mu, known, optimised=(0, 1))
    limited = believed(belief.designs, mu, known, optimised=(0, 1), limits=[np.inf, np.inf, 0.5])
    unknown = ~belief.known.all(axis=1)
    # The best legal designs are 0.2 and 0.8, which most of the bowl improves on.
    assert (scored(limited)[unknown] > scored(free)[unknown]).all()
    assert scored(limited)[5, 0] == pytest.approx(0.09 / 0.25 * 1.05 * _greater_weight(), rel=0.1)


def _greater_weight() -> float:
    """Of the weights that seed 0 draws; the two normalised losses are equal."""
    first = np.random.default_rng(0).integers(11) / 10
    return float((max(first, 1 - first) + 0.05) / 1.05)


def test_while_nothing_is_feasible_every_unknown_design_scores_one() -> None:
    belief = bowl(measured_at=[0, 2, 4])
    limited = believed(belief.designs, belief.mu, belief.known, limits=[-1.0, np.inf])
    np.testing.assert_array_equal(scored(limited)[:, 0], [0, 1, 0, 1, 0, 1, 1, 1, 1, 1, 1])


def test_a_known_loss_needs_no_prediction_where_a_constraint_is_open() -> None:
    x = np.arange(11) / 10
    mu = np.stack([(x - 0.5) ** 2, np.zeros(11)], axis=1)
    known = np.zeros((11, 2), dtype=bool)
    known[[0, 2, 10]] = True
    known[[5, 9], 0] = True
    limited = believed(LINE.enumerate(), mu, known, optimised=(0,), limits=[np.inf, 1.0])
    scores = scored(limited)[:, 0]
    # Normalised over 0 to 0.25; the best legal loss is 0.09, the sum adds a twentieth.
    np.testing.assert_allclose(scores[[0, 2, 5, 9, 10]], [0, 0, 0.09 / 0.25 * 1.05, 0, 0], atol=1e-12)


def test_before_two_designs_are_known_the_predictions_are_scalarised() -> None:
    for measured_at in ([], [3]):
        belief = bowl(measured_at=measured_at)
        x = np.arange(11) / 10
        predicted = believed(belief.designs, np.stack([(x - 0.7) ** 2] * 2, axis=1), belief.known)
        assert scored(predicted)[:, 0].argmax() == 7


def test_one_candidate_and_one_objective_will_do() -> None:
    assert scored(believed(LINE.enumerate()[:1], [[4.0]], [[False]])).shape == (1, 1)
    x = np.arange(11) / 10
    known = np.isin(np.arange(11), [0, 2, 4, 6, 8, 10])[:, None]
    assert scored(believed(LINE.enumerate(), ((x - 0.5) ** 2)[:, None], known))[:, 0].argmax() == 5


def test_equal_losses_give_finite_scores() -> None:
    known = np.repeat(np.arange(11)[:, None] < 4, 2, axis=1)
    scores = scored(believed(LINE.enumerate(), np.full((11, 2), 5.0), known))
    assert np.isfinite(scores).all()
    assert (scores >= 0).all()


def test_what_was_measured_together_counts_once() -> None:
    belief = bowl(measured_at=[0, 1, 2, 3])
    keys = np.tile(np.array([0, 0, 2, 2, 4, 5, 6, 7, 8, 9, 10])[:, None], (1, 2))
    assert measured(believed(belief.designs, belief.mu, belief.known, keys=keys)).tolist() == [0, 2]
    keys[3, 1] = 3
    assert measured(believed(belief.designs, belief.mu, belief.known, keys=keys)).tolist() == [0, 2, 3]


def test_a_design_counts_once_all_of_its_losses_are_known() -> None:
    belief = bowl(measured_at=[0, 1, 2, 3])
    belief.known[1, 0] = belief.known[2, 1] = False
    assert measured(belief).tolist() == [0, 3]


def test_more_designs_than_the_subset_are_all_used() -> None:
    designs = Space({"x": (0.0, 1.0)}).sample(300, np.random.default_rng(0))
    y = np.sin(25.0 * designs.encoded()[:, 0])
    known = np.arange(300)[:, None] < 200
    belief = believed(designs, np.where(known, y[:, None], 0.0), known)
    mean, deviation = predictions(belief, np.arange(200), belief.mu[:, 0], np.random.default_rng(0))
    np.testing.assert_array_equal(mean[:200], y[:200])
    np.testing.assert_array_equal(deviation[:200], 0.0)
    # Only 11 + 24 designs teach the hyperparameters; they alone would leave holes.
    assert np.abs(mean - y)[200:].max() < 0.05


def test_the_same_stream_gives_the_same_scores() -> None:
    belief = bowl(measured_at=[0, 2, 4, 6])
    np.testing.assert_array_equal(scored(belief, 5), scored(belief, 5))
    assert not np.array_equal(scored(belief, 5), scored(belief, 6))
