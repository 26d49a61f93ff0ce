"""PESMO: how much information an evaluation gives about the Pareto set.

Hernandez-Lobato, Hernandez-Lobato, Shah, Adams: Predictive Entropy Search for Multi-objective Bayesian Optimization.
ICML 2016. The authors' code is the branch PESM of Spearmint.

Pareto sets are sampled: functions are drawn jointly from the models, and the non-dominated designs of each draw are
taken for the true Pareto set. The score of an objective is the entropy of its loss minus the entropy that it has if
that is the Pareto set, averaged over the draws. Both distributions are taken as normal, so it is half the logarithm
of the ratio of two variances, 1/2 log v_PD - 1/S sum_s 1/2 log v_CPD(s). The variance given a Pareto set is found by
expectation propagation, see `flexibo.methods._expectation_propagation`: no measured design, no other member and not the
candidate itself dominates a member. The score of a design is the sum over its objectives. So one function serves the
coupled method and the decoupled one.

Differences from the paper:
- There is one belief; the authors' code averages over ten draws of the hyperparameters, with a Pareto set for each.
- The Pareto set of a draw is taken among the candidates, not searched by a grid and NSGA-II; where it is larger than
  `MEMBERS`, those that stay are spread along the front, in the authors' code in the space of designs.
- NormalLosses are noise-free where the paper's are noisy. A variance of `NOISE` times the largest one stands in for the
  noise, in both entropies, as the noise does there: what varies less than that is as good as known.
- A factor that holds with a probability of 1 - 1e-5 is left out.
- The factors of a candidate are updated once and in full; the authors' code takes a tenth of that update, which agrees
  less well with rejection sampling (`tests/references/test_pesmo_against_botorch_and_sampling.py`).
- A warped surrogate's losses are not normal, a function of them is; neither dominance nor what losses tell of each
  other depends on such a function, so the normal variables stand in for the losses.
- Where there are limits, members are legal in their draw, a measured design that is probably not legal excludes
  no other, the loop weighs scores by the probability of being legal, and constraints are scored by our rule, see
  `flexibo.methods._additive.with_constraints`.

Known weakness, of the published approximation: where two members certainly do not dominate each other but either may be
better in either objective, the true belief has two modes, and the normal one is too narrow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from flexibo._internal.arrays import BoolArray, FloatArray, IntArray
from flexibo.belief.belief import Belief, JointPrediction
from flexibo.methods._additive import bundled, with_constraints
from flexibo.methods._expectation_propagation import REACH, Conditioned, conditioned, conditioned_variances
from flexibo.methods._sampled_fronts import pareto_set, sampled_sets
from flexibo.methods.base import ScoringMethod
from flexibo.pareto import non_dominated
from flexibo.pareto.dominance import strictly_dominated
from flexibo.surrogates import Warped, untruncated

SETS = 10  # as in the authors' code: one for each of ten draws of the hyperparameters
MEMBERS = 50
"""As in the example of the authors' code; its default is 10. With two objectives and 1,000 candidates few sets are
larger; with 10 members the ranks of scores correlate by 0.65 to 0.85 only with those of whole sets."""
NOISE = 1e-6  # the variance of the noise, in units of the largest variance of a loss
CERTAIN = 5.0  # a loss is further from its mean than this many standard deviations once in a million
BLOCK = 1024  # how many candidates are scored at once: bounds the memory


def pesmo(belief: Belief, rng: np.random.Generator) -> FloatArray:
    """The expected reduction of entropy for every candidate and bundle (m, b), in nats."""
    losses = standardised(belief)
    scores = np.zeros_like(belief.mu)
    scores[:, list(belief.optimised)] = entropy_gains(belief, losses, likely_sets(belief, losses, rng))
    return bundled(with_constraints(scores, belief), belief.bundles)


@dataclass(frozen=True, slots=True)
class NormalLosses:
    """The objectives' losses as normal variables, each in units of its largest standard deviation."""

    mean: FloatArray  # (k, m)
    deviation: FloatArray  # (k, m); 0 where the loss is known exactly
    joints: tuple[JointPrediction, ...]  # one per objective, in its own units
    scale: FloatArray  # (k,): these units

    def covariance(self, rows: IntArray, others: IntArray) -> FloatArray:
        """Covariances between candidates, shape (k, r, o)."""
        pairs = zip(self.joints, self.scale, strict=True)
        return np.stack([joint.covariance(rows, others) / scale**2 for joint, scale in pairs])


