"""What is certain about a front: boxes that hold all at once, and how surely each design belongs to the front.

A box holds the losses of a candidate with high probability. With beta_t = 2 log(n m pi^2 t^2 / (6 delta)) all n m
intervals hold at once, and at every t, with probability 1 - delta, if the models are right: a normal loss is further
than sqrt(beta) deviations from its mean with a probability of at most exp(-beta / 2), and the sum of these over
intervals and over t is at most delta. Where models are averaged, a box holds those of all of them, as any may be right:
deviations of a mixture say little about its tails. It does not matter when one looks, so that what follows may decide
when to stop.
(The paper's factor 2/9 in place of 2 says where to look next; boxes that narrow do not all hold.)

On that one condition, and among the candidates,

- a **certain** design is on the front: no other candidate's best corner dominates its worst corner, and its worst
  corner keeps every constraint;
- a design that is **ruled out** is not: another candidate's worst corner dominates its best corner, or its best corner
  breaks a constraint.

All others may be on the front. Those that nothing that was measured dominates if every loss is at its middle, and which
are more likely feasible than not, are called **probable**; the rest **possible**.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from flexibo._internal.arrays import FloatArray, IntArray, KeyArray
from flexibo._internal.threads import single_thread
from flexibo.belief.belief import Predictions, predictions
from flexibo.belief.failures import chance_of_success, possible
from flexibo.belief.reported import CONFIDENCE, in_order, likely_front, reported, touched_designs
from flexibo.errors import InvalidValueError, unknown_name
from flexibo.history import History
from flexibo.optimizer.predictor import Predictor, simultaneous_beta
from flexibo.pareto.region import alive_and_fronts, checked_goals
from flexibo.results.front import Front, Standing, front_rows
from flexibo.space import Designs

Least: TypeAlias = Literal["certain", "probable", "possible"]
LEAST: tuple[Least, ...] = ("certain", "probable", "possible")
"""What a list of designs can go down to."""


@dataclass(frozen=True, slots=True)
class Confidence:
    """Corners of the boxes of m candidates, which all hold at once with probability 1 - delta, if the models are right.

    Attributes:
        best: The best corners of the k objectives, at infinity where a constraint is surely broken or something failed
            for good, shape (m, k).
        worst: The worst corners, at infinity where a constraint may be broken or something may fail, shape (m, k).
        keys: Equal where two candidates must have the same value of a quantity, shape (m, n).
        delta: The probability that a box fails.
        beta: The square of the boxes' half width in deviations.
        t: How many answers the models have learned from: every state of knowledge has its own.
        whole: Whether the candidates are all designs of the space.
    """

    best: FloatArray
    worst: FloatArray
    keys: KeyArray
    delta: float
    beta: float
    t: int
    whole: bool


def confidence(predictor: Predictor, history: History, *, delta: float, m: int | None = None) -> Confidence:
    """The boxes of the candidates that the next question would look at. What is pending counts as unknown.

    Args:
        predictor: What thinks of designs.
        history: What happened so far.
        delta: The probability that a box fails, above 0 and below 1.
        m: Draw so many candidates; by default as many as the question does. Those of the history are always there.
    """
    if not all(history.count(j) for j in range(len(history.objectives))):
        raise InvalidValueError("Nothing is certain yet; every objective needs at least one measurement.")
    with single_thread():
        designs = predictor.pool(history, m)
        beta = simultaneous_beta(history, len(designs), delta)
        models = predictor.models(history)
        boxes = predictions(history, designs, models, beta=beta, pin_pending=False, simultaneous=True)
    goals = checked_goals(
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
    )


def standings(sure: Confidence, likely: IntArray, count: int) -> list[Standing]:
    """How surely each of the first candidates is on the front of all of them.

    Args:
        sure: The boxes of the candidates.
        likely: The places of those that are on the front by the best guess, and likely feasible (f,).
        count: Say it of so many.
    """
    alive, _, _ = alive_and_fronts(sure.best, sure.worst)
    found: list[Standing] = ["possible" if may else "ruled out" for may in alive[:count]]
    for i in likely.tolist():
        if _is_certain(sure, i):
            found[i] = "certain"
        elif alive[i]:
            found[i] = "probable"
    return found


def _is_certain(sure: Confidence, i: int) -> bool:
    """Whether candidate i is on the front whatever the values within the boxes.

    Candidates that must have the same values as it in everything do not dominate it.
    """
    worst = sure.worst[i]
    if not worst[0] < np.inf:
        return False
    beats = (sure.best <= worst).all(axis=1) & (sure.best < worst).any(axis=1)
    return not (beats & (sure.keys != sure.keys[i]).any(axis=1)).any()


def standings_of(predictor: Predictor, history: History, estimates: Predictions) -> list[Standing]:
    """How surely each design of a history is on the front of the candidates, with the study's own delta."""
    front = likely_front(history, estimates, complete=False)
    likely = front[estimates.legal[front].prod(axis=1) > 0.5]
    sure = confidence(predictor, history, delta=predictor.delta)
    return standings(sure, likely, len(history.designs))


def reported_designs(predictor: Predictor, history: History) -> Designs:
    """The designs of the front alone; quick, as nothing is said of how surely they belong to it."""
    if not all(history.count(j) for j in range(len(history.objectives))):
        return history.designs[:0]
    return history.designs[reported(history, predictor.estimates(history), complete=False)]


def front_of(predictor: Predictor, history: History, *, complete: bool = False, include: str = "probable") -> Front:
    """The front of a history, each design with its standing and the price of confirming it.

    Args:
        predictor: What thinks of designs.
        history: What happened so far; while an objective has no value the front is empty.
        complete: Whether to look only at designs that were measured in every objective.
        include: One of `LEAST`: only what is certain, what is reported, or also what is merely possible.
    """
    if include not in LEAST:
        raise unknown_name("standing", include, LEAST)
    if not all(history.count(j) for j in range(len(history.objectives))):
        return Front()
    estimates = predictor.estimates(history)
    places, found = reported(history, estimates, complete=complete), standings_of(predictor, history, estimates)
    if include == "certain":
        places = places[[found[i] == "certain" for i in places.tolist()]]
    elif include == "possible":
        may = [i for i in touched_designs(estimates, complete=complete).tolist() if found[i] != "ruled out"]
        places = in_order(history, estimates, np.union1d(places, np.array(may, dtype=np.int64)))
    return front_rows(history, estimates, places, found, predictor.costs)
