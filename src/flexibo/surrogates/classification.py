"""A Gaussian process of yes and no: how likely something holds for a design, learned from a few designs.

The log odds are a Gaussian process with a constant, a linear part and a squared-exponential part that has a length
scale for each option (Rasmussen and Williams 2006, chapter 3: Laplace's approximation). Which options matter, how far
an answer reaches along each of them, and whether more of it is always worse, is not known, and with a handful of
answers no single choice is safe. So hypotheses about them are drawn, those near good ones are tried too, and
predictions are averaged by how well each explains the data (its approximate marginal likelihood). In half of the cases
an option is assumed not to matter: a limit of the memory is often about one or two options.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve, cholesky, solve_triangular
from scipy.special import expit, log_expit

from flexibo._internal.arrays import BoolArray, FloatArray, IntArray

VARIANCE = 25.0  # of the log odds: most things hold or do not, and few do by chance
CONSTANT = 4.0  # variance of the constant part: the share of designs for which it holds
SHORTEST, LONGEST = 0.1, 2.0  # length scales, in units of an option's range
IRRELEVANT = 0.5  # how often an option is assumed not to matter
TREND = 25.0  # variance of the slope of the linear part, over half the range of an option
STEADY = 0.5  # how often an option is assumed to have no linear part
DRAWN, NEARBY, ROUNDS = 24, 12, 2  # hypotheses: drawn, and in each round near those that explain the data
KEPT = 8  # of these, the ones that explain the data best are averaged
STEPS, CLOSE = 30, 1e-4  # Newton's method


@dataclass(frozen=True, slots=True)
class Classifier:
    """A fitted classifier; `hypotheses` (h, 2, g): precision and trend of each option."""

    X: FloatArray  # (s, d): encoded designs
    held: BoolArray  # (s,)
    groups: IntArray  # (d,): the option of each column
    hypotheses: FloatArray  # (h, 2, g): one over the squared length scale of each option, and the variance of its slope
    weights: FloatArray  # (h,): how probable each hypothesis is
    modes: tuple[_Mode, ...]  # (h)

    @classmethod
    def fit(cls, X: FloatArray, held: BoolArray, *, groups: IntArray, hypotheses: FloatArray) -> Classifier:
        """The classifier that was learned from encoded designs X (s, d), given hypotheses (h, 2, g)."""
        parts = _parts(X, X, groups)
        modes = tuple(_mode(_kernel(parts, hypothesis), held) for hypothesis in hypotheses)
        return cls(X, held, groups, hypotheses, _weights([mode.evidence for mode in modes]), modes)

    def chances(self, X: FloatArray) -> FloatArray:
        """How likely it holds for each of the encoded designs (m, d)."""
        parts, chance = _parts(X, self.X, self.groups), np.zeros(len(X))
        squares = _squares(X, self.groups)
        for hypothesis, weight, mode in zip(self.hypotheses, self.weights, self.modes, strict=True):
            prior = VARIANCE + CONSTANT + hypothesis[1] @ squares
            chance += weight * mode.chances(_kernel(parts, hypothesis), prior)
        return chance


def hypotheses(X: FloatArray, held: BoolArray, *, groups: IntArray, rng: np.random.Generator) -> FloatArray:
    """The hypotheses (h, 2, g) that explain the answers (s,) for encoded designs (s, d) best; see `Classifier`."""
    parts, count = _parts(X, X, groups), int(groups.max(initial=-1)) + 1
    found = _drawn(DRAWN, count, rng)
    evidence = [_mode(_kernel(parts, hypothesis), held).evidence for hypothesis in found]
    for _ in range(ROUNDS):
        parents = found[rng.choice(len(found), NEARBY, p=_weights(evidence))]
        changed = rng.random((NEARBY, 1, count)) < 1.5 / max(count, 1)
        nearby = np.where(changed, _drawn(NEARBY, count, rng), parents)
        evidence += [_mode(_kernel(parts, hypothesis), held).evidence for hypothesis in nearby]
        found = np.concatenate([found, nearby])
    return found[np.argsort(np.negative(evidence), kind="stable")[:KEPT]]


def _drawn(h: int, g: int, rng: np.random.Generator) -> FloatArray:
    lengths = np.exp(rng.uniform(np.log(SHORTEST), np.log(LONGEST), (h, g)))
    matters = rng.random((h, g)) >= IRRELEVANT
    matters[0] = True
    sloped = matters & (rng.random((h, g)) >= STEADY)
    return np.stack([np.where(matters, lengths**-2.0, 0.0), np.where(sloped, TREND, 0.0)], axis=1)


def _weights(evidence: list[float]) -> FloatArray:
    weights = np.exp(np.array(evidence) - max(evidence))
    return np.asarray(weights / weights.sum())


def _parts(X: FloatArray, Z: FloatArray, groups: IntArray) -> FloatArray:
    """Squared distances and products of the centred columns (2, g, m, s) of all pairs of designs, for each option."""
    parts = np.zeros((2, int(groups.max(initial=-1)) + 1, len(X), len(Z)))
    for column, option in enumerate(groups.tolist()):
        parts[0, option] += (X[:, column, None] - Z[:, column]) ** 2
        parts[1, option] += (2.0 * X[:, column, None] - 1.0) * (2.0 * Z[:, column] - 1.0)
    return parts


def _squares(X: FloatArray, groups: IntArray) -> FloatArray:
    """The squared norm of the centred columns (g, m) of each design, for each option."""
    squares = np.zeros((int(groups.max(initial=-1)) + 1, len(X)))
    for column, option in enumerate(groups.tolist()):
        squares[option] += (2.0 * X[:, column] - 1.0) ** 2
    return squares


def _kernel(parts: FloatArray, hypothesis: FloatArray) -> FloatArray:
    """The covariance (m, s) of the log odds."""
    distances, products = (np.tensordot(own, part, axes=1) for own, part in zip(hypothesis, parts, strict=True))
    return np.asarray(VARIANCE * np.exp(-0.5 * distances) + CONSTANT + products)


@dataclass(frozen=True, slots=True)
class _Mode:
    """The most probable log odds of s designs under one hypothesis, and the curvature there."""

    slope: FloatArray  # (s,): of the log likelihood
    root: FloatArray  # (s,): of its curvature
    factor: FloatArray  # (s, s): lower Cholesky factor of 1 + root K root
    evidence: float  # the approximate log marginal likelihood

    def chances(self, cross: FloatArray, prior: FloatArray) -> FloatArray:
        """How likely it holds (m,), given the covariance (m, s) with the designs of the data, and the variance (m,)."""
        mu = cross @ self.slope
        known = solve_triangular(self.factor, (cross * self.root).T, lower=True)
        square = np.maximum(prior - (known**2).sum(axis=0), 0.0)
        return np.asarray(expit(mu / np.sqrt(1.0 + np.pi * square / 8.0)))


def _mode(K: FloatArray, held: BoolArray) -> _Mode:
    """Laplace's approximation (Rasmussen and Williams, algorithm 3.1)."""
    sign, odds = np.where(held, 1.0, -1.0), np.zeros(len(held))
    for _ in range(STEPS):
        chance = expit(odds)
        root = np.sqrt(chance * (1.0 - chance))
        factor = cholesky(np.eye(len(odds)) + root[:, None] * K * root, lower=True)
        target = root**2 * odds + held - chance
        inner = target - root * cho_solve((factor, True), root * (K @ target))
        before, odds = odds, K @ inner
        if np.abs(odds - before).max(initial=0.0) < CLOSE:
            break
    evidence = -0.5 * inner @ odds + log_expit(sign * odds).sum() - np.log(np.diag(factor)).sum()
    return _Mode(held - expit(odds), root, factor, float(evidence))
