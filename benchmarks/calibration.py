"""Whether certificates keep their word: on functions drawn from the model, and on problems whose values are all known.

A certificate is looked at at several moments of a run, and held against the truth over the candidates that it speaks
of. On a drawn function the models are right by construction if they know the hyperparameters, and nearly so if
they learn them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from flexibo import Objective, Space, Study
from flexibo._internal.arrays import BoolArray, FloatArray, IntArray
from flexibo.belief.reported import reported
from flexibo.compare.contestants import OwnContestant, enter
from flexibo.compare.metered_problem import MeteredProblem
from flexibo.compare.problems.table import find_problem
from flexibo.compare.runs import Allowance
from flexibo.objectives import purchases
from flexibo.pareto import hypervolume, non_dominated
from flexibo.results.confidence import confidence
from flexibo.results.known_designs import KnownDesigns
from flexibo.space import Designs
from flexibo.surrogates import Hyperparameters, Surrogate
from flexibo.surrogates.kernels import KERNELS, scaled, squared_distances
from flexibo.surrogates.posterior import Posterior, condition

SHARES = (0.25, 0.5, 1.0)
"""The shares of the budget at which a certificate is looked at."""
ROUNDING = 1e-9
Told: TypeAlias = Literal["known", "learned", "learned and warped", "learned and averaged"]
SURROGATES: dict[Told, str] = {
    "learned": "gp-plain",
    "learned and warped": "gp-warped",
    "learned and averaged": "gp",
}
KERNEL, EXACT = "matern52", 1e-8


@dataclass(frozen=True, slots=True)
class Look:
    """A certificate at one moment, and the truth.

    Attributes:
        share: The share of the budget that was spent.
        bound: The certified error.
        error: The true one, over the candidates.
        holds: Whether the hypervolume that was missed is within the gap.
        boxes_hold: Whether every loss of every candidate is within its box.
        confident: How many designs of the front were called confident.
        wrongly_confident: How many of these are not on the front of the candidates.
    """

    share: float
    bound: float
    error: float
    holds: bool
    boxes_hold: bool
    confident: int
    wrongly_confident: int


def look(study: Study, losses: Callable[[Designs], FloatArray], share: float, delta: float) -> Look:
    """What a study certifies now, held against the true losses (m, n) of designs."""
    history, certificate = study.history, study.certificate(delta)
    designs = study.predictor.pool(history)
    truth, reference = losses(designs), study.predictor.reference(history)
    known = KnownDesigns.of(study.predictor, history)
    front = reported(history, known.models, complete=False)
    places = _places(designs, history.designs[front])
    best, found = hypervolume(truth, reference), hypervolume(truth[places], reference)
    sure = confidence(study.predictor, history, delta=delta)
    slack = ROUNDING * np.ptp(truth, axis=0)
    within = (sure.best <= truth + slack) & (truth <= sure.worst + slack)
    confident = [place for place, i in zip(places, front, strict=True) if known.standings[i] == "confident"]
    on_front: BoolArray = non_dominated(truth)
    return Look(
        share=share,
        bound=certificate.relative,
        error=1.0 - found / best if best > 0 else 0.0,
        holds=bool(best - found <= certificate.gap + ROUNDING * best),
        boxes_hold=bool(within.all()),
        confident=len(confident),
        wrongly_confident=int((~on_front[confident]).sum()) if confident else 0,
    )


def _places(designs: Designs, some: Designs) -> IntArray:
    """Where some designs (f) are among designs (m): shape (f,)."""
    at = {key: i for i, key in enumerate(designs.keys().tolist())}
    return np.array([at[key] for key in some.keys().tolist()], dtype=np.int64)


@dataclass(frozen=True, slots=True)
class KnownProcess:
    """A Gaussian process of mean 0 with known hyperparameters: the right model of functions drawn with them."""

    hyperparameters: Hyperparameters
    posterior: Posterior | None = None

    def fit(self, X: FloatArray, y: FloatArray, *, groups: IntArray, rng: np.random.Generator) -> Surrogate:
        """The process conditioned on the losses y (s,) of the designs X (s, d)."""
        known = condition(
            X, y, groups=groups, location=0.0, scale=1.0, kernel=KERNEL, hyperparameters=self.hyperparameters
        )
        return replace(self, posterior=known)

    def extend(self, X: FloatArray, y: FloatArray) -> Surrogate:
        """The process that knows further rows."""
        assert self.posterior is not None
        return replace(self, posterior=self.posterior.extend(X, y))

    def predict(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and deviation (m,) of the noise-free loss."""
        assert self.posterior is not None
        return self.posterior.predict(X)

    def held_out(self) -> FloatArray:
        """The residuals (s,) of the losses."""
        assert self.posterior is not None
        return self.posterior.held_out()


