"""Expectation propagation: what is believed of losses, given that no design dominates a member of a Pareto set.

The condition is a product of factors, one for each design x' and member x*: "x' does not dominate x*", that is
1 - prod_j Theta[f_j(x*) - f_j(x')]. Each is replaced by a product over the objectives of normal factors, such that the
belief with the factor and the belief with its replacement have equal means and variances (Minka, Expectation
Propagation for Approximate Bayesian Inference, UAI 2001).

A factor depends on differences g_j = f_j(x') - f_j(x*) only, so its replacement is exp(shift g - precision g^2 / 2),
two numbers for each objective; the published two-dimensional factor over (f_j(x'), f_j(x*)) has the precision matrix
precision [[1, -1], [-1, 1]] and the shift vector shift [1, -1]. Written so, no covariance is inverted, and known
losses, equal designs and almost equal ones are not special. Precisions are never negative (the authors' guard: such a
factor is left out until the next update), so every belief is a proper one, and no update can fail.

Letters: r designs, of which the first p are the members; k objectives; q factors; c candidates.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack
from scipy.special import ndtr

from flexibo._internal.arrays import BoolArray, FloatArray, IntArray

DAMPING = 0.5  # the share of the new replacement in an update, as in the authors' code
CHANGE = 1e-3  # updates end when no mean or covariance of standardised losses changes by more, as in the authors' code
MOST_UPDATES = 50  # about 13 are needed
IRRELEVANT = 1e-5  # a factor is left out if x' dominates x* with a smaller probability: it holds almost certainly
REACH = 4.27  # that probability is smaller if a loss is this many standard deviations worse
SAME = 1e-8  # a difference with a smaller variance is known (losses are standardised)
ROUNDING = 1e-12  # a smaller variance of a sum of losses is rounding
FAR = 37.0  # this many standard deviations away the tail of the normal distribution is still a positive number
ERROR = 1e-4  # the greatest relative error of a candidate's variance that comes from not solving an equation to the end
TINY = np.finfo(float).tiny


@dataclass(frozen=True, slots=True)
class Conditioned:
    """The belief given one Pareto set, in a form that extends to any design.

    A loss is its mean plus coordinates times independent standard normal variables, u of which carry all that the rows
    have in common. Variances and covariances are then products of coordinates, and remain proper when rounded.
    """

    rows: IntArray  # the designs that take part (r), members first
    whiten: FloatArray  # (k, r, u); covariances with the rows times this: coordinates before the condition
    lift: FloatArray  # (k, u); these times this: what a mean rises by
    settle: FloatArray  # (k, u, u); these times this: coordinates given the condition
    mean: FloatArray  # (k, p): of the members' losses
    members: FloatArray  # (k, p, u): coordinates of the members' losses given the condition


def replacement(mean: FloatArray, variance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The precision and the shift (k, ...) that replace the factor "a difference g is positive".

    They follow from the means and variances of g without the factor (k, ...), and are 0 where the precision would be
    negative. A difference without variance is known, and not replaced.
    """
    free = variance > SAME
    deviation = np.sqrt(np.where(free, variance, SAME))
    alpha = _not_worse(mean, deviation, free)
    above = ndtr(-alpha)
    below = 1.0 - above
    holds = np.zeros(mean.shape[1:])
    for tail in above:
        holds += tail * (1.0 - holds)  # 1 - prod(below), without cancellation
    rho = np.exp(-0.5 * alpha * alpha) / (math.sqrt(2.0 * math.pi) * holds)
    for j in range(len(mean)):
        for i in range(len(mean)):
            if i != j:
                rho[j] *= below[i]
    shrinkage = np.minimum(rho * (rho - alpha), 1.0 - SAME)  # the share of the variance that the factor takes away
    kept = free & (shrinkage > 0.0)
    precision = np.where(kept, shrinkage / (1.0 - shrinkage), 0.0) / deviation**2
    shift = np.where(kept, rho / deviation + precision * (mean + deviation * rho), 0.0)
    return precision, shift


