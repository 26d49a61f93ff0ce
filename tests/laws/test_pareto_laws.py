import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.laws.effort import examples

from flexibo.pareto import hypervolume, pareto_region, pinned_gains

TOLERANCE = 1e-9


@st.composite
def studies(draw, shared_options=True):
    """Boxes on a grid of quarters, so that ties, copies and measured values are common."""
    n, m = draw(st.integers(2, 4)), draw(st.integers(1, 9))
    own = np.tile(np.arange(m)[:, None], n)
    keys = draw(arrays(np.int64, (m, n), elements=st.integers(0, m - 1))) if shared_options else own
    lower, below, above = (draw(arrays(np.int64, (m, n), elements=st.integers(0, most))) / 4.0 for most in (20, 10, 10))
    boxes = (lower, lower + below, lower + below + above)
    reference = draw(arrays(np.int64, (n,), elements=st.integers(8, 36))) / 4.0
    return (*(np.take_along_axis(Y, keys, axis=0) for Y in boxes), reference, keys)


def bundles_of(n):
    return [*((j,) for j in range(n)), (0, n - 1), tuple(range(n))]


def pin(lower, mu, upper, keys, i, bundle):
    boxes = np.hstack([lower, mu, upper])
    lower, upper = lower.copy(), upper.copy()
    for j in bundle:
        same_key = boxes[keys[:, j] == keys[i, j]]
        touched = (boxes[:, None] == same_key).all(axis=2).any(axis=1)
        lower[touched, j] = upper[touched, j] = mu[touched, j]
    return lower, upper


@given(studies())
@settings(deadline=None, max_examples=examples(25))
def test_pinning_never_enlarges_the_region_and_the_gain_is_what_it_shrinks_by(study):
    lower, mu, upper, reference, keys = study
    bundles = bundles_of(len(reference))
    volume = pareto_region(lower, upper, reference).volume
    gains = pinned_gains(lower, mu, upper, reference, keys, bundles)
    for i in range(len(lower)):
        for b, bundle in enumerate(bundles):
            after = pareto_region(*pin(lower, mu, upper, keys, i, bundle), reference).volume
            assert after <= volume + TOLERANCE
            assert abs(volume - after - gains[i, b]) <= TOLERANCE


@given(studies())
@settings(deadline=None, max_examples=examples(50))
def test_the_region_of_the_living_is_the_region_of_all(study):
    lower, _, upper, reference, _ = study
    region = pareto_region(lower, upper, reference)
    living = pareto_region(lower[region.alive], upper[region.alive], reference)
    assert living.alive.all()
    assert living.volume == region.volume
    assert living.optimistic.tolist() == region.optimistic[region.alive].tolist()
    assert living.pessimistic.tolist() == region.pessimistic[region.alive].tolist()
    assert not (region.optimistic | region.pessimistic)[~region.alive].any()
    everybody = hypervolume(lower, reference) - hypervolume(upper, reference)
    assert abs(region.volume - everybody) <= TOLERANCE


@given(studies(), st.data())
@settings(deadline=None, max_examples=examples(35))
def test_rebuilding_who_is_alive_after_a_pin_makes_no_difference(study, data):
    lower, mu, upper, reference, keys = study
    i = data.draw(st.integers(0, len(lower) - 1))
    bundle = data.draw(st.sampled_from(bundles_of(len(reference))))
    before = pareto_region(lower, upper, reference).alive
    lower, upper = pin(lower, mu, upper, keys, i, bundle)
    rebuilt = pareto_region(lower, upper, reference)
    assert not (rebuilt.alive & ~before).any()
    kept = pareto_region(lower[before], upper[before], reference)
    assert abs(kept.volume - rebuilt.volume) <= TOLERANCE


@given(studies(shared_options=False))
@settings(deadline=None, max_examples=examples(50))
def test_nobody_outside_the_scored_set_gains(study):
    lower, mu, upper, reference, keys = study
    region = pareto_region(lower, upper, reference)
    gains = pinned_gains(lower, mu, upper, reference, keys, [(j,) for j in range(len(reference))])
    for j in range(len(reference)):
        moved = upper.copy()
        moved[:, j] = mu[:, j]
        dominated = (upper[region.pessimistic] <= moved[:, None]).all(axis=2).any(axis=1)
        scored = region.optimistic | region.pessimistic | ~dominated
        assert (gains[~scored, j] == 0.0).all()
        assert (gains[lower[:, j] == upper[:, j], j] == 0.0).all()


@given(studies(), st.data())
@settings(deadline=None, max_examples=examples(35))
def test_scaling_an_axis_multiplies_all_gains_by_one_constant(study, data):
    lower, mu, upper, reference, keys = study
    bundles = bundles_of(len(reference))
    scale = np.ones(len(reference))
    scale[data.draw(st.integers(0, len(reference) - 1))] = data.draw(st.floats(1e-3, 1e3))
    gains = pinned_gains(lower, mu, upper, reference, keys, bundles)
    scaled = pinned_gains(lower * scale, mu * scale, upper * scale, reference * scale, keys, bundles)
    np.testing.assert_allclose(scaled, gains * scale.prod(), rtol=1e-9, atol=1e-9 * scale.prod())


@given(studies(), st.data())
@settings(deadline=None, max_examples=examples(35))
def test_permuting_candidates_permutes_gains(study, data):
    lower, mu, upper, reference, keys = study
    bundles = bundles_of(len(reference))
    order = np.array(data.draw(st.permutations(range(len(lower)))))
    gains = pinned_gains(lower, mu, upper, reference, keys, bundles)
    permuted = pinned_gains(lower[order], mu[order], upper[order], reference, keys[order], bundles)
    np.testing.assert_allclose(permuted, gains[order], rtol=0, atol=TOLERANCE)


@given(studies(), st.data())
@settings(deadline=None, max_examples=examples(25))
def test_permuting_objectives_permutes_gains(study, data):
    lower, mu, upper, reference, keys = study
    n = len(reference)
    order = np.array(data.draw(st.permutations(range(n))))
    singles = [(j,) for j in range(n)]
    gains = pinned_gains(lower, mu, upper, reference, keys, singles)
    permuted = pinned_gains(lower[:, order], mu[:, order], upper[:, order], reference[order], keys[:, order], singles)
    np.testing.assert_allclose(permuted, gains[:, order], rtol=0, atol=TOLERANCE)
