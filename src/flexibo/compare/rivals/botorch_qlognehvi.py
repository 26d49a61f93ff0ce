"""BoTorch's qLogNoisyExpectedHypervolumeImprovement, coupled, as BoTorch's documentation recommends it.

The settings are those of its tutorial "Multi-objective optimization with qEHVI, qNEHVI, and qNParEGO" (128 quasi Monte
Carlo draws, pruned baseline, 10 restarts from 512 starts, at most 200 iterations) with the default models of this
version. Spaces that are not continuous are searched by BoTorch's optimisers for them, chosen by the limits that BoTorch
states beside them, at their default settings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from flexibo._internal.arrays import FloatArray
from flexibo.compare.rivals._botorch_memory import Memory
from flexibo.compare.rivals._botorch_models import (
    Columns,
    fresh_design,
    import_quietly,
    quietly,
    recommended_model,
    tensor,
    unit_bounds,
)
from flexibo.compare.rivals.base import RivalEntry, Setting, Suggestion
from flexibo.space import Categorical, Design, Designs, Real, Space
from flexibo.space.encoding import encode, levels

MOST_LISTED = 10_000
"""A product space of so many designs is scored as a whole (BoTorch's MAX_CHOICES_ENUMERATE); a pool always is."""
MOST_VALUES = 100
"""A local search takes options of so many values (BoTorch's MAX_CARDINALITY_FOR_LOCAL_SEARCH)."""
DRAWS_PER_DESIGN = 50
MOST_CLIMBS = 50
BATCH_BYTES = 2**26
"""How large an array of improvements over all draws and cells may become; it decides how designs are batched."""


@dataclass(frozen=True, slots=True)
class NehviEffort:
    """How hard to search; the defaults are BoTorch's.

    Attributes:
        draws: Monte Carlo draws of the posterior (tutorial).
        restarts: Starts of the continuous search (tutorial).
        raw_samples: From how many random designs they are chosen (tutorial).
        batch_limit: How many of them are climbed together (tutorial).
        iterations: The most steps of a climb (tutorial).
        mixed_restarts: Starts where some options are not continuous (default of BoTorch's optimisers).
        mixed_raw_samples: From how many random designs they are chosen (likewise).
        local_raw_samples: The same where none is continuous (likewise).
        compiled: Whether BoTorch may compile its kernel for the processor, as it does by itself; without, the same
            numbers take longer.
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


class QLogNEHVI:
    """Asks for the design with the greatest expected improvement of the hypervolume, and for all its objectives.

    Args:
        setting: What is known beforehand.
        effort: How hard to search.

    Attributes:
        fallbacks: How many questions were drawn at random because the numbers failed.
    """

    def __init__(self, setting: Setting, *, effort: NehviEffort | None = None) -> None:
        self.fallbacks = 0
        self._setting = setting
        self._effort = effort or NehviEffort()
        self._way = way_to_search(setting.space)
        self._columns = Columns(setting.space, coded=self._way in ("lattice", "mixed"))
        categories = self._columns.categories() if self._columns.coded else {}
        self._memory = Memory(setting, self._columns, partial(recommended_model, categories=categories))
        self._readings = self._memory.readings
        prepare(compiled=self._effort.compiled)

    def tell(self, design: Design, losses: Mapping[str, float]) -> None:
        """Learn what was measured of a design."""
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
        """The measured designs whose posterior means no others dominate, if readings vary; else the best measured."""
        return self._memory.front() if self._setting.noisy else None

    def _chosen(self, measured: Designs) -> Design:
        from botorch.acquisition.multi_objective.logei import qLogNoisyExpectedHypervolumeImprovement
        from botorch.sampling.normal import SobolQMCNormalSampler
        from torch import Size

        fit = self._memory.fit()
        rng = np.random.default_rng((self._setting.seed, 4, self._readings.count))
        acquisition = qLogNoisyExpectedHypervolumeImprovement(
            model=fit.model,
            ref_point=fit.reference(self._setting),
            X_baseline=tensor(self._columns.rows(measured)[self._readings.common()]),
            sampler=SobolQMCNormalSampler(Size([self._effort.draws]), seed=int(rng.integers(2**31))),
            prune_baseline=True,
        )
        return WAYS[self._way](Search(acquisition, self._columns, measured, self._effort, rng))


def prepare(*, compiled: bool) -> None:
    """Import what is needed, and let BoTorch compile its kernel, before anybody's time is taken.

    BoTorch compiles it at first use, which takes a minute, and only a processor uses it: with a GPU it is left out.
    """
    import_quietly()
    import torch
    from botorch.acquisition.multi_objective import logei

    if compiled and not torch.cuda.is_available():
        with quietly(0):
            logei._try_load_fused_kernel()
    else:
        logei._load_attempted = True


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
    """What the optimisers need to know.

    Attributes:
        acquisition: What is maximised.
        columns: How designs become rows.
        measured: The designs that must not come out.
        effort: How hard to search.
        rng: Source of the draws.
    """

    acquisition: Any
    columns: Columns
    measured: Designs
    effort: NehviEffort
    rng: np.random.Generator

    @property
    def batch(self) -> int:
        """How many designs are scored together."""
        n_bounds = int(self.acquisition.cell_lower_bounds.numel())
        return max(16, min(2_048, BATCH_BYTES // (8 * n_bounds)))

    def fresh(self, designs: Designs) -> Designs:
        """The designs that were not measured; all of them if every one was."""
        fresh = ~np.isin(designs.keys(), self.measured.keys())
        return designs[fresh] if fresh.any() else designs

    def scores(self, designs: Designs) -> FloatArray:
        """What designs (m) are worth (m,)."""
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
    """The best that climbing in the cube finds."""
    from botorch.optim.optimize import optimize_acqf

    effort = search.effort
    X, _ = optimize_acqf(
        search.acquisition,
        bounds=unit_bounds(search.acquisition.X_baseline.shape[-1]),
        q=1,
        num_restarts=effort.restarts,
        raw_samples=effort.raw_samples,
        # The last only decides how many random starts are scored at once.
        options={"batch_limit": effort.batch_limit, "maxiter": effort.iterations, "init_batch_limit": search.batch},
    )
    return search.columns.design(X[0].cpu().numpy())


def _lattice(search: Search) -> Design:
    """The best that changing one option at a time finds."""
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
    """The best that climbing and changing one option at a time find in turns."""
    from botorch.optim.optimize_mixed import optimize_acqf_mixed_alternating

    values, categories = _values(search.columns.space), search.columns.categories()
    upper = [float(categories.get(column, 2) - 1) for column in range(search.acquisition.X_baseline.shape[-1])]
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
    """The best that changing one option at a time finds among legal designs, from the best of a random draw."""
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
    """The legal values in each column of coded designs, where they can be listed."""
    varying = [option for option in space.options.values() if option.size > 1]
    legal: dict[int, FloatArray] = {}
    for column, option in enumerate(varying):
        if isinstance(option, Real) or option.size > MOST_LISTED:
            continue
        codes = levels(option, np.arange(int(option.size), dtype=np.float64))
        legal[column] = codes if isinstance(option, Categorical) else encode(option, codes)[:, 0]
    return legal


WAYS = {"listed": _listed, "continuous": _continuous, "lattice": _lattice, "mixed": _mixed, "drawn": _drawn}

ENTRY = RivalEntry(
    name="botorch-qlognehvi",
    summary="BoTorch's noisy expected hypervolume improvement (qLogNEHVI); measures all objectives",
    packages=("botorch", "gpytorch", "torch"),
    modules=("torch", "botorch"),
    make=QLogNEHVI,
    documentation="https://botorch.org/docs/tutorials/multi_objective_bo",
    caveat=(
        "Pools are scored as a whole; product spaces above 10,000 designs are searched locally "
        "(optimize_acqf_discrete_local_search, or optimize_acqf_mixed_alternating with continuous options)."
    ),
)
