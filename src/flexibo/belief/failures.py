"""What is learned from failures: how likely an untried design can be measured at all.

If a network is too wide for the memory, or for the time that an evaluation may take, its neighbours are likely to fail
too. So designs that failed for good and designs that were measured train a classifier. Candidates that would probably
fail are asked about only if nothing else is worth a question, and are not reported. Without failures nothing changes.
"""

from __future__ import annotations

import numpy as np

from flexibo._internal.arrays import BoolArray, FloatArray, IntArray
from flexibo.history import History
from flexibo.space import Design, Designs

MOST_LEARNED = 300  # a classifier learns from at most this many designs: the latest measured and the latest failed
TREND = 4.0  # variance of the linear part of the log odds: mostly it is too much of something that makes a design fail
BUMPS = 4.0  # variance of the part that only similar designs share
PROBABLE = 0.5  # a design can probably be measured if its chance of success is at least this
IMPROBABLE_WEIGHT = 1e-6  # The greatest weight of other designs. Models promise most where nothing was ever measured.
REACH = 0.5  # how far similarity reaches: the length scale, in units of the square root of the number of columns


def possible(history: History, designs: Designs) -> BoolArray:
    """Which designs (m,) lack nothing that failed for good."""
    found = np.ones(len(designs), dtype=bool)
    for p, purchase in enumerate(history.purchases):
        hopeless = history.hopeless(p)
        if len(hopeless):
            found &= ~np.isin(designs.keys(purchase.options), np.setdiff1d(hopeless, history.measured(p)))
    return found


def chance_of_success(history: History, designs: Designs) -> FloatArray:
    """How likely (m,) everything can be measured that a design lacks; one for all where nothing has failed for good."""
    chance = possible(history, designs).astype(float)
    for p, purchase in enumerate(history.purchases):
        if len(history.hopeless(p)):
            measured = np.isin(designs.keys(purchase.options), history.measured(p))
            chance *= np.where(measured, 1.0, _learned(history, p, designs))
    return chance


def will_probably_succeed(history: History, design: Design) -> bool:
    """Whether everything that a design lacks can probably be measured."""
    return bool(chance_of_success(history, history.space.designs([design]))[0] >= PROBABLE)


def success_weights(history: History, designs: Designs) -> FloatArray:
    """What the scores of designs (m,) are multiplied by: the chance of success, and next to nothing if it is small.

    Among those with a small chance it is the greatest that decides, not what their models promise.
    """
    chance = chance_of_success(history, designs)
    return np.where(chance >= PROBABLE, chance, IMPROBABLE_WEIGHT ** (2.0 - np.minimum(chance / PROBABLE, 1.0)))


def _learned(history: History, p: int, designs: Designs) -> FloatArray:
    """The chance of success of designs (m,), learned from those tried so far."""
    options, seen = history.purchases[p].options, history.designs
    keys = seen.keys(options)
    measured = np.isin(keys, history.measured(p))
    tried = np.flatnonzero(measured | np.isin(keys, history.hopeless(p)))
    tried = tried[np.sort(np.unique(keys[tried], return_index=True)[1])]
    rows = np.sort(np.concatenate([_latest(tried[measured[tried]]), _latest(tried[~measured[tried]])]))
    good = measured[rows]
    if not good.any() or good.all():  # nothing to tell them apart by; Laplace's rule of succession
        return np.full(len(designs), (good.sum() + 1) / (len(good) + 2))
    from sklearn.gaussian_process import GaussianProcessClassifier  # seconds to import
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct

    X = _centred(seen[rows].encoded(options))
    kernel = ConstantKernel(TREND) * DotProduct() + ConstantKernel(BUMPS) * RBF(REACH * X.shape[1] ** 0.5)
    model = GaussianProcessClassifier(kernel, optimizer=None).fit(X, good)
    return np.asarray(model.predict_proba(_centred(designs.encoded(options)))[:, 1])


def _latest(rows: IntArray) -> IntArray:
    return rows[-MOST_LEARNED // 2 :]


def _centred(X: FloatArray) -> FloatArray:
    return 2.0 * X - 1.0
