"""MESMO and MESMOC against BoTorch on the same models and the same draws, and both against Monte Carlo.

BoTorch has no MESMO of 2019 any more. Its `qMultiObjectiveMaxValueEntropy` was the sum of single-objective max-value
entropy searches, each bounded by the best value in sampled fronts; the summands are still there (`qMaxValueEntropy`).
`qLowerBoundMultiObjectiveMaxValueEntropySearch` (Tu et al. 2022) cuts the joint distribution of all objectives off at
any union of boxes. With the one box that the best values span it is MESMO; with the boxes below a whole front it is
another acquisition, which ranks designs differently. Rejection sampling shows that each computes what it says.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm, spearmanr

from flexibo._internal.arrays import FloatArray, IntArray
from flexibo.belief.belief import Belief
from flexibo.methods._sampled_fronts import pareto_set
from flexibo.methods.mesmo import DRAWS, Normals, least_losses, max_value_scores, mesmo
from flexibo.methods.mesmoc import front_bounds, mesmoc
from flexibo.pareto.dominance import strictly_dominated
from flexibo.surrogates import GaussianProcess, Hyperparameters

NOISE, VARIANCE = 1e-6, 1.3
SEEDS = (1, 3)  # fronts of about 30 designs; with the short fronts of others all acquisitions agree


@dataclass(frozen=True)
class Table:
    """A joint belief whose draws are given (s, m)."""

    Y: FloatArray

    def draws(self, count: int, rng: np.random.Generator, *, rows: IntArray | None = None) -> FloatArray:
        return self.Y[:count] if rows is None else self.Y[:count, rows]


@dataclass(frozen=True)
class Problem:
    """Standardised losses: data, 500 designs, what our models think of them and draws over designs and data."""

    X: FloatArray
    Y: FloatArray
    designs: FloatArray
    length_scales: list[tuple[float, ...]]
    mu: FloatArray
    sigma: FloatArray
    drawn: FloatArray

    @property
    def bounds(self) -> FloatArray:
        return least_losses(self.drawn, np.full(self.Y.shape[1], np.inf))

    def front(self, draw: int) -> FloatArray:
        n = self.Y.shape[1]
        return self.drawn[draw][pareto_set(self.drawn[draw], range(n), np.full(n, np.inf))]


def conditioned(X: FloatArray, y: FloatArray, length_scales: tuple[float, ...]) -> GaussianProcess:
    known = Hyperparameters(length_scales=length_scales, variance=VARIANCE, noise=NOISE)
    return GaussianProcess().condition(X, y, groups=np.arange(X.shape[1]), hyperparameters=known)


def plain_scores(p: Problem, bounds: FloatArray) -> FloatArray:
    """MESMO's score (500,) of all objectives together."""
    return max_value_scores(Normals(p.mu, p.sigma, np.zeros_like(p.mu)), bounds).sum(axis=1)


def problem(seed: int, n: int = 2, d: int = 2, s: int = 15) -> Problem:
    rng = np.random.default_rng(seed)
    X, best = rng.random((s, d)), rng.random((n, d))
    waves = rng.standard_normal((d, n))
    Y = ((X[:, None] - best) ** 2).sum(axis=2) + 0.2 * np.sin(5.0 * X @ waves)
    Y = (Y - Y.mean(axis=0)) / Y.std(axis=0)
    designs = rng.random((500, d))
    scales = [tuple((0.4 * (1.0 + 0.3 * rng.random(d))).tolist()) for _ in range(n)]
    models = [conditioned(X, Y[:, j], scales[j]) for j in range(n)]
    mu, sigma = (np.stack(part, axis=1) for part in zip(*(model.predict(designs) for model in models), strict=True))
    drawn = np.stack([model.draws(np.vstack([designs, X]), DRAWS, rng) for model in models], axis=-1)
    return Problem(X, Y, designs, scales, mu, sigma, drawn)


def botorch_models(p: Problem) -> list[Any]:
    """The same processes in BoTorch, of negated losses: it maximises."""
    import torch
    from botorch.models import SingleTaskGP
    from gpytorch.kernels import MaternKernel, ScaleKernel
    from gpytorch.means import ZeroMean

    models = []
    for j, scales in enumerate(p.length_scales):
        kernel = ScaleKernel(MaternKernel(nu=2.5, ard_num_dims=len(scales))).double()
        kernel.outputscale = VARIANCE
        kernel.base_kernel.lengthscale = torch.tensor(scales)
        y = torch.tensor(-p.Y[:, [j]])
        noise = torch.full_like(y, NOISE)
        mean = ZeroMean()
        model = SingleTaskGP(torch.tensor(p.X), y, noise, covar_module=kernel, mean_module=mean, outcome_transform=None)
        models.append(model.eval())
    return models


