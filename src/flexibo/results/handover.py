"""What a study hands over: its confirmed designs, and those that are promising but not completely measured.

Both are numbered in one list, so that a number names one design within one state of a study: first the confirmed front,
then what is promising by the best guess, then what may be on the front but is not by the best guess.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from flexibo._internal.arrays import BoolArray, IntArray
from flexibo.belief.belief import Belief, Predictions
from flexibo.belief.failures import chance_of_success
from flexibo.belief.price_list import PriceList
from flexibo.belief.reported import reported, touched_designs
from flexibo.errors import unknown_name
from flexibo.history import History
from flexibo.methods.completion_gain import improvement_of_the_front
from flexibo.optimizer.predictor import Predictor
from flexibo.pareto import hypervolume
from flexibo.results.confidence import LEAST, standings_of
from flexibo.results.front import Standing, confirm_costs
from flexibo.results.promising import Promising, PromisingRow
from flexibo.results.readings import Readings, confirmed_front, distinct_places, readings

T = TypeVar("T")


def promising_of(predictor: Predictor, history: History, *, include: str = "probable") -> Promising:
    """The designs of a history that are worth confirming; empty while an objective has no value.

    They were measured in some quantity, nothing that they lack has failed, and by the best guess they are on the front
    of all that was measured in something. `include` is one of `LEAST`: only confident designs, these, or also designs
    that may be on the front but are not by the best guess.
    """
    if include not in LEAST:
        raise unknown_name("standing", include, LEAST)
    if not all(history.count(j) for j in range(len(history.objectives))):
        return Promising()
    found = HandOver.of(predictor, history)
    rows = _promising_rows(found, found.promising, after=len(found.front))
    if include == "confident":
        return Promising(row for row in rows if row.standing == "confident")
    if include == "possible":
        before = len(found.front) + len(rows) + len(found.possible_front)
        rows += _promising_rows(found, found.possible, after=before)
    return Promising(rows)


@dataclass(frozen=True, slots=True)
class HandOver:
    """The places of the designs that a history hands over, and what is thought of all its designs."""

    history: History
    predictor: Predictor
    read: Readings
    estimates: Predictions  # of all designs; what was read is at the mean of its readings
    standings: list[Standing]  # of all designs
    front: IntArray  # the confirmed front
    promising: IntArray  # not complete, on the front by the best guess
    possible_front: IntArray  # complete, not on the confirmed front, may be on the front
    possible: IntArray  # not complete, not promising by the best guess, may be on the front

    @classmethod
    def of(cls, predictor: Predictor, history: History) -> HandOver:
        """What a history hands over; every objective has a value."""
        read, estimates = readings(history), predictor.estimates(history)
        standings = standings_of(predictor, history, estimates)
        usable = ~_failed(history, read.known)
        usable &= True if estimates.usable is None else estimates.usable
        estimates = replace(estimates, mu=np.where(read.known, read.mean, estimates.mu), usable=usable)
        front = confirmed_front(history, read)
        likely = reported(history, estimates, complete=False)
        likely = likely[~read.complete[likely]]
        may = touched_designs(estimates, complete=False)
        may = np.setdiff1d(may[[standings[i] != "ruled out" for i in may.tolist()]], np.union1d(front, likely))
        return cls(
            history,
            predictor,
            read,
            estimates,
            standings,
            front=front,
            promising=_new(history, likely, front),
            possible_front=may[read.complete[may]],
            possible=_new(history, may[~read.complete[may]], np.concatenate([front, likely])),
        )

    def belief(self) -> Belief:
        """The belief in all designs of the history; what is being measured counts as unknown."""
        history, boxes = self.history, self.estimates
        return Belief(
            designs=history.designs,
            mu=boxes.mu,
            sigma=boxes.sigma,
            lower=boxes.lower,
            upper=boxes.upper,
            keys=boxes.keys,
            known=boxes.known,
            optimised=history.optimised,
            limits=history.limits,
            reference=self.predictor.reference(history),
            tolerances=np.zeros(len(history.objectives)),
            price_list=PriceList.of(history, history.designs, self.predictor.costs),
            joints=boxes.joints,
            legal=boxes.legal,
        )


def _failed(history: History, known: BoolArray) -> BoolArray:
    """The designs (m,) of which something was tried that gave no value, given what is known (m, n)."""
    found = np.zeros(len(known), dtype=bool)
    for p, purchase in enumerate(history.purchases):
        if history.failed_attempts[purchase.objective]:
            lacking = np.flatnonzero(~known[:, list(purchase.members)].all(axis=1))
            found[lacking] |= [history.attempts(p, history.designs[i]) > 0 for i in lacking.tolist()]
    return found


def _new(history: History, places: IntArray, others: IntArray) -> IntArray:
    """The places (f,) without designs whose optimised quantities must all equal those of another one."""
    both = distinct_places(history, np.concatenate([others, places]))
    return both[np.isin(both, places)]


def _promising_rows(found: HandOver, places: IntArray, *, after: int) -> list[PromisingRow]:
    """The designs at these places (f,) as rows with numbers from `after` + 1, the most expected gain per cost first."""
    history = found.history
    belief = found.belief()
    volume = hypervolume(belief.front(), belief.reference)
    gains = improvement_of_the_front(belief, places)
    if volume > 0.0:
        places, gains = places[gains > 0.0], gains[gains > 0.0]
    designs, known = history.designs[places], found.read.known[places]
    prices = confirm_costs(history, designs, known, found.predictor.costs)
    chances = chance_of_success(history, designs).tolist()
    signs = np.array([objective.value(1.0) for objective in history.objectives])
    values = (found.estimates.mu[places] * signs).tolist()
    deviations = np.where(known, 0.0, found.estimates.sigma[places]).tolist()
    legal = found.estimates.legal[places].prod(axis=1).tolist()

    def rate(i: int) -> tuple[bool, float, float]:
        price, gain = prices[i], float(gains[i]) * chances[i]
        return price is None, -(gain / price if price else math.inf if gain else 0.0), -gain

    def named(cells: Iterable[T]) -> dict[str, T]:
        return dict(zip(history.names, cells, strict=True))

    return [
        PromisingRow(
            number=number,
            design=designs[i],
            values=named(values[i]),
            measured=named(known[i].tolist()),
            readings=named(found.read.count[places[i]].tolist()),
            deviations=named(deviations[i]),
            probability=legal[i],
            standing=found.standings[int(places[i])],
            gain=float(gains[i]),
            relative_gain=float(gains[i]) / volume if volume > 0.0 else None,
            confirm_cost=prices[i],
            chance=chances[i],
        )
        for number, i in enumerate(sorted(range(len(places)), key=rate), after + 1)
    ]