def dominating(mean: FloatArray, variance: FloatArray) -> FloatArray:
    """The probability (...) that none of the normal differences g (k, ...) is positive."""
    free = variance > SAME
    return np.asarray(ndtr(_not_worse(mean, np.sqrt(np.where(free, variance, SAME)), free)).prod(axis=0))


def _not_worse(mean: FloatArray, deviation: FloatArray, free: BoolArray) -> FloatArray:
    """How many standard deviations of g (k, ...) lie below 0; where g is known, none or all. Equal is not worse."""
    alpha = np.clip(-mean / deviation, -FAR, FAR)
    alpha[~free] = np.where(mean[~free] <= deviation[~free], FAR, -FAR)
    return alpha


def conditioned(mean: FloatArray, covariance: FloatArray, members: IntArray, others: IntArray) -> Conditioned:
    """The belief in standardised losses given that neither the others (o,) nor other members (p,) dominate a member."""
    p = len(members)
    rows = np.concatenate([members, others])
    variance = covariance[:, rows, rows]
    gap = mean[:, rows, None] - mean[:, None, members]
    spread = variance[:, :, None] + variance[:, None, :p] - 2.0 * covariance[:, rows[:, None], members]
    relevant = (dominating(gap, spread) > IRRELEVANT) & (spread > SAME).any(axis=0)
    taking_part = np.append(np.ones(p, dtype=bool), relevant[p:].any(axis=1))
    rows, relevant = rows[taking_part], relevant[taking_part]
    root, whiten = _roots(covariance[:, rows[:, None], rows])
    lift, settle = _propagated(mean[:, rows], root, np.nonzero(relevant))
    rise = (root[:, :p] @ lift[:, :, None])[:, :, 0]
    return Conditioned(rows, whiten, lift, settle, mean[:, members] + rise, root[:, :p] @ settle)


def _propagated(mean: FloatArray, root: FloatArray, pairs: tuple[IntArray, ...]) -> tuple[FloatArray, FloatArray]:
    """The lift (k, u) and the settle (k, u, u) of all factors, updated together until nothing changes (`Conditioned`).

    Means (k, r) and coordinates (k, r, u) are those before; pairs are the design x' and the member x* of each factor.
    """
    a, b = pairs
    k, r, u = root.shape
    gap = mean[:, a] - mean[:, b]
    precision, shift = np.zeros_like(gap), np.zeros_like(gap)
    lift, settle = np.zeros((k, u)), np.tile(np.eye(u), (k, 1, 1))
    rise, V = np.zeros((k, r)), root @ root.swapaxes(1, 2)
    for _ in range(MOST_UPDATES if len(a) else 0):
        spread = np.maximum(V[:, a, a] + V[:, b, b] - 2.0 * V[:, a, b], 0.0)
        # Without the factor itself. The other precisions are not negative, so neither is the variance.
        share = np.maximum(1.0 - precision * spread, SAME)
        centre = (gap + rise[:, a] - rise[:, b] - shift * spread) / share
        new_precision, new_shift = replacement(centre, spread / share)
        precision = precision + DAMPING * (new_precision - precision)
        shift = shift + DAMPING * (new_shift - shift)
        T, h = _joined(precision, shift - precision * gap, a, b, r)
        settle = _settled(root.swapaxes(1, 2) @ T @ root)
        lift = (h[:, None, :] @ root @ settle @ settle.swapaxes(1, 2))[:, 0]
        after, before = root @ settle, (rise, V)
        rise, V = (root @ lift[:, :, None])[:, :, 0], after @ after.swapaxes(1, 2)
        if max(float(np.abs(new - old).max()) for new, old in zip((rise, V), before, strict=True)) < CHANGE:
            break
    return lift, settle


def _settled(precision: FloatArray) -> FloatArray:
    """The transposed inverse Cholesky factors (k, u, u) of the identity plus precisions (k, u, u)."""
    eye = np.eye(precision.shape[1])
    return np.stack([lapack.dtrtri(lapack.dpotrf(eye + P, lower=1, clean=1)[0], lower=1)[0].T for P in precision])