def botorch_scores(p: Problem, cells: list[FloatArray]) -> FloatArray:
    """BoTorch's max-value entropy search without an approximation for noise; cells (2, boxes, n) for each draw."""
    import torch
    from botorch.acquisition.multi_objective.max_value_entropy_search import (
        qLowerBoundMultiObjectiveMaxValueEntropySearch as EntropySearch,
    )
    from botorch.models import ModelListGP

    boxes = np.zeros((len(cells), 2, max(cell.shape[1] for cell in cells), p.Y.shape[1]))
    for i, cell in enumerate(cells):
        boxes[i, :, : cell.shape[1]] = cell
    search = EntropySearch(ModelListGP(*botorch_models(p)), torch.tensor(boxes), estimation_type="0")
    with torch.no_grad():
        return np.asarray(search(torch.tensor(p.designs)[:, None]).numpy())


def one_box(bound: FloatArray) -> FloatArray:
    """Everything that is not better than the bounds (n,), in BoTorch's signs: shape (2, 1, n)."""
    return np.stack([np.full_like(bound, -1e10), -bound])[:, None]


def whole_front(front: FloatArray) -> FloatArray:
    """What a front (f, n) dominates, as boxes in BoTorch's signs: shape (2, boxes, n)."""
    import torch
    from botorch.acquisition.multi_objective.utils import compute_sample_box_decomposition

    return np.asarray(compute_sample_box_decomposition(torch.tensor(-front)[None])[0].numpy())


def believed(make_belief: Callable[..., Belief], p: Problem, **fields: object) -> Belief:
    """A belief in the designs alone: their losses and, as draws, the given ones (the last rows are the data's)."""
    mu = np.vstack([p.mu, p.Y])
    sigma = np.vstack([p.sigma, np.zeros_like(p.Y)])
    tables = tuple(Table(p.drawn[:, :, j]) for j in range(p.Y.shape[1]))
    return replace(make_belief(mu, sigma, **fields), joints=tables)  # type: ignore[arg-type]


def rank_correlation(ours: FloatArray, theirs: FloatArray) -> float:
    """Spearman's, where a score is more than rounding."""
    told = (ours > 1e-9) | (theirs > 1e-9)
    return float(spearmanr(ours[told], theirs[told])[0])


@pytest.fixture
def one_thread() -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("botorch")
    torch.set_num_threads(1)


def against_botorch(test: Any) -> Any:
    """Marks a test that needs BoTorch, and skips it where there is none."""
    return pytest.mark.botorch(pytest.mark.usefixtures("one_thread")(test))


@against_botorch
def test_both_models_think_the_same() -> None:
    import torch

    p = problem(1)
    for j, model in enumerate(botorch_models(p)):
        with torch.no_grad():
            posterior = model.posterior(torch.tensor(p.designs))
        assert np.allclose(-posterior.mean.numpy()[:, 0], p.mu[:, j], atol=1e-6)
        assert np.allclose(posterior.variance.sqrt().numpy()[:, 0], p.sigma[:, j], atol=1e-6)


@against_botorch
@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("seed", SEEDS)
def test_mesmo_is_botorchs_search_cut_off_at_the_best_values(
    make_belief: Callable[..., Belief], seed: int, n: int
) -> None:
    p = problem(seed, n)
    ours = mesmo(believed(make_belief, p), np.random.default_rng(0))[:500, 0]
    theirs = botorch_scores(p, [one_box(bound) for bound in p.bounds])
    assert np.allclose(ours, theirs, atol=1e-9)
    assert rank_correlation(ours, theirs) > 0.9999


@against_botorch
@pytest.mark.parametrize("seed", SEEDS)
def test_mesmo_ranks_as_the_sum_of_botorchs_single_searches(seed: int) -> None:
    import torch
    from botorch.acquisition.max_value_entropy_search import qMaxValueEntropy

    p = problem(seed)
    designs = torch.tensor(p.designs[:200])
    theirs = np.zeros(200)
    torch.manual_seed(0)
    for j, model in enumerate(botorch_models(p)):
        search = qMaxValueEntropy(model, designs, num_mv_samples=DRAWS)
        search.posterior_max_values = torch.tensor(-p.bounds[:, [j]])
        with torch.no_grad():
            theirs += search(designs[:, None]).numpy()
    ours = plain_scores(p, p.bounds)[:200]
    told = ours > 1e-3  # theirs is a Monte-Carlo value
    assert told.sum() > 30
    assert np.allclose(ours, theirs, atol=0.03)
    assert spearmanr(ours[told], theirs[told])[0] > 0.98


