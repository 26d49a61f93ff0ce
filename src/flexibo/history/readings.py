"""What was read of each design: the mean, number and spread of the readings of every quantity, without any model.

A design is confirmed once every quantity of it was read at least once. The confirmed front are the confirmed designs
that keep every limit and that no other one dominates, by the means of their readings. Where each of several readings
was told with an error bar, they are weighted: by their own variances and the one that they have in common, which shows
in how far they differ (`flexibo._internal.consensus`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flexibo._internal.arrays import BoolArray, FloatArray, IntArray
from flexibo._internal.consensus import consensus
from flexibo.history.history import History
from flexibo.pareto import non_dominated


@dataclass(frozen=True, slots=True)
class Readings:
    """The readings of n quantities of m designs, as losses."""

    mean: FloatArray  # (m, n): NaN where nothing was read; weighted where readings have error bars
    count: IntArray  # (m, n): how many; an exact quantity is read once
    spread: FloatArray  # (m, n): their standard deviation; of a single one its own, if it was told; else NaN

    @property
    def known(self) -> BoolArray:
        """What was read (m, n)."""
        return np.asarray(self.count > 0)

    @property
    def complete(self) -> BoolArray:
        """The designs (m,) of which everything was read."""
        return np.asarray(self.known.all(axis=1))


def readings(history: History) -> Readings:
    """The readings of all designs of a history; designs that must have equal values share theirs."""
    shape = (len(history.designs), len(history.quantities))
    mean, spread, count = np.full(shape, np.nan), np.full(shape, np.nan), np.zeros(shape, dtype=np.int64)
    for j, objective in enumerate(history.quantities):
        seen, y = history.data(j)
        if not len(y):
            continue
        keys, group, number = np.unique(seen.keys(objective.depends_on), return_inverse=True, return_counts=True)
        means = np.bincount(group, weights=y) / number
        with np.errstate(over="ignore"):  # the spread of huge losses may be infinite
            squares = np.bincount(group, weights=(y - means[group]) ** 2)
        deviations = np.sqrt(np.divide(squares, number - 1, out=np.full(len(keys), np.nan), where=number > 1))
        bars = history.bars(j)
        if not np.isnan(bars).all():
            deviations = np.where(number > 1, deviations, bars[np.unique(group, return_index=True)[1]])
            for place in np.flatnonzero(number > 1):
                if (own := bars[group == place]).all() and not np.isnan(own).any():
                    means[place] = consensus(y[group == place], own**2, unbiased=True)[0]
        own = history.designs.keys(objective.depends_on)
        at = np.minimum(np.searchsorted(keys, own), len(keys) - 1)
        here = keys[at] == own
        mean[here, j], spread[here, j], count[here, j] = means[at[here]], deviations[at[here]], number[at[here]]
    return Readings(mean, count, spread)


def confirmed_front(history: History, read: Readings) -> IntArray:
    """The places (f,) of the confirmed front, ordered by the first objective.

    While no confirmed design keeps every limit, it is the front of those that break one. Of designs that differ only
    in options on which no optimised quantity depends, the first is listed.
    """
    places = np.flatnonzero(read.complete)
    legal = (read.mean[places] <= history.limits).all(axis=1)
    places = places[legal] if legal.any() else places
    losses = read.mean[places][:, list(history.optimised)]
    places = distinct_places(history, places[non_dominated(losses)])
    return places[np.argsort(read.mean[places, history.optimised[0]], kind="stable")]


def distinct_places(history: History, places: IntArray) -> IntArray:
    """The places (f,) without those of designs whose optimised quantities must all equal those of an earlier one."""
    if not len(places):
        return places
    designs = history.designs[places]
    keys = np.stack([designs.keys(history.objectives[j].depends_on) for j in history.optimised], axis=1)
    return places[np.sort(np.unique(keys, axis=0, return_index=True)[1])]


def new_places(history: History, places: IntArray, others: IntArray) -> IntArray:
    """The places (f,) without designs whose optimised quantities must all equal those of another one or of `others`."""
    both = distinct_places(history, np.concatenate([others, places]))
    return both[np.isin(both, places)]