def _joined(
    precision: FloatArray, shift: FloatArray, a: IntArray, b: IntArray, r: int
) -> tuple[FloatArray, FloatArray]:
    """Precisions (k, q) and shifts (k, q) of differences a - b as those of the losses: (k, r, r) and (k, r)."""
    k = len(precision)
    T, h = np.zeros((k, r, r)), np.zeros((k, r, r))
    T[:, a, b] = precision
    h[:, a, b] = shift
    T += T.swapaxes(1, 2)
    T = np.eye(r) * T.sum(axis=2)[:, None, :] - T
    return T, h.sum(axis=2) - h.sum(axis=1)


def _roots(covariance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Matrices (k, r, u) for u uncertain designs: coordinates of the losses, and what turns covariances into these."""
    uncertain = np.flatnonzero((covariance.diagonal(axis1=1, axis2=2) > SAME).any(axis=0))
    values, vectors = np.linalg.eigh(covariance[:, uncertain[:, None], uncertain])
    deviation = np.sqrt(np.where(values > ROUNDING, values, 0.0))[:, None, :]
    root = np.zeros((len(covariance), covariance.shape[1], len(uncertain)))
    whiten = root.copy()
    root[:, uncertain] = vectors * deviation
    whiten[:, uncertain] = vectors * np.divide(1.0, deviation, out=np.zeros_like(deviation), where=deviation > 0)
    return root, whiten


def conditioned_variances(belief: Conditioned, mean: FloatArray, variance: FloatArray, cross: FloatArray) -> FloatArray:
    """The variances (k, c) of candidates' losses, given also that they do not dominate a member; each on its own.

    Means and variances (k, c) are those before, `cross` the covariances with the rows of the belief (k, c, r). The
    factors of a candidate are replaced once, all at the same time, as in the paper.
    """
    before = cross @ belief.whiten
    after = before @ belief.settle
    rest = np.maximum(variance - np.einsum("kcu,kcu->kc", before, before), 0.0)
    held = rest + np.einsum("kcu,kcu->kc", after, after)
    shared, own = after @ belief.members.swapaxes(1, 2), belief.members @ belief.members.swapaxes(1, 2)
    spread = held[:, :, None] + own.diagonal(axis1=1, axis2=2)[:, None, :] - 2.0 * shared
    gap = (mean + (before @ belief.lift[:, :, None])[:, :, 0])[:, :, None] - belief.mean[:, None, :]
    relevant = (gap <= REACH * np.sqrt(np.maximum(spread, SAME))).all(axis=0)
    precision = np.zeros_like(gap)
    precision[:, relevant], _ = replacement(gap[:, relevant], spread[:, relevant])
    return np.asarray(np.maximum(held - _falls(np.sqrt(precision), held, shared, own), 0.0))


def _falls(weight: FloatArray, variance: FloatArray, cross: FloatArray, covariance: FloatArray) -> FloatArray:
    """How much the variances of candidates' losses fall (k, c) by factors of their differences g from the members'.

    That is v' A^-1 v with v the covariances of the loss with g, A the identity plus the covariances of g, both weighed
    by the roots of the precisions (k, c, p). Solved for all candidates at once by conjugate gradients, which need
    products with A only. A is at least the identity, so the square of the residual bounds the error.
    """
    residual = weight * (variance[:, :, None] - cross)
    direction = residual
    square = np.einsum("kcp,kcp->kc", residual, residual)
    fall = np.zeros_like(variance)
    for _ in range(cross.shape[2]):
        unsolved = square > ERROR * (variance - fall)
        if not unsolved.any():
            break
        y = weight * direction
        total = y.sum(axis=2)
        product = y @ covariance - cross * total[:, :, None]
        product += (variance * total - np.einsum("kcp,kcp->kc", cross, y))[:, :, None]
        product *= weight
        product += direction
        bend = np.maximum(np.einsum("kcp,kcp->kc", direction, product), square)  # not less, but for rounding
        step = np.divide(square, bend, out=np.zeros_like(square), where=unsolved)
        fall += step * square
        residual = residual - step[:, :, None] * product
        before, square = square, np.einsum("kcp,kcp->kc", residual, residual)
        turn = np.divide(square, before, out=np.zeros_like(square), where=unsolved)
        direction = residual + turn[:, :, None] * direction
    return fall
