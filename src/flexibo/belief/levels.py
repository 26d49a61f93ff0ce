"""The model of an objective with steps or proxies, and what a reading of one tells of the last step.

A loss that was read at an early stop tells something of the last step of the same design, and of its neighbours: how
much is learned (`flexibo.surrogates.co_kriging`). The stops of an objective are the levels of that model.

With proxies, these and the stops are the levels of one process (`flexibo.surrogates.level_process`). Before it sees
them, the losses of each level are brought to those of the last one by an affine map, level by level: of the designs
that were read at both, mean and deviation must agree. If all losses have one sign, it is a map of their logarithms,
which keeps the sign. A map is learned from the first r readings, r growing as with every other model
(`flexibo.surrogates.refits`), and its scale is drawn to 1 as long as few designs were read at both levels.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from flexibo._internal.arrays import FloatArray, IntArray, KeyArray
from flexibo.belief.proxies import as_objective, moments
from flexibo.belief.step_costs import may_look, paid_shares
from flexibo.history import History
from flexibo.space import Designs
from flexibo.surrogates import Refits, Surrogate, joint
from flexibo.surrogates.co_kriging import FEWEST, CoKriging
from flexibo.surrogates.refits import refit_count

SHRINKAGE = 1.0  # a scale counts as if this many more designs had been read with a scale of 1
ODDS = 5.0  # those that early stops tell something, of a model that does not know them
WIDEST = 30.0  # the most that the deviations of two neighbouring levels differ by


@dataclass(frozen=True, slots=True)
class Evidence:
    """How much designs with both losses must show before early ones are trusted."""

    best: int  # the least number of designs among which early and last losses are compared: the best half of more
    fewest: int  # with fewer designs, nothing is trusted
    errors: float  # the rank correlation is taken this many standard errors lower
    least: float  # what is not above this counts as nothing


CURVES = Evidence(best=6, fewest=4, errors=1.0, least=0.0)
PROXIES = Evidence(best=12, fewest=6, errors=2.0, least=0.3)
"""A proxy may be noise, and chance alone must not support it: six designs in the same order do in 1 of 100 studies."""


LevelReadings: TypeAlias = tuple[Designs, IntArray, FloatArray]
"""Designs (s), the level of each reading (s,), and its loss (s,)."""


@dataclass(frozen=True, slots=True)
class LevelModel:
    """A fitted model over designs and levels: first the proxies, then the stops."""

    model: Surrogate
    stops: tuple[int, ...]
    resumable: bool = True
    trust: tuple[float, ...] = ()  # the greatest correlation of each level with the last one that curves support
    paid: tuple[float, ...] = ()  # the share of the whole cost that is paid up to each level
    proxies: int = 0
    may_look: bool = True  # whether another early stop may be asked for before a training is completed

    @property
    def count(self) -> int:
        """How many levels there are."""
        return self.proxies + max(1, len(self.stops))

    def at(self, X: FloatArray, level: int) -> FloatArray:
        """Encoded designs (m, d) with the columns of a level (m, d + L - 1)."""
        return with_levels(X, np.full(len(X), level), self.count)

    def at_last(self, X: FloatArray) -> FloatArray:
        """Encoded designs (m, d) with the columns of the last level."""
        return self.at(X, self.count - 1)

    def correlation(self, X: FloatArray, level: int) -> FloatArray:
        """How far (m,) what would be read at a level moves the loss at the last one, of designs X (m, d).

        It is the correlation of the two, given everything read: a reading that is one of its standard deviations
        higher than expected makes the last loss that many of its own higher. It is at most what the curves support
        that are known to their end (`supported`).
        """
        if level == self.count - 1 or not len(X):
            return np.ones(len(X))
        if isinstance(self.model, CoKriging):
            return self.model.correlation(X, level)
        here, last = self.at(X, level), self.at_last(X)
        covariance = joint(self.model).covariance(here, last).diagonal()
        scale = self.model.predict(here)[1] * self.model.predict(last)[1]
        found = np.clip(np.divide(covariance, scale, out=np.zeros(len(X)), where=scale > 0.0), 0.0, 1.0)
        return np.minimum(found, self.trust[level]) if self.trust else found


def with_levels(X: FloatArray, level: IntArray, count: int) -> FloatArray:
    """Encoded designs (m, d) with columns (m, count - 1) that tell the levels (m,).

    >>> with_levels(np.array([[0.3], [0.3]]), np.array([0, 2]), 4).tolist()
    [[0.3, 0.0, 0.0, 0.0], [0.3, 1.0, 1.0, 0.0]]
    """
    return np.hstack([X, (level[:, None] > np.arange(count - 1)).astype(float)])


def level_groups(groups: IntArray, count: int) -> IntArray:
    """The options (d,) of the columns of designs, with one more for each column of the levels (d + count - 1,)."""
    first = int(groups.max(initial=-1)) + 1
    return np.concatenate([groups, np.arange(first, first + count - 1)])


def level_model(history: History, j: int, refits: Refits) -> LevelModel | None:
    """The model of objective j, which has steps or proxies, given everything that was read; None without any levels.

    A proxy that no designs support is left out.
    """
    objective = history.objectives[j]
    if not objective.proxies:
        return _model_of_stops(history, j, refits)
    designs, level, losses = _own_readings(history, j)
    first = refit_count(len(level), refits.growth)
    keys, stops = designs.keys(objective.depends_on), max(1, len(objective.looks))
    location, scale, sign = level_maps(keys[:first], level[:first], losses[:first], stops)
    y = mapped(losses, level, location, scale, sign)
    own = _own_variances(history, j)
    if own is not None:
        own = own * map_slopes(losses, y, level, scale, sign) ** 2
    trust, count = supported(keys, level, y, stops), len(objective.proxies)
    if count:
        joined = with_proxies(history, j, (designs, level, y), growth=refits.growth)
        (designs, level, y), trust = joined.readings, (*joined.trust, *trust)
        if own is not None:  # what is not an objective's own reading has none of its own
            own = np.append(own, np.zeros(len(y) - len(own)))[joined.order]
        if not any(joined.trust) and stops == 1:
            return None
    X = with_levels(designs.encoded(objective.depends_on), level, count + stops)
    groups = level_groups(history.space.groups(objective.depends_on), count + stops)
    model = refits.model(X, y, groups=groups, variances=own)
    return LevelModel(
        model, objective.looks, objective.resumable, trust, _paid(history, j), count, may_look(history, j, ODDS)
    )


def _model_of_stops(history: History, j: int, refits: Refits) -> LevelModel | None:
    """The model of objective j, which has stops and no proxies; None while few designs were measured."""
    objective = history.objectives[j]
    designs, level, y = _own_readings(history, j)
    count, first = len(objective.looks), refit_count(len(level), refits.growth)
    if count < 2 or (level[:first] == count - 1).sum() < FEWEST:
        return None
    X = with_levels(designs.encoded(objective.depends_on), level, count)
    groups = level_groups(history.space.groups(objective.depends_on), count)
    model = refits.model(X, y, groups=groups, variances=_own_variances(history, j))
    odds = model.odds if isinstance(model, CoKriging) else ODDS
    return LevelModel(
        model, objective.looks, objective.resumable, paid=_paid(history, j), may_look=may_look(history, j, odds)
    )


def _paid(history: History, j: int) -> tuple[float, ...]:
    """The share of what all steps of objective j cost that is paid up to each stop at which it may end."""
    objective = history.objectives[j]
    if not objective.stops:
        return ()
    shares = paid_shares(history, history.purchase_of(objective.name))
    return tuple(shares[len(objective.stops) - len(objective.looks) :].tolist())


def _own_readings(history: History, j: int) -> LevelReadings:
    """The designs (s), levels (s,) and losses (s,) that were read at the stops of objective j; at one without any."""
    stops = np.array(history.objectives[j].looks)
    if not len(stops):
        designs, losses = history.data(j)
        return designs, np.zeros(len(losses), dtype=np.int64), losses
    seen, steps, losses = history.points(j)
    rows = np.flatnonzero(np.isin(steps, stops))
    return seen[rows], np.searchsorted(stops, steps[rows]), losses[rows]


def _own_variances(history: History, j: int) -> FloatArray | None:
    """The variances (s,) of the own noise of the losses that `_own_readings` gives; None if there are none."""
    stops = history.objectives[j].looks
    found = history.point_variances(j) if stops else history.variances(j)
    return found[np.isin(history.points(j)[1], stops)] if found is not None and stops else found


@dataclass(frozen=True, slots=True)
class Joined:
    """The readings of an objective and of its proxies, and the greatest correlation of each proxy that is supported.

    `order` (s,) are the places that the readings had where those of the objective come first.
    """

    readings: LevelReadings
    trust: tuple[float, ...]
    order: IntArray


def with_proxies(history: History, j: int, own: LevelReadings, *, growth: float) -> Joined:
    """The readings of objective j at its stops, with those of its proxies that are supported as further levels below.

    They are in the order in which they were read, so that models can be extended by later ones. (Curves do not tell
    when they were read: with steps, the readings of all are mixed evenly.)
    """
    objective = history.objectives[j]
    designs, level, y = own
    keys, last = designs.keys(objective.depends_on), level == max(0, len(objective.looks) - 1)
    known, count = (keys[last], y[last]), len(objective.proxies)
    parts, trust = [(designs, level + count, y, _times(history, j, designs))], []
    for k, name in enumerate(objective.proxies):
        index = history.names.index(name)
        seen, losses = history.data(index)
        own_keys = seen.keys(objective.depends_on)
        both = np.concatenate([own_keys, known[0]]), np.concatenate([losses, known[1]])
        which = np.repeat([0, 1], [len(own_keys), len(known[0])])
        trust.append(supported(both[0], which, both[1], 2, PROXIES)[0] if len(losses) else 0.0)
        if trust[-1] > 0.0:
            moved = as_objective((own_keys, losses), known, refit_count(len(losses), growth))
            times = _times(history, index, seen, by_step=bool(objective.stops))
            parts.append((seen, np.full(len(losses), k), moved, times))
    order = np.argsort(np.concatenate([part[3] for part in parts]), kind="stable")
    together = parts[0][0]
    for part in parts[1:]:
        together = together + part[0]
    levels, values = np.concatenate([part[1] for part in parts]), np.concatenate([part[2] for part in parts])
    return Joined((together[order], levels[order], values[order]), tuple(trust), order)


def _times(history: History, j: int, designs: Designs, *, by_step: bool = False) -> FloatArray:
    """When each of the readings of objective j was taken (s,); shares of all its readings if it is `by_step`."""
    if by_step or history.objectives[j].stops:
        return (np.arange(len(designs)) + 0.5) / max(1, len(designs))
    return moments(history, j, designs).astype(float)


def supported(
    keys: KeyArray, level: IntArray, y: FloatArray, count: int, evidence: Evidence = CURVES
) -> tuple[float, ...]:
    """The greatest correlation of each of `count` levels with the last one that the losses y (s,) support.

    Of the designs that were read at both, the best half is what matters: curves that tell good designs from bad ones
    may say little of which good one is better, and may cross. The rank correlation among them is taken one standard
    error lower (of Fisher's transform), and never below 0. Of proxies, more is asked for (`PROXIES`).

    >>> keys, level = np.arange(20) % 10, np.repeat([0, 1], 10)
    >>> y = np.arange(10.0)
    >>> [round(r, 2) for r in supported(keys, level, np.concatenate([y, y]), 2)]
    [1.0, 1.0]
    >>> supported(keys, level, np.concatenate([-y, y]), 2)
    (0.0, 1.0)
    """
    losses = [dict(zip(keys[level == k].tolist(), y[level == k].tolist(), strict=True)) for k in range(count)]
    return (*(_lower_rank_correlation(losses[k], losses[-1], evidence) for k in range(count - 1)), 1.0)


def _lower_rank_correlation(early: Mapping[int, float], last: Mapping[int, float], evidence: Evidence) -> float:
    """The rank correlation of the best designs that have both losses, some standard errors lower; at least 0."""
    both = sorted((key for key in early if key in last), key=lambda key: (last[key], key))
    both = both[: max(evidence.best, len(both) // 2)]
    if len(both) < evidence.fewest:
        return 0.0
    ranks = [np.unique([some[key] for key in both], return_inverse=True)[1].astype(float) for some in (early, last)]
    if min(float(np.ptp(some)) for some in ranks) == 0.0:
        return 0.0
    rho = float(np.clip(np.corrcoef(ranks[0], ranks[1])[0, 1], -0.999, 0.999))
    lower = math.tanh(math.atanh(rho) - evidence.errors / math.sqrt(len(both) - 3.0))
    return lower if lower > evidence.least else 0.0


def level_maps(keys: KeyArray, level: IntArray, losses: FloatArray, count: int) -> tuple[FloatArray, FloatArray, int]:
    """The affine maps of losses (s,) at levels (s,) to those of the last of `count` levels: locations and scales (L,).

    The third is the sign of the losses if it is their logarithms that are mapped, otherwise 0.
    """
    sign = 1 if (losses > 0).all() else -1 if (losses < 0).all() else 0
    values = np.log(np.abs(losses)) if sign else losses
    by_level = [dict(zip(keys[level == k].tolist(), values[level == k].tolist(), strict=True)) for k in range(count)]
    location, scale = np.zeros(count), np.ones(count)
    for k in range(count - 2, -1, -1):
        low, high = by_level[k], by_level[k + 1]
        both = [key for key in low if key in high]
        if not both:
            location[k], scale[k] = location[k + 1], scale[k + 1]
            continue
        here, there = (np.array([some[key] for key in both]) for some in (low, high))
        slope = _ratio(here, there)
        # There = mean + slope * (here - mean of here), and then as the level above.
        scale[k] = scale[k + 1] * slope
        location[k] = location[k + 1] + scale[k + 1] * (there.mean() - slope * here.mean())
    return location, scale, sign


def mapped(losses: FloatArray, level: IntArray, location: FloatArray, scale: FloatArray, sign: int) -> FloatArray:
    """Losses (s,) at levels (s,) as losses at the last level, by `level_maps`; those of the last one stay."""
    last = level == len(location) - 1
    if sign:
        same = sign * losses > 0  # a later loss may have another sign, and stays as it is
        logs = np.log(np.where(same, np.abs(losses), 1.0))
        moved = sign * np.exp(np.clip(location[level] + scale[level] * logs, -200.0, 200.0))
        return np.where(last | ~same, losses, moved)
    return np.where(last, losses, location[level] + scale[level] * losses)


def map_slopes(losses: FloatArray, y: FloatArray, level: IntArray, scale: FloatArray, sign: int) -> FloatArray:
    """The derivatives (s,) of `mapped`, which took losses (s,) at levels (s,) to y (s,)."""
    last = level == len(scale) - 1
    if not sign:
        return np.where(last, 1.0, scale[level])
    stays = last | (sign * losses <= 0)
    return np.where(stays, 1.0, scale[level] * y / np.where(stays, 1.0, losses))


def _ratio(here: FloatArray, there: FloatArray) -> float:
    """The deviation of the losses there (k,) as a multiple of that here (k,), drawn to 1 as long as there are few."""
    below, above = float(here.var()), float(there.var())
    if below <= 0.0 or above <= 0.0:
        return 1.0
    count = len(here) - 1
    log_ratio = 0.5 * np.log(above / below) * count / (count + SHRINKAGE)
    return float(np.clip(np.exp(log_ratio), 1.0 / WIDEST, WIDEST))