@against_botorch
@pytest.mark.parametrize("seed", SEEDS)
def test_mesmoc_is_botorchs_search_with_a_box_for_the_constraint(make_belief: Callable[..., Belief], seed: int) -> None:
    p = problem(seed, n=3)
    limits = np.array([np.inf, np.inf, float(np.median(p.Y[:, 2]))])
    bounds = front_bounds(p.drawn, (0, 1), limits)
    ours = mesmoc(believed(make_belief, p, optimised=(0, 1), limits=limits), np.random.default_rng(0))[:500, 0]
    theirs = botorch_scores(p, [one_box(bound) for bound in bounds])
    legal = p.mu[:, 2] <= limits[2]
    assert not ours[~legal].any()
    # Further than five deviations BoTorch's probabilities, differences from 1, lose their digits.
    exact = legal & ((p.mu - bounds[:, None]) / p.sigma > -5.0).all(axis=(0, 2))
    assert exact.sum() > 40
    assert np.allclose(ours[exact], theirs[exact], atol=1e-6)
    assert rank_correlation(ours[exact], theirs[exact]) > 0.9999


@against_botorch
@pytest.mark.parametrize("seed", SEEDS)
def test_cutting_off_at_the_whole_front_is_another_acquisition(seed: int) -> None:
    p = problem(seed)
    ours = plain_scores(p, p.bounds)
    theirs = botorch_scores(p, [whole_front(p.front(draw)) for draw in range(DRAWS)])
    assert 0.85 < spearmanr(ours, theirs)[0] < 0.95
    assert ours[theirs.argmax()] < 0.5 * ours.max()


@against_botorch
@pytest.mark.parametrize("seed", SEEDS)
def test_rejection_sampling_agrees_with_each_about_its_own_region(seed: int) -> None:
    """A normal sample, what a region rejects taken out: the entropy of the rest decides who computes what."""
    p = problem(seed)
    front, bound = p.front(0), p.bounds[0]
    ours = plain_scores(p, bound[None])
    theirs = botorch_scores(p, [whole_front(front)])
    z = np.random.default_rng(seed).standard_normal((100_000, 2))
    surprise = -norm.logpdf(z).sum(axis=1)
    checked, apart = 0, 0
    for i in np.argsort(ours + theirs)[::-8]:
        Y = p.mu[i] + p.sigma[i] * z
        for told, stays in ((ours[i], (bound <= Y).all(axis=1)), (theirs[i], strictly_dominated(Y, front))):
            if stays.sum() > 5_000:
                entropy = surprise[stays].mean() + np.log(stays.mean())
                assert told == pytest.approx(2.0 * norm.entropy() - entropy, abs=0.05)
                checked += 1
        apart += abs(ours[i] - theirs[i]) > 0.2
    assert checked >= 20
    assert apart >= 3


@pytest.mark.parametrize("seed", SEEDS)
def test_for_one_objective_the_score_follows_the_true_information_about_the_best_loss(seed: int) -> None:
    """The mutual information of a loss and the least loss, counted in joint draws.

    The closed form is an approximation: a bound is attained by some design, which the truncation does not know.
    """
    p = problem(seed, n=1)
    model = conditioned(p.X, p.Y[:, 0], p.length_scales[0])
    drawn = model.draws(np.vstack([p.designs[:60], p.X]), 20_000, np.random.default_rng(seed))
    least = drawn.min(axis=1)
    truth = np.array([information(drawn[:, i], least) for i in range(60)])
    ours = plain_scores(p, least[:DRAWS, None])[:60]
    assert truth.max() > 0.1
    assert np.corrcoef(ours, truth)[0, 1] > 0.85
    assert truth[ours.argmax()] > 0.65 * truth.max()


def information(a: FloatArray, b: FloatArray, bins: int = 16) -> float:
    """The mutual information of two samples (s,), from counts in equally likely bins, less its expected bias."""
    i, j = (np.argsort(np.argsort(x)) * bins // len(x) for x in (a, b))
    table = np.bincount(i * bins + j, minlength=bins * bins).reshape(bins, bins) / len(a)
    even = table.sum(axis=1, keepdims=True) * table.sum(axis=0, keepdims=True)
    some = table > 0
    return float((table[some] * np.log(table[some] / even[some])).sum()) - (bins - 1) ** 2 / (2 * len(a))
