"""The importance of each option for each objective, as a view: Sobol indices of the surrogate's mean.

The main effect of an option is the share of the variance that it explains alone; the total effect also counts its
interactions with other options (Sobol: Global sensitivity indices for nonlinear mathematical models and their Monte
Carlo estimates, 2001). Both are correlations between the means of two random sets of designs: the main effect is that
of sets that share this option alone; one minus the total effect is that of sets that share all other options (Janon et
al.: Asymptotic normality and efficiency of two Sobol index estimators, 2014). The sets are scrambled Sobol sequences.

The options are drawn independently: rules are ignored, and an option of a pool takes the values it has there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from flexibo._internal.arrays import FloatArray
from flexibo._internal.checks import whole_number
from flexibo._internal.threads import single_thread
from flexibo.space import Designs, Space
from flexibo.space.filling import codes_at
from flexibo.space.sobol import sobol
from flexibo.study import Study
from flexibo.surrogates import Surrogate
from flexibo.views._json import json_fields
from flexibo.views._models import settled, view_models
from flexibo.views.axes import Axis, axis_of

DRAWS = 256
SEED = 6  # the draws are always the same, so that a change of importance never comes from other draws
FEWEST = 4  # the least number of measurements of an objective for which importance is computed
FLAT = 1e-12  # means that vary by less than this share of their size count as equal
Shares = Mapping[str, Mapping[str, float | None]]
"""Shares by objective, then option; None if the objective has too few measurements or its mean is constant."""


@dataclass(frozen=True, slots=True)
class ImportanceView:
    """The importance of each option for each objective.

    Attributes:
        axes: The objectives.
        options: The options.
        main: The share of an objective's variance that an option explains alone.
        total: The share that it explains alone and in interactions with other options; never less than `main`.
        approximate: Whether the models are fitted to a subset of the evaluations.
    """

    axes: tuple[Axis, ...]
    options: tuple[str, ...]
    main: Shares
    total: Shares
    approximate: bool

    def to_dict(self) -> dict[str, Any]:
        """The view, ready for JSON."""
        return {"kind": "importance", **json_fields(self)}


def importance_view(study: Study, *, draws: int = DRAWS) -> ImportanceView:
    """The importance of each option for each objective, according to the objective's surrogate.

    `draws` is the number of pairs of designs, rounded up to a power of two; more are more accurate.
    """
    draws = 1 << (whole_number("draws", draws, least=2) - 1).bit_length()
    study.refresh()
    history, models = study.history, view_models(study)
    main: dict[str, dict[str, float | None]] = {}
    total: dict[str, dict[str, float | None]] = {}
    with single_thread():
        pair = _pair(history.space, draws)
        for j, objective in enumerate(history.quantities):
            names = history.space.names
            known = history.count(j) >= FEWEST
            shares = _shares(models.model(history, j), pair, objective.depends_on) if known else {}
            main[objective.name] = {name: shares.get(name, (None, None))[0] for name in names}
            total[objective.name] = {name: shares.get(name, (None, None))[1] for name in names}
    axes = tuple(
        axis_of(objective, map(objective.value, history.data(j)[1].tolist()))
        for j, objective in enumerate(history.quantities)
    )
    return ImportanceView(axes, history.space.names, main, total, models.approximate)


def _pair(space: Space, draws: int) -> tuple[Designs, Designs]:
    """Two independent draws of designs; options have values even where a condition makes them inactive."""
    options = list(space.options.values())
    rng = np.random.default_rng(SEED)
    units = next(sobol(2 * len(options), draws, rng))
    codes = np.empty_like(units)
    for column, u in enumerate(units.T):
        position = column % len(options)
        if space.pool is None:
            codes[:, column] = codes_at(options[position], u)
        else:
            known = np.sort(space.pool.codes[:, position])
            codes[:, column] = known[(u * len(known)).astype(np.int64)]
    return space.from_codes(codes[:, : len(options)]), space.from_codes(codes[:, len(options) :])


def _shares(
    model: Surrogate, pair: tuple[Designs, Designs], depends_on: Sequence[str] | None
) -> dict[str, tuple[float, float]]:
    """Main and total effect of every option on the mean of a model; empty if the mean is constant."""
    one, other = pair
    table = one.table
    varying = [name for name in depends_on or table.names if table.options[name].size > 1]
    parts = [one, other, *(_crossed(one, other, table.columns[name]) for name in varying)]
    means = model.predict(np.concatenate([settled(part).encoded(depends_on) for part in parts]))[0]
    first, second, *crossed = np.split(means, len(parts))
    if np.ptp(means) <= FLAT * float(np.abs(means).max()):
        return {}
    shares = dict.fromkeys(table.names, (0.0, 0.0))
    for name, hybrid in zip(varying, crossed, strict=True):
        main = min(max(0.0, _correlation(second, hybrid)), 1.0)
        total = min(max(main, 1.0 - _correlation(first, hybrid)), 1.0)
        shares[name] = main, total
    return shares


def _crossed(one: Designs, other: Designs, position: int) -> Designs:
    """The first designs, with the values of one option taken from the second."""
    codes = one.codes.copy()
    codes[:, position] = other.codes[:, position]
    return Designs(one.table, codes)


def _correlation(one: FloatArray, other: FloatArray) -> float:
    """The correlation of two draws (s,) from the same distribution."""
    middle = (float(one.mean()) + float(other.mean())) / 2.0
    a, b = one - middle, other - middle
    return float(2.0 * (a @ b) / (a @ a + b @ b))