def standardised(belief: Belief) -> NormalLosses:
    """The losses of the objectives, normal and free of units."""
    normal = [_normal(belief.joints[j]) for j in belief.optimised]
    joints, means, deviations = zip(*normal, strict=True)
    mean, deviation = np.stack(means), np.stack(deviations)
    # Of an objective that is known everywhere the range is left as a unit.
    scale = np.where(deviation.any(axis=1), deviation.max(axis=1), np.ptp(mean, axis=1))
    scale[scale == 0.0] = 1.0
    shifted = mean - mean.min(axis=1, keepdims=True)
    return NormalLosses(shifted / scale[:, None], deviation / scale[:, None], joints, scale)


def _normal(joint: JointPrediction) -> tuple[JointPrediction, FloatArray, FloatArray]:
    """The joint prediction of a loss, or of the normal variable that a warp makes of it; means and deviations (m,).

    Bounds are left out: expectation propagation needs normal variables.
    """
    model, mean = joint.model, joint.mean.copy()
    if isinstance(model, Warped) and model.warp is not None:
        mean = model.warp(mean)
        model = model.model
    if model is not None:
        model = untruncated(model)
    deviation, free = np.zeros_like(mean), ~joint.pinned
    if model is not None and free.any():
        mean[free], deviation[free] = model.predict(joint.X[free])
    return replace(joint, model=model, mean=mean), mean[joint.place], deviation[joint.place]


def likely_sets(belief: Belief, losses: NormalLosses, rng: np.random.Generator) -> list[IntArray]:
    """The Pareto sets of joint draws; without limits only designs are drawn that may be in one, for that is faster."""
    if np.isfinite(belief.limits).any():
        return sampled_sets(belief, SETS, rng, most=MEMBERS)
    best, worst = (losses.mean + side * CERTAIN * losses.deviation for side in (-1.0, 1.0))
    rows = np.flatnonzero(~strictly_dominated(best.T, worst.T[non_dominated(worst.T)]))
    Y = np.stack([belief.joints[j].draws(SETS, rng, rows=rows) for j in belief.optimised], axis=-1)
    columns = range(len(belief.optimised))
    return [rows[pareto_set(draw, columns, belief.limits[list(belief.optimised)], most=MEMBERS)] for draw in Y]


def entropy_gains(belief: Belief, losses: NormalLosses, sets: Sequence[IntArray]) -> FloatArray:
    """How much the entropy of each objective's loss falls given a Pareto set, on average over the sets (m, k)."""
    known = belief.known[:, list(belief.optimised)]
    scores = np.zeros(known.shape)
    candidates = np.flatnonzero((~known & (losses.deviation.T > 0)).any(axis=1))
    if not len(candidates):
        return scores
    measured = np.flatnonzero(known.any(axis=1) & (belief.feasible() >= 0.5))
    rows, beliefs = _conditioned_on(losses, sets, measured)
    for start in range(0, len(candidates), BLOCK):
        block = candidates[start : start + BLOCK]
        mean, variance = losses.mean[:, block], losses.deviation[:, block] ** 2
        cross = losses.covariance(block, rows)
        for given in beliefs:
            left = conditioned_variances(given, mean, variance, cross[:, :, given.rows])
            # Knowing more cannot raise an entropy; the authors' code cuts each set's gain at 0 as well.
            scores[block] += np.maximum(0.5 * np.log((variance + NOISE) / (left + NOISE)), 0.0).T
    return np.where(known, 0.0, scores / len(sets))


def _conditioned_on(
    losses: NormalLosses, sets: Sequence[IntArray], measured: IntArray
) -> tuple[IntArray, list[Conditioned]]:
    """The rows that matter (u,), and the belief about them given each set; `Conditioned.rows` count within these."""
    members = np.unique(np.concatenate(sets))
    measured = measured[_may_dominate(losses, measured, members).any(axis=1)]
    rows = np.union1d(members, measured)
    mean, covariance = losses.mean[:, rows], losses.covariance(rows, rows)
    beliefs = [
        conditioned(mean, covariance, np.searchsorted(rows, one), np.searchsorted(rows, np.setdiff1d(measured, one)))
        for one in sets
    ]
    return rows, beliefs


def _may_dominate(losses: NormalLosses, rows: IntArray, members: IntArray) -> BoolArray:
    """Whether each row (r,) may dominate each member (p,), whatever the correlations: shape (r, p)."""
    result = np.ones((len(rows), len(members)), dtype=np.bool_)
    for mean, deviation in zip(losses.mean, losses.deviation, strict=True):
        best, worst = mean - REACH * deviation, mean + REACH * deviation
        result &= best[rows, None] <= worst[members]
    return result


PESMO = ScoringMethod(
    name="pesmo",
    summary="Predictive entropy search for the Pareto set, by expectation propagation.",
    paper="Hernandez-Lobato et al. 2016",
    acquisition=pesmo,
    score="information about the Pareto set {}",
    joint_draws=True,
)
PESMO_DECOUPLED = replace(PESMO, name="pesmo-dec", summary="PESMO, one objective at a time.", coupled=False)
