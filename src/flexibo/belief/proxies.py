"""Proxies: what is cheaper to measure than an objective and may tell something of it.

A proxy is a purchase of its own, with learned costs and failures, but no quantity: it belongs to no front, and a design
lacks nothing without it. Its readings are levels of the model of its objective (`flexibo.belief.levels`), below the
stops of that. It is brought to the losses of its objective by an affine map of its own, so it may have another unit.

A proxy counts only as far as designs with both readings support it. Without support its readings are left out, and the
model of the objective is the one without proxies.
"""

from __future__ import annotations

import numpy as np

from flexibo._internal.arrays import FloatArray, IntArray, KeyArray
from flexibo.history import History
from flexibo.space import Designs

PATIENCE = 6  # a proxy that failed this often in a row is not asked for any more
CHEAP_PROXY = 1 / 3  # what a proxy tells is learned if it costs at most this share of its objective
ENOUGH = 6  # designs with a reading of a proxy and of its objective: then what it tells begins to be known
PRIOR_PAIRS = 2.0  # a map counts as if that many more designs had been read, with the spreads of all readings
FEWEST_TO_CHOOSE = 4  # with fewer designs that were read in both, losses of one sign are mapped by their logarithms
MARGIN = 1e-3  # another scale must correlate better by this much
WIDEST = 1e6  # the most that the deviations of a proxy and of its objective differ by, in their own scales


def proxy_purchases(history: History, j: int) -> tuple[int, ...]:
    """The purchases of the proxies of objective j, in their order."""
    return tuple(history.purchase_of(name) for name in history.objectives[j].proxies)


def asked_proxies(history: History) -> tuple[int, ...]:
    """The purchases of all proxies that are worth asking: none that fails again and again."""
    return tuple(
        p
        for p, bundle in enumerate(history.bundles)
        if not bundle and history.failed_in_a_row[history.purchases[p].objective] < PATIENCE
    )


def moments(history: History, j: int, designs: Designs) -> IntArray:
    """When each of some designs (s,) was first read in objective j: the number of events until then."""
    first = history.first(j)
    keys = designs.keys(history.objectives[j].depends_on).tolist()
    return np.array([first[key][0] for key in keys], dtype=np.int64)


def teaching(history: History, p: int) -> Designs:
    """The designs whose objective is known and of which a proxy, purchase p, is worth reading to learn what it tells.

    The best ones of the objective are first: what a proxy tells of these matters. None once `ENOUGH` designs have both.
    """
    name = history.purchases[p].objective
    found = history.designs[:0]
    for j, objective in enumerate(history.quantities):
        if name not in objective.proxies:
            continue
        designs, losses = history.data(j)
        _, first = np.unique(designs.keys(objective.depends_on), return_index=True)
        designs, losses = designs[first], losses[first]
        read = np.isin(
            designs.keys(objective.depends_on), history.data(history.names.index(name))[0].keys(objective.depends_on)
        )
        if read.sum() < ENOUGH:
            rest = np.flatnonzero(~read)
            found = found + designs[rest[np.argsort(losses[rest], kind="stable")]]
    return found


def sign_of(losses: FloatArray) -> int:
    """The sign that all losses have, so that logarithms are mapped; 0 if they have not."""
    return 1 if (losses > 0).all() else -1 if (losses < 0).all() else 0


def as_objective(proxy: tuple[KeyArray, FloatArray], known: tuple[KeyArray, FloatArray], first: int) -> FloatArray:
    """The losses (s,) of a proxy as losses of its objective, whose readings are known by keys.

    Of the designs that were read in both, mean and deviation must agree. Losses of one sign are mapped by their
    logarithms, on the side of the proxy, of the objective, or both, unless they agree better as they are. The map is
    learned from the `first` readings of the proxy. With few designs that were read in both, the ratio of the deviations
    is drawn to that of all readings.

    >>> keys = np.arange(4)
    >>> known = (keys, np.array([10.0, 20.0, 30.0, -40.0]))
    >>> as_objective((keys, np.array([1.0, 2.0, 3.0, -4.0])), known, 4).round(6).tolist()
    [10.0, 20.0, 30.0, -40.0]
    """
    (own_keys, losses), (keys, others) = proxy, known
    own_keys, own = own_keys[:first], losses[:first]
    by_key = dict(zip(keys.tolist(), others.tolist(), strict=True))
    pairs = [(z, by_key[key]) for key, z in zip(own_keys.tolist(), own.tolist(), strict=True) if key in by_key]
    low, high = np.array(pairs).reshape(-1, 2).T
    sign, own_sign = sign_of(others), sign_of(losses)
    found, best = None, -np.inf
    for scales in dict.fromkeys([(own_sign, sign), (0, sign), (own_sign, 0), (0, 0)]):
        here, there = _scaled(low, scales[0]), _scaled(high, scales[1])
        agreement = float(np.corrcoef(here, there)[0, 1]) if _is_spread(here) and _is_spread(there) else -1.0
        if found is None or (len(low) >= FEWEST_TO_CHOOSE and agreement > best + MARGIN):
            whole = _log_ratio(_scaled(own, scales[0]), _scaled(others, scales[1]))
            moved = _moved(losses, (own, others), (low, high), scales, whole)
            if found is None or not sign or (np.sign(moved) == sign).all():
                found, best = moved, agreement
    assert found is not None
    return found


def _moved(
    losses: FloatArray,
    every: tuple[FloatArray, FloatArray],
    pairs: tuple[FloatArray, FloatArray],
    scales: tuple[int, int],
    whole: float,
) -> FloatArray:
    """Losses (s,) of a proxy as those of its objective, in these scales of both."""
    here, there = (_scaled(some, scale) for some, scale in zip(pairs if len(pairs[0]) else every, scales, strict=True))
    count = max(0, len(pairs[0]) - 1)
    log_ratio = (count * _log_ratio(here, there) + PRIOR_PAIRS * whole) / (count + PRIOR_PAIRS)
    slope = float(np.clip(np.exp(log_ratio), 1.0 / WIDEST, WIDEST))
    moved, sign = there.mean() + slope * (_scaled(losses, scales[0]) - here.mean()), scales[1]
    return np.asarray(sign * np.exp(np.clip(sign * moved, -200.0, 200.0)) if sign else moved)


def _is_spread(values: FloatArray) -> bool:
    """Whether there are values, and not all are equal."""
    return len(values) > 1 and float(np.ptp(values)) > 0.0


def _scaled(losses: FloatArray, sign: int) -> FloatArray:
    """Losses, or the logarithms of losses of one sign, ascending with the losses."""
    return np.asarray(sign * np.log(np.abs(losses)) if sign else losses)


def _log_ratio(here: FloatArray, there: FloatArray) -> float:
    """The logarithm of the deviation there as a multiple of that here; 0 if one of them is 0."""
    below, above = (float(some.std()) if len(some) else 0.0 for some in (here, there))
    return float(np.log(above / below)) if below > 0.0 and above > 0.0 else 0.0
