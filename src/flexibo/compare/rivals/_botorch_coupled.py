"""What BoTorch's coupled rivals share: the search for the design whose acquisition is highest, in every kind of space.

The settings are those of BoTorch's tutorial "Multi-objective optimization with qEHVI, qNEHVI, and qNParEGO" (128 quasi
Monte Carlo draws, pruned baseline, 10 restarts from 512 starts, at most 200 iterations) with the default models of this
version. Spaces that are not continuous are searched by BoTorch's optimisers for them, chosen by the limits that BoTorch
states beside them, at their default settings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from flexibo._internal.arrays import FloatArray
from flexibo.compare.rivals._botorch import (
    Columns,
    Fit,
    Memory,
    fresh_design,
    import_quietly,
    recommended_model,
    tensor,
    unit_bounds,
)
from flexibo.compare.rivals.base import Setting, Suggestion
from flexibo.space import Categorical, Design, Designs, Real, Space
from flexibo.space.encoding import encode, levels

MOST_LISTED = 10_000
"""A product space of up to this many designs is scored completely (BoTorch's MAX_CHOICES_ENUMERATE), like a pool."""
MOST_VALUES = 100
"""The local search takes options of up to this many values (BoTorch's MAX_CARDINALITY_FOR_LOCAL_SEARCH)."""
TOLD_EXACT = False
"""Whether models are told that values are exact where they are, or infer the noise as BoTorch's models do by default.

What it changes: ``python -m benchmarks.rival_settings botorch-qlognparego``.
"""
DRAWS_PER_DESIGN = 50
MOST_CLIMBS = 50
BATCH_BYTES = 2**26
"""The maximal size of an array of intermediate values; it limits the batches of designs."""


@dataclass(frozen=True, slots=True)
class SearchEffort:
    """The effort of the search; the defaults are the tutorial's, those of `mixed` and `local` searches BoTorch's.

    A search starts from the best `restarts` of `raw_samples` random designs, `batch_limit` of them together. `mixed`
    ones are used if some options are not continuous, `local_raw_samples` if none is. BoTorch may have its kernel
    `compiled` for the CPU, as by default; it affects the time only.
    """

    draws: int = 128
    restarts: int = 10
    raw_samples: int = 512
    batch_limit: int = 5
    iterations: int = 200
    mixed_restarts: int = 20
    mixed_raw_samples: int = 1_024
    local_raw_samples: int = 4_096
    compiled: bool = True


@dataclass(frozen=True, slots=True)
class Known:
    """What an acquisition is made of: the models, the designs measured in all objectives (r, d), and a sampler."""

    setting: Setting
    fit: Fit
    baseline: Any
    sampler: Any


Acquisition: TypeAlias = Callable[[Known], tuple[Any, int]]
"""Makes an acquisition function; the second is the number of intermediate values that it computes per design."""


class CoupledRival:
    """Asks for the design with the highest acquisition, in all objectives; may be told that values are `exact`."""

    def __init__(
        self,
        setting: Setting,
        acquisition: Acquisition,
        *,
        effort: SearchEffort | None = None,
        exact: bool = TOLD_EXACT,
    ) -> None:
        self.fallbacks = 0
        self.effort = effort or SearchEffort()
        self._setting = setting
        self._acquisition = acquisition
        self._way = way_to_search(setting.space)
        self._columns = Columns(setting.space, coded=self._way in ("lattice", "mixed"))
        categories = self._columns.categories() if self._columns.coded else {}
        build = partial(recommended_model, categories=categories, exact=exact and not setting.noisy)
        self._memory = Memory(setting, self._columns, build)
        self._readings = self._memory.readings
        import_quietly()

    def tell(self, design: Design, losses: Mapping[str, float]) -> None:
        """Learn the losses of a design."""
        self._readings.add(design, losses)

    def ask(self) -> Suggestion:
        """The design to measure next, in every objective."""
        setting, count, measured = self._setting, self._readings.count, self._readings.all_designs()
        chosen = None
        if self._readings.enough() and len(self._readings.common()):
            chosen = self._memory.attempted(1, lambda: self._chosen(measured))
            self.fallbacks += chosen is None
        return Suggestion(chosen or fresh_design(setting.space, measured, np.random.default_rng((setting.seed, count))))

    def front(self) -> Sequence[Design] | None:
        """With noise, the measured designs whose posterior means no others dominate; else the best measured ones."""
        return self._memory.front(self._readings.all_designs()) if self._setting.noisy else None

    def predict(self, designs: Designs) -> FloatArray | None:
        """The posterior mean losses (m, n) of designs (m)."""
        return self._memory.predict(designs)

    def _chosen(self, measured: Designs) -> Design:
        from botorch.sampling.normal import SobolQMCNormalSampler
        from torch import Size

        rng = np.random.default_rng((self._setting.seed, 4, self._readings.count))
        sampler = SobolQMCNormalSampler(Size([self.effort.draws]), seed=int(rng.integers(2**31)))
        baseline = tensor(self._columns.rows(measured)[self._readings.common()])
        acquisition, numbers = self._acquisition(Known(self._setting, self._memory.fit(), baseline, sampler))
        batch = max(16, min(2_048, BATCH_BYTES // (8 * numbers)))
        return WAYS[self._way](Search(acquisition, self._columns, measured, self.effort, rng, batch))


def way_to_search(space: Space) -> str:
    """Which of BoTorch's optimisers suits a space: "listed", "continuous", "lattice", "mixed" or "drawn"."""
    if space.pool is not None:
        return "listed"
    varying = [option for option in space.options.values() if option.size > 1]
    if space.valid is None and not space.conditions and all(isinstance(option, Real) for option in varying):
        return "continuous"
    if space.size <= MOST_LISTED:
        return "listed"
    if space.valid is not None or space.conditions:
        return "drawn"
    return "lattice" if all(option.size <= MOST_VALUES for option in varying) else "mixed"


@dataclass(frozen=True, slots=True)
class Search:
    """The input of BoTorch's optimisers: what is maximised, the designs to exclude, and the effort.

    `batch` designs are scored together.
    """

    acquisition: Any
    columns: Columns
    measured: Designs
    effort: SearchEffort
    rng: np.random.Generator
    batch: int

    @property
    def d(self) -> int:
        """The number of columns."""
        return int(self.columns.rows(self.measured).shape[1])

    def fresh(self, designs: Designs) -> Designs:
        """The designs that were not measured; all of them if every one was."""
        fresh = ~np.isin(designs.keys(), self.measured.keys())
        return designs[fresh] if fresh.any() else designs

    def scores(self, designs: Designs) -> FloatArray:
        """The acquisition (m,) of designs (m)."""
        import torch

        with torch.no_grad():
            rows = tensor(self.columns.rows(designs))[:, None, :].split(self.batch)
            return np.asarray(torch.cat([self.acquisition(X) for X in rows]).cpu().numpy())


def _listed(search: Search) -> Design:
    """The best of all designs."""
    from botorch.optim.optimize import optimize_acqf_discrete

    designs = search.fresh(search.columns.space.enumerate())
    choices = tensor(search.columns.rows(designs))
    X, _ = optimize_acqf_discrete(search.acquisition, q=1, choices=choices, max_batch_size=search.batch)
    return search.columns.design(X[0].cpu().numpy())


def _continuous(search: Search) -> Design:
    """The best design of a gradient search in the cube."""
    from botorch.optim.optimize import optimize_acqf

    effort = search.effort
    X, _ = optimize_acqf(
        search.acquisition,
        bounds=unit_bounds(search.d),
        q=1,
        num_restarts=effort.restarts,
        raw_samples=effort.raw_samples,
        # The last one only limits how many random designs are scored at once.
        options={"batch_limit": effort.batch_limit, "maxiter": effort.iterations, "init_batch_limit": search.batch},
    )
    return search.columns.design(X[0].cpu().numpy())


def _lattice(search: Search) -> Design:
    """The best design of a local search that changes one option at a time."""
    from botorch.optim.optimize import optimize_acqf_discrete_local_search

    X, _ = optimize_acqf_discrete_local_search(
        search.acquisition,
        discrete_choices=[tensor(values) for values in _values(search.columns.space).values()],
        q=1,
        num_restarts=search.effort.mixed_restarts,
        raw_samples=search.effort.local_raw_samples,
        X_avoid=tensor(search.columns.rows(search.measured)),
        max_batch_size=search.batch,
    )
    return search.columns.design(X[0].cpu().numpy())


def _mixed(search: Search) -> Design:
    """The best design of alternating gradient and local searches."""
    from botorch.optim.optimize_mixed import optimize_acqf_mixed_alternating

    values, categories = _values(search.columns.space), search.columns.categories()
    upper = [float(categories.get(column, 2) - 1) for column in range(search.d)]
    X, _ = optimize_acqf_mixed_alternating(
        search.acquisition,
        bounds=tensor([[0.0] * len(upper), upper]),
        discrete_dims={column: values[column].tolist() for column in values if column not in categories},
        cat_dims={column: values[column].tolist() for column in categories},
        q=1,
        num_restarts=search.effort.mixed_restarts,
        raw_samples=search.effort.mixed_raw_samples,
        options={"batch_limit": search.batch, "init_batch_limit": search.batch},
    )
    return search.columns.design(X[0].cpu().numpy())


def _drawn(search: Search) -> Design:
    """The best legal design of a local search from the best of a random draw."""
    space, effort = search.columns.space, search.effort
    m = effort.local_raw_samples
    best = search.fresh(space.sample(m, search.rng, draws=DRAWS_PER_DESIGN * m))
    scores = search.scores(best)
    parents = best[np.argsort(-scores, kind="stable")[: effort.mixed_restarts]]
    for _ in range(MOST_CLIMBS):
        near = parents[:0]
        for parent in parents:
            near += space.neighbours(parent, search.rng)
        near = search.fresh((near + parents).unique())
        scores = search.scores(near)
        order = np.argsort(-scores, kind="stable")[: effort.mixed_restarts]
        if np.isin(near[order].keys(), parents.keys()).all():
            break
        parents = near[order]
    return near[int(order[0])]


def _values(space: Space) -> dict[int, FloatArray]:
    """The legal values in each column of coded designs, if they can be listed."""
    varying = [option for option in space.options.values() if option.size > 1]
    legal: dict[int, FloatArray] = {}
    for column, option in enumerate(varying):
        if isinstance(option, Real) or option.size > MOST_LISTED:
            continue
        codes = levels(option, np.arange(int(option.size), dtype=np.float64))
        legal[column] = codes if isinstance(option, Categorical) else encode(option, codes)[:, 0]
    return legal


WAYS = {"listed": _listed, "continuous": _continuous, "lattice": _lattice, "mixed": _mixed, "drawn": _drawn}

CAVEAT = (
    "Each objective has a model over the options on which it depends. Pools are scored completely; product spaces "
    "above 10,000 designs are searched locally (optimize_acqf_discrete_local_search, or "
    "optimize_acqf_mixed_alternating with continuous options)."
)
