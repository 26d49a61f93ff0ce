"""ParEGO: the expected improvement of a randomly scalarised loss.

Knowles: ParEGO: A Hybrid Algorithm With On-Line Landscape Approximation for Expensive Multiobjective Optimization
Problems. IEEE Transactions on Evolutionary Computation 10(1), 2006. For every question: normalise the losses to [0, 1],
draw a weight vector from a lattice of evenly spread ones, scalarise the losses by the augmented Chebyshev function with
rho = 0.05, fit one Gaussian process to the scalarised losses, and measure where the expected improvement over the best
is greatest. The likelihood is maximised on a subset of at most 11 d + 24 designs for d options, half of them the best
and half drawn from the others; predictions use all. These numbers, and the divisions of the lattice (10 for two
objectives, 4 for three, 3 for four), were checked against the author's own program (ParEGO.cc, 2004 to 2006), not
against the article's text, so no equation is numbered here.

Differences from the paper:
- The losses' ranges are those of the measured designs; the paper's experiments know the ranges of their problems.
- The Gaussian process is the library's (Matern 5/2, learned noise, priors, L-BFGS-B), not DACE with its learned
  exponents. The subset has at most `LARGEST_SUBSET` designs, for speed: that binds above 6 options.
- The candidates are the loop's; the paper maximises the expected improvement with an evolutionary algorithm.
- The initial designs are the study's; the paper asks for 11 d - 1.
- A design that is being measured counts with its predicted losses, a noisy loss with its posterior mean.
- Constraints: the loop multiplies by the probability of feasibility, and the best loss is that of a feasible design.
  While there is none, every design that is not known scores 1, so that this probability alone decides.
- One objective of a design alone does not determine its scalarised loss: a design counts once all of its
  objectives are known. While fewer than two are, the predicted losses are scalarised instead, and the lowest wins.
"""

from __future__ import annotations

import numpy as np

from flexibo._internal.arrays import FloatArray, IntArray
from flexibo.belief.belief import Belief
from flexibo.methods._scalarise import augmented_chebyshev, expected_improvement, lattice, measured, normalised
from flexibo.methods.base import ScoringMethod
from flexibo.surrogates import GaussianProcess

DIVISIONS = {1: 1, 2: 10, 3: 4}  # of the lattice, by the number of objectives: 11 weight vectors for two, 15 for three
FEWEST_DIVISIONS = 3  # for four objectives and more: 20 weight vectors for four
LARGEST_SUBSET = 100  # the hyperparameters are learned from at most this many designs: 25 ms of search for 17 options
LARGEST_DATA = 1000  # predictions use at most this many designs; options that objectives share can make very many known
SETTINGS = GaussianProcess(restarts=0)


def expected_scalarised_improvement(belief: Belief, rng: np.random.Generator) -> FloatArray:
    """The expected improvement of a randomly weighted loss for every candidate and bundle (m, b)."""
    Y = belief.mu[:, list(belief.optimised)]
    weights = drawn_weights(Y.shape[1], rng)
    rows, incumbents = measured(belief), belief.incumbents()
    if len(rows) < 2:
        losses = augmented_chebyshev(normalised(Y, Y), weights)
        improvement = losses.max() - losses
    elif not incumbents.any():
        improvement = np.ones(len(Y))
    else:
        losses = augmented_chebyshev(normalised(Y, Y[rows]), weights)
        mean, deviation = predictions(belief, rows, losses, rng)
        improvement = expected_improvement(mean, deviation, float(losses[incumbents].min()))
    scores = np.where(belief.known.all(axis=1), 0.0, improvement)
    return np.repeat(scores[:, None], len(belief.bundles), axis=1)


def drawn_weights(k: int, rng: np.random.Generator) -> FloatArray:
    """One weight vector (k,), drawn uniformly from the lattice."""
    vectors = lattice(k, DIVISIONS.get(k, FEWEST_DIVISIONS))
    return np.asarray(vectors[rng.integers(len(vectors))])


def predictions(
    belief: Belief, rows: IntArray, losses: FloatArray, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Means and standard deviations (m,) of the scalarised loss, learned from some candidates (s,).

    The losses (m,) are right where all optimised losses are known: there they are the means. `rng` draws the subset.
    """
    X, groups, y = belief.designs.encoded(), belief.designs.table.groups(), losses[rows]
    data = half_best(y, LARGEST_DATA, rng)
    first = half_best(y[data], min(11 * len(np.unique(groups)) + 24, LARGEST_SUBSET), rng)
    learned, others = data[first], np.delete(data, first)
    model = SETTINGS.fit(X[rows[learned]], y[learned], groups=groups, rng=rng)
    if len(others):
        model = model.extend(X[rows[others]], y[others])
    mean, deviation = losses.copy(), np.zeros(len(losses))
    unknown = ~belief.known[:, list(belief.optimised)].all(axis=1)
    if unknown.any():
        mean[unknown], deviation[unknown] = model.predict(X[unknown])
    return mean, deviation


def half_best(y: FloatArray, most: int, rng: np.random.Generator) -> IntArray:
    """The places of all of y (s,), or of at most `most`: half of them the lowest, half drawn from the rest."""
    if len(y) <= most:
        return np.arange(len(y))
    order = np.argsort(y, kind="stable")
    best, rest = order[: most // 2], order[most // 2 :]
    return np.concatenate([best, rng.permutation(rest)[: most - most // 2]])


PAREGO = ScoringMethod(
    name="parego",
    summary="Expected improvement of a random augmented Chebyshev scalarisation.",
    paper="Knowles 2006",
    acquisition=expected_scalarised_improvement,
    score="expected improvement {}",
    most_objectives=20,
)