@dataclass(frozen=True, slots=True)
class Drawing:
    """How functions are drawn from the model, and what a study of them gets.

    Attributes:
        told: Whether the models know the hyperparameters.
        n: The number of objectives.
        designs: How many designs the pool has.
        options: How many options a design has.
        length_scale: Of every option.
        noise: The variance of readings; 0 for exact ones. The functions have variance 1.
        n_initial: How many designs are measured first.
        evaluations: How many evaluations follow.
    """

    told: Told = "known"
    n: int = 2
    designs: int = 100
    options: int = 2
    length_scale: float = 0.3
    noise: float = 0.0
    n_initial: int = 5
    evaluations: int = 40


def drawn_looks(drawing: Drawing, seed: int, *, delta: float, shares: Sequence[float] = SHARES) -> list[Look]:
    """The certificates of one study of functions that are drawn from the model."""
    rng = np.random.default_rng((seed, 23))
    hyperparameters = Hyperparameters(
        length_scales=(drawing.length_scale,) * drawing.options, variance=1.0, noise=drawing.noise or EXACT
    )
    rows = rng.random((drawing.designs, drawing.options))
    space = Space.from_designs({f"x{i}": column.tolist() for i, column in enumerate(rows.T)})
    assert space.pool is not None
    Y = _draw(space, hyperparameters, drawing.n, rng)
    names = [f"f{j}" for j in range(drawing.n)]
    study = Study(
        space,
        [Objective(name, noisy=drawing.noise > 0) for name in names],
        surrogate=KnownProcess(hyperparameters) if drawing.told == "known" else SURROGATES[drawing.told],
        n_initial=drawing.n_initial,
        seed=seed,
        stop={"max_evaluations": drawing.n * drawing.n_initial + drawing.evaluations},
    )
    at = {key: i for i, key in enumerate(space.pool.keys().tolist())}

    def losses(designs: Designs) -> FloatArray:
        return Y[[at[key] for key in designs.keys().tolist()]]

    found: list[Look] = []
    left = [drawing.n * drawing.n_initial + round(share * drawing.evaluations) for share in shares]
    while evaluation := study.ask():
        truth = losses(space.designs([evaluation.design]))[0, names.index(evaluation.objective)]
        study.tell(evaluation, float(truth + np.sqrt(drawing.noise) * rng.standard_normal()), cost=1.0)
        if len(study.history.measurements) in left:
            found.append(look(study, losses, shares[len(found)], delta))
    return found + [look(study, losses, share, delta) for share in shares[len(found) :]]


def _draw(space: Space, hyperparameters: Hyperparameters, n: int, rng: np.random.Generator) -> FloatArray:
    """Losses (m, n) of all designs of a pool, drawn from the process."""
    assert space.pool is not None
    Z = scaled(space.pool.encoded(), np.array(hyperparameters.length_scales), space.groups())
    K = KERNELS[KERNEL].correlation(squared_distances(Z, Z)) + EXACT * np.eye(len(Z))
    return np.asarray(np.linalg.cholesky(K) @ rng.standard_normal((len(Z), n)))


def problem_looks(name: str, seed: int, *, delta: float, shares: Sequence[float] = SHARES) -> list[Look]:
    """The certificates of one run of the default method on a known problem, with the allowance of the comparisons."""
    problem, allowance = find_problem(name), Allowance()
    metered = MeteredProblem(problem, seed=seed)
    leads = [purchase.objective for purchase in purchases(problem.objectives)]
    initial = [
        metered.measure(design, lead) for design in problem.initial_designs(allowance.n_initial, seed) for lead in leads
    ]
    opening, amount = metered.spent, allowance.amount(problem)
    contestant = enter(problem, "flexibo", initial, seed=seed, budget=amount)
    assert isinstance(contestant, OwnContestant)
    contestant.begin(initial)
    found: list[Look] = []
    while len(found) < len(shares) and (suggestion := contestant.ask(amount - (metered.spent - opening))) is not None:
        measurement = metered.measure(problem.space.design(suggestion.design), suggestion.objectives[0])
        spent = metered.spent - opening - ROUNDING * amount
        while len(found) < len(shares) and shares[len(found)] * amount < spent:
            found.append(look(contestant.study, problem.losses, shares[len(found)], delta))
        contestant.tell([measurement])
    return found + [look(contestant.study, problem.losses, share, delta) for share in shares[len(found) :]]
