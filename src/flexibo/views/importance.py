"""How much each option matters to each objective, as a view: Sobol indices of the surrogate's mean.

The main effect of an option is the share of the variance that it explains alone, the total effect that which it has a
part in (Sobol: Global sensitivity indices for nonlinear mathematical models and their Monte Carlo estimates, 2001).
Both are correlations between the means at two draws of designs: the main effect where the draws share this option
alone, and one less the total effect where they share all others (Janon et al.: Asymptotic normality and efficiency of
two Sobol index estimators, 2014). The draws are scrambled Sobol sequences.

The options are drawn independently of each other: a rule is not asked, and of a pool each option's own values are used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from flexibo._internal.arrays import FloatArray
from flexibo._internal.checks import whole_number
from flexibo._internal.threads import single_thread
from flexibo.methods.sobol import codes_at
from flexibo.space import Designs, Space
from flexibo.study import Study
from flexibo.surrogates import Surrogate
from flexibo.views._predictions import outlook, settled
from flexibo.views.axes import Axis, axis_of

DRAWS = 256
SEED = 6
"""The draws are always the same: an option does not seem to gain or lose because others were drawn."""
FEWEST = 4
"""With fewer measurements of an objective nothing can be said about options."""
FLAT = 1e-12
"""Means that vary by less than this share of their size are all the same."""
Shares = Mapping[str, Mapping[str, float | None]]
"""A share by option, by objective; None where an objective was hardly measured, or its mean is the same everywhere."""


@dataclass(frozen=True, slots=True)
class ImportanceView:
    """How much each option matters to each objective.

    Attributes:
        axes: The objectives.
        options: The options.
        main: The share of an objective's variance that an option explains alone.
        total: The share that it has a part in, together with others; never less than `main`.
        approximate: Whether the surrogates learned from some of the evaluations only.
    """

    axes: tuple[Axis, ...]
    options: tuple[str, ...]
    main: Shares
    total: Shares
    approximate: bool

    def to_dict(self) -> dict[str, Any]:
        """The view, ready for JSON."""
        return {
            "kind": "importance",
            "axes": [axis.to_dict() for axis in self.axes],
            "options": list(self.options),
            "main": {name: dict(shares) for name, shares in self.main.items()},
            "total": {name: dict(shares) for name, shares in self.total.items()},
            "approximate": self.approximate,
        }


def importance_view(study: Study, *, draws: int = DRAWS) -> ImportanceView:
    """How much each option matters to each objective, as far as its surrogate knows.

    Args:
        study: The study.
        draws: From so many pairs of designs, rounded up to a power of two; more are more exact.
    """
    draws = 1 << (whole_number("draws", draws, least=2) - 1).bit_length()
    study.refresh()
    history, seen = study.history, outlook(study)
    main: dict[str, dict[str, float | None]] = {}
    total: dict[str, dict[str, float | None]] = {}
    with single_thread():
        pair = _pair(history.space, draws)
        for j, objective in enumerate(history.objectives):
            names = history.space.names
            known = history.count(j) >= FEWEST
            shares = _shares(seen.model(history, j), pair, objective.depends_on) if known else {}
            main[objective.name] = {name: shares.get(name, (None, None))[0] for name in names}
            total[objective.name] = {name: shares.get(name, (None, None))[1] for name in names}
    axes = tuple(
        axis_of(objective, map(objective.value, history.data(j)[1].tolist()))
        for j, objective in enumerate(history.objectives)
    )
    return ImportanceView(axes, history.space.names, main, total, seen.approximate)


def _pair(space: Space, draws: int) -> tuple[Designs, Designs]:
    """Two independent draws of designs, not settled: an option that a condition makes inactive has a value still."""
    from scipy.stats.qmc import Sobol  # takes most of a second to import

    options = list(space.options.values())
    rng = np.random.default_rng(SEED)
    units = Sobol(2 * len(options), scramble=True, seed=rng).random(draws)
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
    """Main and total effect of every option on the mean of a model; nothing if its mean is the same everywhere."""
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
    """The first designs with one option of the others."""
    codes = one.codes.copy()
    codes[:, position] = other.codes[:, position]
    return Designs(one.table, codes)


def _correlation(one: FloatArray, other: FloatArray) -> float:
    """How two draws (s,) with the same distribution hang together: 0 for not at all, 1 for equal."""
    middle = (float(one.mean()) + float(other.mean())) / 2.0
    a, b = one - middle, other - middle
    return float(2.0 * (a @ b) / (a @ a + b @ b))
