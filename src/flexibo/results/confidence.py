"""Boxes that all hold at once with probability 1 - delta, and what follows for each design of a front.

With beta_t = 2 log(n m pi^2 t^2 / (6 delta)), all n m intervals hold at once, at every t, with probability 1 - delta,
if the models are right: a normal loss is further than sqrt(beta) standard deviations from its mean with a probability
of at most exp(-beta / 2), and the sum of these over intervals and over t is at most delta. Where models are averaged, a
box contains the boxes of all of them, since any may be right and the standard deviation of a mixture says little about
its tails. Whether the models are right is checked: each reading is predicted by the others, and if these predictions
are further off than the models say, the boxes are wider by that factor (`flexibo.belief.trust`). The statement holds at
all times at once, so a study may use it to decide when to stop.
(The paper's factor 2/9 in place of 2 is a setting for exploration: such boxes do not all hold.)

If all boxes hold, then among the candidates

- a **confident** design is on the front: no other candidate's best corner dominates its worst corner, and its worst
  corner keeps every constraint;
- a design that is **ruled out** is not: another candidate's worst corner dominates its best corner, or its best corner
  breaks a constraint.

All others may be on the front. They are **probable** if no measured design dominates them with every loss at the middle
of its box, and they are more likely feasible than not; otherwise they are **possible**.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from flexibo._internal.arrays import FloatArray, IntArray, KeyArray
from flexibo._internal.threads import single_thread
from flexibo.belief.belief import Predictions, predictions
from flexibo.belief.failures import chance_of_success, possible
from flexibo.belief.reported import CONFIDENCE, likely_front, reported
from flexibo.belief.trust import chance_of_stranger, readings_missing, widening
from flexibo.errors import InvalidValueError
from flexibo.history import History
from flexibo.optimizer.predictor import Predictor, simultaneous_beta
from flexibo.pareto.goals import goals_of_boxes
from flexibo.pareto.region import alive_and_fronts
from flexibo.results.rows import Standing
from flexibo.space import Designs

Least: TypeAlias = Literal["confident", "probable", "possible"]
LEAST: tuple[Least, ...] = ("confident", "probable", "possible")
"""The standings that a front can be asked to include, from the strictest."""


@dataclass(frozen=True, slots=True)
class Confidence:
    """Corners of the boxes of m candidates; all hold at once with probability 1 - delta if the models are right."""

    best: FloatArray  # (m, k), at infinity if they break a constraint or a measurement is impossible
    worst: FloatArray  # (m, k), at infinity if they break a constraint or a measurement may fail
    keys: KeyArray  # (m, n), equal where two candidates must have the same value of a quantity
    delta: float  # the probability that some box does not hold
    beta: float  # the square of the boxes' half width in standard deviations
    t: int  # the number of answers that the models have learned from
    whole: bool  # the candidates are all designs of the space
    widened: float = 1.0  # the factor that held-out readings ask for; beta has its square
    unread: int = 0  # the readings that are missing before the models are checked
    stranger: float = 0.0  # the probability that a single design that does not follow the models was not measured


def confidence(predictor: Predictor, history: History, *, delta: float, m: int | None = None) -> Confidence:
    """The boxes of the candidates of the next question; pending evaluations count as unknown.

    Some box does not hold with probability `delta`. It draws m candidates, by default as many as for a question, beside
    the designs of the history.
    """
    if not all(map(history.count, range(len(history.quantities)))):
        raise InvalidValueError("Nothing is known yet; every objective needs at least one measurement.")
    with single_thread():
        designs = predictor.pool(history, m)
        models = predictor.models(history)
        widened = widening(history, models)
        beta = widened**2 * simultaneous_beta(history, len(designs), delta)
        boxes = predictions(history, designs, models, beta=beta, pin_pending=False, simultaneous=True)
    goals = goals_of_boxes(
        boxes.lower, boxes.upper, predictor.reference(history), list(history.optimised), history.limits
    )
    whole = history.space.size <= (predictor.m if m is None else m)
    # What cannot be measured counts as a broken limit.
    may, will = possible(history, designs), chance_of_success(history, designs) >= CONFIDENCE
    return Confidence(
        np.where(may[:, None], goals.corners(boxes.lower), np.inf),
        np.where(will[:, None], goals.corners(boxes.upper), np.inf),
        boxes.keys,
        delta,
        beta,
        len(history.measurements),
        whole,
        widened,
        int(readings_missing(history, designs).sum()),
        chance_of_stranger(history, designs),
    )


def standings(sure: Confidence, likely: IntArray, count: int) -> list[Standing]:
    """The standing of each of the first `count` candidates on the front of all of them.

    `likely` (f,) are those that are on the front by the best estimate, and likely feasible.
    """
    alive, _, _ = alive_and_fronts(sure.best, sure.worst)
    found: list[Standing] = ["possible" if may else "ruled out" for may in alive[:count]]
    for i in likely.tolist():
        if _is_confident(sure, i):
            found[i] = "confident"
        elif alive[i]:
            found[i] = "probable"
    return found


def _is_confident(sure: Confidence, i: int) -> bool:
    """Whether candidate i is on the front for all values within the boxes; what must equal it does not dominate it."""
    worst = sure.worst[i]
    if not worst[0] < np.inf:
        return False
    beats = (sure.best <= worst).all(axis=1) & (sure.best < worst).any(axis=1)
    return not (beats & (sure.keys != sure.keys[i]).any(axis=1)).any()


def standings_of(sure: Confidence, history: History, estimates: Predictions) -> list[Standing]:
    """The standing of each design of a history, which are the first candidates."""
    front = likely_front(history, estimates, complete=False)
    likely = front[estimates.legal[front].prod(axis=1) > 0.5]
    return standings(sure, likely, len(history.designs))


def reported_designs(predictor: Predictor, history: History) -> Designs:
    """The designs that are on the front by the best guess, whether they are confirmed or promising."""
    if not all(map(history.count, range(len(history.quantities)))):
        return history.designs[:0]
    return history.designs[reported(history, predictor.estimates(history), complete=False)]
