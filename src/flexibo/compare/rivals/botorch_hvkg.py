"""BoTorch's hypervolume knowledge gradient, decoupled and cost-aware, at the settings of BoTorch's own tutorial.

The tutorial is "Multi-Objective BO with Decoupled Evaluations using HVKG" (BoTorch, tutorials/decoupled_mobo); the
method is Daulton, Balandat, Bakshy: Hypervolume Knowledge Gradient, ICML 2023. A question is what the tutorial's loop
does between two measurements: fit the models, find the current value, optimise the acquisition for each purchase.

Differences from the tutorial: losses are standardised, the cheapest purchase costs 1 (there the costs are 3 and 1),
objectives that are measured together are one purchase, and the noise is inferred where readings vary. Where no set of
designs beats the reference point by the posterior means, the acquisition would be 0 everywhere; the reference point is
then that of BoTorch's `infer_reference_point`, from the means of the measured designs. Of equal purchases a random one
is chosen.

It recommends, as the tutorial does, the front of the posterior means over the whole space: all designs of a pool or a
small space; otherwise what NSGA-II finds (BoTorch's `optimize_with_nsgaii`, with half of the tutorial's 100
generations), with values rounded to legal ones, and the measured designs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from flexibo._internal.arrays import FloatArray
from flexibo.compare.rivals._botorch import (
    FRONT,
    Columns,
    Fit,
    Memory,
    fresh_design,
    import_quietly,
    tensor,
    tutorial_model,
    unit_bounds,
)
from flexibo.compare.rivals.base import RivalEntry, Setting, Suggestion
from flexibo.space import Design, Designs

LEAST_COST = 1e-6
"""The smallest cost, as a share of the largest: BoTorch divides by it."""
N_LEGAL = 4_096
"""A design that a rule forbids is replaced by the nearest of this many legal ones."""
MOST_LISTED = 10_000
"""The front of a product space of up to this many designs is that of all designs, as in a pool."""
FORBIDDEN = 1e3
"""Subtracted from the standardised means of designs that a rule forbids."""


@dataclass(frozen=True, slots=True)
class HvkgEffort:
    """The effort of the search; the defaults are the tutorial's, but for the number of generations.

    A search starts from the best `restarts` of `raw_samples` random designs, that for the current value likewise.
    `iterations`, the maximal number of steps, is BoTorch's default. `batch_limit` starting points are optimised
    together; `start_batch` random designs are scored together, which affects the time and not the choice (None for
    `batch_limit`, which the tutorial's options imply). The front is bred from `population` designs for `generations`.
    """

    n_pareto: int = 10
    n_fantasies: int = 8
    restarts: int = 1
    raw_samples: int = 512
    value_restarts: int = 20
    value_raw_samples: int = 1_024
    iterations: int = 2_000
    batch_limit: int = 5
    start_batch: int | None = 64
    population: int = 250
    generations: int = 50

    def options(self) -> dict[str, int]:
        """The options of BoTorch's optimiser."""
        start = self.batch_limit if self.start_batch is None else self.start_batch
        return {"batch_limit": self.batch_limit, "init_batch_limit": start, "maxiter": self.iterations}


class HypervolumeKnowledgeGradient:
    """Asks for the design and the objective whose measurement has the highest value per cost."""

    def __init__(self, setting: Setting, *, effort: HvkgEffort | None = None) -> None:
        self.fallbacks = 0
        self._setting = setting
        self._effort = effort or HvkgEffort()
        self._columns = Columns(setting.space)
        self._memory = Memory(setting, self._columns, partial(tutorial_model, noisy=setting.noisy))
        self._readings = self._memory.readings
        self._groups = _guessed_groups(setting)
        import_quietly()

    def tell(self, design: Design, losses: Mapping[str, float]) -> None:
        """Learn the losses of a design."""
        self._readings.add(design, losses)
        told = [lead for lead in self._setting.leads if lead in losses]
        if len(told) == 1:
            others = {lead: names for lead, names in self._groups.items() if lead != told[0]}
            self._groups = {lead: tuple(n for n in names if n not in losses) for lead, names in others.items()}
            self._groups[told[0]] = tuple(losses)

    def ask(self) -> Suggestion:
        """The design to measure next, and the objective of it."""
        setting, count = self._setting, self._readings.count
        rng = np.random.default_rng((setting.seed, count))
        chosen = None
        if self._readings.enough():
            chosen = self._memory.attempted(1, self._chosen)
            self.fallbacks += chosen is None
        if chosen is None:
            lead = setting.leads[int(rng.integers(len(setting.leads)))]
            return Suggestion(fresh_design(setting.space, self._readings.all_designs(), rng), (lead,))
        return Suggestion(self._legal(chosen[0], rng), (setting.leads[chosen[1]],))

    def front(self) -> Sequence[Design] | None:
        """The designs of the whole space whose posterior means no others dominate."""
        space = self._setting.space
        if space.pool is not None or space.size <= MOST_LISTED:
            return self._memory.front(space.enumerate())
        if not self._readings.enough():
            return None
        measured = self._readings.all_designs()
        bred = self._memory.attempted(FRONT, lambda: self._bred(self._memory.fit()))
        return self._memory.front(measured if bred is None else (measured + bred).unique())

    def predict(self, designs: Designs) -> FloatArray | None:
        """The posterior mean losses (m, n) of designs (m)."""
        return self._memory.predict(designs)

    def _bred(self, fit: Fit) -> Designs:
        """Legal designs on the front of the posterior means, by NSGA-II."""
        from botorch.utils.multi_objective.optimize import optimize_with_nsgaii

        setting, effort = self._setting, self._effort
        rng = np.random.default_rng((setting.seed, FRONT, self._readings.count))

        def rounded(X: Any) -> Designs:
            return setting.space.decode(X.cpu().numpy()).settled(rng)

        def means(X: Any) -> Any:
            designs = rounded(X.squeeze(-2))
            worth = fit.means(tensor(self._columns.rows(designs)))
            return worth - FORBIDDEN * tensor(~setting.space.legal(designs))[:, None]

        X, _ = optimize_with_nsgaii(
            means,
            bounds=unit_bounds(len(setting.space.groups())),
            num_objectives=len(setting.names),
            population_size=effort.population,
            max_gen=effort.generations,
            seed=setting.seed,
        )
        designs = rounded(X)
        return designs[setting.space.legal(designs)]

    def _chosen(self) -> tuple[FloatArray, int]:
        setting, fit = self._setting, self._memory.fit()
        members = [[setting.names.index(name) for name in self._groups[lead]] for lead in setting.leads]
        costs = purchase_costs(setting.costs, members)
        measured = tensor(self._columns.rows(self._readings.all_designs()))
        return best_purchase(fit.model, measured, fit.reference(setting), members, costs, self._effort)

    def _legal(self, row: FloatArray, rng: np.random.Generator) -> Design:
        """The design nearest to a row (d,); with a rule, the nearest that it allows."""
        space = self._setting.space
        design = self._columns.design(row)
        if space.pool is not None or design in space:
            return design
        legal = space.sample(N_LEGAL, rng, draws=50 * N_LEGAL)
        return legal[int(((self._columns.rows(legal) - row) ** 2).sum(axis=1).argmin())]


def best_purchase(
    model: Any, measured: Any, reference: Any, members: Sequence[Sequence[int]], costs: FloatArray, effort: HvkgEffort
) -> tuple[FloatArray, int]:
    """The row (d,) of the unit cube and the position of the purchase with the highest value per cost.

    The model is of what is maximised, with the reference point (n,) in its units; `measured` are the rows (s, d) of the
    measured designs. A purchase measures its `members`, positions of objectives; each objective adds to its cost (n,).
    """
    import torch
    from botorch.acquisition.cost_aware import InverseCostWeightedUtility
    from botorch.acquisition.multi_objective.hypervolume_knowledge_gradient import qHypervolumeKnowledgeGradient
    from botorch.models.cost import FixedCostModel
    from botorch.optim.optimize import optimize_acqf

    bounds = unit_bounds(measured.shape[-1]).to(reference)
    value = _current_value(model, reference, bounds, effort)
    if not value > 0:
        reference = inferred_reference(model, measured, reference)
        value = _current_value(model, reference, bounds, effort)
    acquisition = qHypervolumeKnowledgeGradient(
        model=model,
        ref_point=reference,
        num_fantasies=effort.n_fantasies,
        num_pareto=effort.n_pareto,
        current_value=value,
        cost_aware_utility=InverseCostWeightedUtility(FixedCostModel(tensor(costs).to(reference))),
    )
    choices: list[tuple[float, FloatArray]] = []
    for group in members:
        mask = torch.zeros(1, model.num_outputs, dtype=torch.bool, device=reference.device)
        mask[0, list(group)] = True
        acquisition.X_evaluation_mask = mask
        X, worth = optimize_acqf(
            acquisition,
            bounds=bounds,
            q=1,
            num_restarts=effort.restarts,
            raw_samples=effort.raw_samples,
            sequential=False,
            options=effort.options(),
        )
        choices.append((float(worth), X[0].cpu().numpy()))
    most = max(worth for worth, _ in choices)
    best = [place for place, (worth, _) in enumerate(choices) if worth == most]
    chosen = best[int(torch.randint(len(best), ())) if len(best) > 1 else 0]
    return choices[chosen][1], chosen


def inferred_reference(model: Any, measured: Any, reference: Any) -> Any:
    """The reference point (n,), moved behind the front of the measured designs (s, d) if none of them beats it.

    The rule is BoTorch's, by the posterior means: the worst values of the front less a tenth of its range. It is never
    better than the given one: BoTorch's rule for a front of a single design would be.
    """
    import torch
    from botorch.utils.multi_objective.hypervolume import infer_reference_point
    from botorch.utils.multi_objective.pareto import is_non_dominated

    with torch.no_grad():
        means = model.posterior(measured.to(reference)).mean
    return torch.minimum(infer_reference_point(means[is_non_dominated(means)], max_ref_point=reference), reference)


def purchase_costs(costs: FloatArray, members: Sequence[Sequence[int]]) -> FloatArray:
    """The costs (n,) with the price of each purchase at its first objective, and the cheapest price 1.

    >>> purchase_costs(np.array([30.0, 10.0, 0.0]), [[0], [1, 2]])
    array([3., 1., 0.])
    """
    prices = np.array([costs[list(group)].sum() for group in members])
    prices = np.maximum(prices, LEAST_COST * prices.max()) if prices.max() > 0 else np.ones(len(prices))
    shared = np.zeros(len(costs))
    shared[[group[0] for group in members]] = prices / prices.min()
    return shared


def _current_value(model: Any, reference: Any, bounds: Any, effort: HvkgEffort) -> Any:
    """The hypervolume of the best set of designs under the posterior mean."""
    from botorch.acquisition.multi_objective.hypervolume_knowledge_gradient import _get_hv_value_function
    from botorch.optim.optimize import optimize_acqf

    _, value = optimize_acqf(
        _get_hv_value_function(model=model, ref_point=reference, use_posterior_mean=True),
        bounds=bounds,
        q=effort.n_pareto,
        num_restarts=effort.value_restarts,
        raw_samples=effort.value_raw_samples,
        return_best_only=True,
        options=effort.options(),
    )
    return value


def _guessed_groups(setting: Setting) -> dict[str, tuple[str, ...]]:
    """The objectives that are measured with each lead, as a guess until a measurement shows them.

    A setting contains what can be measured on request, not what comes with it.
    """
    groups = {lead: [lead] for lead in setting.leads}
    lead = setting.leads[0]
    for name in setting.names:
        if name in groups:
            lead = name
        else:
            groups[lead].append(name)
    return {lead: tuple(names) for lead, names in groups.items()}


ENTRY = RivalEntry(
    name="botorch-hvkg",
    summary="BoTorch's hypervolume knowledge gradient (HVKG); measures single objectives, aware of their costs",
    packages=("botorch", "gpytorch", "torch", "pymoo"),
    modules=("torch", "botorch", "pymoo"),
    make=HypervolumeKnowledgeGradient,
    documentation="https://botorch.org/docs/tutorials/decoupled_mobo",
    decoupled=True,
    caveat=(
        "Each objective has a model over the options on which it depends. Its one-shot search moves the design and the "
        "fronts that it imagines together through the continuous cube; on a pool or a finite space the result is "
        "rounded to the nearest design that can be measured. BoTorch could search again for every design of a list "
        "(fixed features), which would take as many times as long."
    ),
)
