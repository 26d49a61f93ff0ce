from dataclasses import dataclass, replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.laws.effort import examples

from flexibo.pareto import pareto_region, pinned_gains

TOLERANCE = 1e-9


@dataclass(frozen=True)
class Boxes:
    lower: np.ndarray
    mu: np.ndarray
    upper: np.ndarray
    keys: np.ndarray
    reference: np.ndarray
    optimised: tuple[int, ...]
    limits: np.ndarray

    @property
    def goals(self):
        return {"optimised": self.optimised, "limits": self.limits}

    @property
    def bundles(self):
        n = len(self.limits)
        return [*((j,) for j in range(n)), (0, n - 1), tuple(range(n))]

    def region(self):
        return pareto_region(self.lower, self.upper, self.reference, **self.goals)

    def gains(self, **choices):
        return pinned_gains(
            self.lower, self.mu, self.upper, self.reference, self.keys, self.bundles, **self.goals, **choices
        )

    def rows(self, some):
        return replace(self, **{name: getattr(self, name)[some] for name in ("lower", "mu", "upper", "keys")})

    def pinned(self, i, bundle):
        boxes = np.hstack([self.lower, self.mu, self.upper])
        lower, upper = self.lower.copy(), self.upper.copy()
        for j in bundle:
            same_key = boxes[self.keys[:, j] == self.keys[i, j]]
            touched = (boxes[:, None] == same_key).all(axis=2).any(axis=1)
            lower[touched, j] = upper[touched, j] = self.mu[touched, j]
        return replace(self, lower=lower, upper=upper)


@st.composite
def studies(draw, fewest=0, most=3):
    """Boxes on a grid of quarters, limits on the same grid: ties, copies and limits that are just kept are common."""
    k, m = draw(st.integers(1, 4)), draw(st.integers(1, 9))
    n = k + draw(st.integers(fewest, most))
    keys = draw(arrays(np.int64, (m, n), elements=st.integers(0, m - 1)))
    lower, below, above = (draw(arrays(np.int64, (m, n), elements=st.integers(0, top))) / 4.0 for top in (20, 10, 10))
    boxes = (np.take_along_axis(Y, keys, axis=0) for Y in (lower, lower + below, lower + below + above))
    optimised = tuple(draw(st.permutations(range(n)))[:k])
    limits = draw(arrays(np.int64, (n,), elements=st.integers(0, 36))) / 4.0
    limits[[j for j in optimised if draw(st.integers(0, 3))]] = np.inf  # one objective in four has a limit, too
    reference = draw(arrays(np.int64, (k,), elements=st.integers(8, 36))) / 4.0
    return Boxes(*boxes, keys, reference, optimised, limits)


@given(studies())
@settings(deadline=None, max_examples=examples(15))
def test_pinning_never_enlarges_the_region_and_the_gain_is_what_it_shrinks_by(study):
    volume, gains = study.region().volume, study.gains()
    for i in range(len(study.lower)):
        for b, bundle in enumerate(study.bundles):
            after = study.pinned(i, bundle).region().volume
            assert after <= volume + TOLERANCE
            assert abs(volume - after - gains[i, b]) <= TOLERANCE
    assert (gains >= 0).all()


@given(studies(fewest=1))
@settings(deadline=None, max_examples=examples(20))
def test_a_pure_constraint_that_its_box_decides_gains_exactly_nothing(study):
    gains = study.gains()
    for j in {*range(len(study.limits))} - {*study.optimised}:
        decided = (study.lower[:, j] > study.limits[j]) | (study.upper[:, j] <= study.limits[j])
        assert (gains[decided, j] == 0.0).all()


@given(studies(most=0))
@settings(deadline=None, max_examples=examples(20))
def test_limits_that_nobody_can_break_make_no_difference_bit_for_bit(study):
    n = len(study.limits)
    reference = study.reference[np.argsort(study.optimised)]
    free = pinned_gains(study.lower, study.mu, study.upper, reference, study.keys, study.bundles)
    for limits in (np.full(n, np.inf), study.upper.max(axis=0)):
        same = replace(study, reference=reference, optimised=tuple(range(n)), limits=limits)
        np.testing.assert_array_equal(same.gains(), free)
        assert same.region().volume == pareto_region(study.lower, study.upper, reference).volume


@given(studies())
@settings(deadline=None, max_examples=examples(20))
def test_the_region_of_the_living_is_the_region_of_all(study):
    region = study.region()
    alive = region.alive
    living = study.rows(alive).region()
    assert living.alive.all()
    assert (living.volume, living.optimistic_volume) == (region.volume, region.optimistic_volume)
    assert living.optimistic.tolist() == region.optimistic[alive].tolist()
    assert living.pessimistic.tolist() == region.pessimistic[alive].tolist()
    assert not (region.optimistic | region.pessimistic)[~alive].any()


@given(studies(), st.data())
@settings(deadline=None, max_examples=examples(20))
def test_rebuilding_who_is_alive_after_a_pin_makes_no_difference(study, data):
    i = data.draw(st.integers(0, len(study.lower) - 1))
    before = study.region().alive
    after = study.pinned(i, data.draw(st.sampled_from(study.bundles)))
    rebuilt = after.region()
    assert not (rebuilt.alive & ~before).any()
    assert abs(after.rows(before).region().volume - rebuilt.volume) <= TOLERANCE


@given(studies(), st.data())
@settings(deadline=None, max_examples=examples(20))
def test_scaling_an_objective_multiplies_all_gains_and_scaling_a_constraint_changes_none(study, data):
    j = data.draw(st.integers(0, len(study.limits) - 1))
    scale = np.ones(len(study.limits))
    scale[j] = data.draw(st.floats(1e-6, 1e6))
    factor = scale[list(study.optimised)]
    scaled = replace(
        study,
        **{name: getattr(study, name) * scale for name in ("lower", "mu", "upper", "limits")},
        reference=study.reference * factor,
    )
    assert scaled.region().alive.tolist() == study.region().alive.tolist()
    expected = study.gains() * factor.prod()
    np.testing.assert_allclose(scaled.gains(), expected, rtol=1e-9, atol=TOLERANCE * factor.prod())


@given(studies(), st.data())
@settings(deadline=None, max_examples=examples(15))
def test_permuting_the_quantities_permutes_the_gains(study, data):
    n = len(study.limits)
    order = data.draw(st.permutations(range(n)))
    permuted = replace(
        study,
        **{name: getattr(study, name)[:, order] for name in ("lower", "mu", "upper", "keys")},
        limits=study.limits[order],
        optimised=tuple(order.index(j) for j in study.optimised),
    )
    np.testing.assert_allclose(permuted.gains()[:, :n], study.gains()[:, order], rtol=0, atol=TOLERANCE)


@given(studies())
@settings(deadline=None, max_examples=examples(15))
def test_a_region_that_is_handed_over_changes_no_bit_of_the_gains(study):
    np.testing.assert_array_equal(study.gains(region=study.region()), study.gains())


@given(studies())
@settings(deadline=None, max_examples=examples(15))
def test_a_stricter_limit_never_enlarges_what_may_be_reached(study):
    stricter = replace(study, limits=study.limits - 0.25)
    before, after = study.region(), stricter.region()
    assert after.optimistic_volume <= before.optimistic_volume + TOLERANCE
    sure_before, sure_after = (r.optimistic_volume - r.volume for r in (before, after))
    assert sure_after <= sure_before + TOLERANCE
