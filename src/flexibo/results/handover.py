"""What a study hands over: its confirmed designs, and those that are promising but not completely measured.

Both are numbered in one list, so that a number names one design within one state of a study: first the confirmed front,
then what is promising by the best guess, then what may be on the front but is not by the best guess.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from flexibo._internal.arrays import FloatArray, IntArray
from flexibo._internal.html import html_block, html_heading, html_line
from flexibo._internal.numbers import format_number
from flexibo.belief.failures import chance_of_success
from flexibo.belief.reported import in_order, reported, touched_designs
from flexibo.errors import unknown_name
from flexibo.history import History
from flexibo.history.readings import confirmed_front, new_places
from flexibo.methods.completion_gain import improvement_of_the_front
from flexibo.optimizer.predictor import Predictor
from flexibo.pareto import hypervolume
from flexibo.pareto.knee import knee
from flexibo.results.certificate import Certificate, certificate_of, percent, readings_needed
from flexibo.results.confidence import LEAST
from flexibo.results.front import Front, FrontRow
from flexibo.results.known_designs import KnownDesigns
from flexibo.results.promising import NOTHING_PROMISING, Promising, PromisingRow


@dataclass(frozen=True, slots=True)
class HandOver:
    """What a study hands over.

    Attributes:
        front: The confirmed designs.
        promising: Designs that are worth confirming.
        certificate: A bound on what the confirmed front misses; None while an objective has no value.
        with_promising: The same bound for the confirmed and the promising designs together.
        confirm_cost: What confirming all designs that are promising by the best guess is expected to cost; None if no
            cost is known.
        to_confirm: How many designs these are.
        last_likely: The largest number of a design of the front or promising by the best guess; a design with a larger
            number may be on the front, but is not by the best guess.
    """

    front: Front
    promising: Promising
    certificate: Certificate | None = None
    with_promising: Certificate | None = None
    confirm_cost: float | None = None
    to_confirm: int = 0
    last_likely: int = 0

    @property
    def likely(self) -> tuple[Front, Promising]:
        """The confirmed front, and what is promising by the best guess."""
        return (
            Front(row for row in self.front if row.number <= self.last_likely),
            Promising(row for row in self.promising if row.number <= self.last_likely),
        )

    @property
    def possible(self) -> tuple[Front, Promising]:
        """The measured and the other designs that may be on the front, but are not by the best guess."""
        return (
            Front(row for row in self.front if row.number > self.last_likely),
            Promising(row for row in self.promising if row.number > self.last_likely),
        )

    def sentence(self, unit: str = "") -> str:
        """What the confirmed front misses at most, and what confirming everything promising costs, in one sentence."""
        found = "; ".join(filter(None, [self._bound(), self._price(unit)]))
        return f"{found[0].upper()}{found[1:]}." if found else ""

    def _repr_html_(self) -> str:
        """The confirmed and the promising designs and a closing sentence, for notebooks."""
        parts = [html_heading("Confirmed"), self.front._repr_html_()]
        if self.promising:
            parts += [html_heading("Promising"), self.promising._repr_html_()]
        return html_block(*parts, html_line(self.sentence()))

    def _bound(self) -> str:
        bound, more = self.certificate, self.with_promising
        if not self.front or bound is None or more is None:
            return ""
        if not is_bound(bound):
            why = f": {readings_needed(bound.unread)} to check the models" if bound.unread else ""
            return f"there is no bound yet on what the confirmed front misses{why}"
        where = "all designs" if bound.whole_space else f"{bound.candidates:,} candidates"
        rest = f", with the promising designs at most {percent(more.relative)}" * (more.relative < bound.relative)
        return (
            f"the confirmed front misses at most {percent(bound.relative)} of the best hypervolume among {where}{rest} "
            f"(with a probability of {percent(1.0 - bound.delta, up=False)}, if the models are right)"
        )

    def _price(self, unit: str) -> str:
        if not self.to_confirm:
            is_best = self.certificate is not None and is_bound(self.certificate) and not self.certificate.relative
            search = "" if is_best else "; designs that were not tried may be better"
            return f"{NOTHING_PROMISING}{search}" if self.front else ""
        what = "the promising design" if self.to_confirm == 1 else f"the {self.to_confirm} promising designs"
        if self.confirm_cost is None:
            return f"what confirming {what} would cost is not known yet"
        return f"confirming {what} would cost about {format_number(self.confirm_cost, 3)} {unit}".rstrip()

    def to_dict(self) -> dict[str, Any]:
        """The bounds and the price, ready for JSON."""
        bounds = {"missed_at_most": self.certificate, "missed_with_promising": self.with_promising}
        shares = {name: bound.relative if bound and is_bound(bound) else None for name, bound in bounds.items()}
        return {**shares, "confirm_all_cost": self.confirm_cost}


def is_bound(certificate: Certificate) -> bool:
    """Whether a certificate says anything: the models are checked, and not everything may be missed."""
    return not certificate.unread and certificate.optimistic_volume > 0 and certificate.relative < 1.0


def hand_over(predictor: Predictor, history: History, *, include: str = "probable") -> HandOver:
    """What a history hands over; nothing while an objective has no value.

    Confirmed designs are compared with each other alone, by the means of their readings. A promising design was
    measured in some quantity, nothing that it lacks has failed, it is expected to add to the confirmed front, and by
    the best guess it is on the front of all that was measured in something. `include` is one of `LEAST`: only designs
    that are confidently on the front of the candidates, these, or also designs that may be on it but are not by the
    best guess.
    """
    if include not in LEAST:
        raise unknown_name("standing", include, LEAST)
    if not all(map(history.count, range(len(history.quantities)))):
        return HandOver(Front(), Promising())
    known = KnownDesigns.of(predictor, history)
    return handed_over(known, Selection.of(known), include=include)


@dataclass(frozen=True, slots=True)
class Selection:
    """The places of the designs that are handed over, each in the order of its table; all are distinct."""

    front: IntArray  # the confirmed front, by its first objective
    promising: IntArray  # not complete, on the front by the best guess; the most expected gain per cost first
    possible_front: IntArray  # complete, not on the confirmed front, may be on the front
    possible: IntArray  # not complete, not on the front by the best guess, may be on it
    gains: FloatArray  # (m,): what each design of the last two kinds is expected to add, 0 for others
    volume: float  # the hypervolume of the confirmed front

    @classmethod
    def of(cls, known: KnownDesigns) -> Selection:
        """The designs that a history hands over."""
        history, read = known.history, known.read
        front = confirmed_front(history, read)
        likely = reported(history, known.estimates, complete=False)
        touched = touched_designs(known.estimates, complete=False)
        may = touched[[known.standings[i] != "ruled out" for i in touched.tolist()]]
        may = np.setdiff1d(may, np.union1d(front, likely))
        belief = known.belief()
        volume, gains = hypervolume(belief.front(), belief.reference), np.zeros(len(history.designs))
        open_places = np.concatenate([places[~read.complete[places]] for places in (likely, may)])
        gains[open_places] = improvement_of_the_front(belief, open_places)
        if volume > 0.0:
            likely, may = (
                likely[read.complete[likely] | (gains[likely] > 0)],
                may[read.complete[may] | (gains[may] > 0)],
            )
        rates = _rates(known, gains)
        promising = _by_rate(rates, likely[~read.complete[likely]])
        possible = _by_rate(rates, may[~read.complete[may]])
        return cls(
            front=front,
            promising=new_places(history, promising, front),
            possible_front=in_order(history, known.estimates, may[read.complete[may]]),
            possible=new_places(history, possible, np.concatenate([front, promising])),
            gains=gains,
            volume=volume,
        )


def handed_over(known: KnownDesigns, chosen: Selection, *, include: str = "probable") -> HandOver:
    """The selected designs as rows, with the bounds on what is missed and the price of confirming everything."""
    front = _front_rows(known, chosen.front)
    promising = _promising_rows(known, chosen, chosen.promising, after=len(front))
    if include == "confident":
        front = [row for row in front if row.standing == "confident"]
        promising = [row for row in promising if row.standing == "confident"]
    elif include == "possible":
        after = len(front) + len(promising)
        front += [FrontRow(**known.facts(i, n)) for n, i in enumerate(chosen.possible_front.tolist(), after + 1)]
        promising += _promising_rows(known, chosen, chosen.possible, after=after + len(chosen.possible_front))
    both = np.concatenate([chosen.front, chosen.promising])
    return HandOver(
        Front(front),
        Promising(promising),
        certificate_of(known.sure, known.history, chosen.front, known.reference),
        certificate_of(known.sure, known.history, both, known.reference),
        known.price_of_all(chosen.promising),
        to_confirm=len(chosen.promising),
        last_likely=len(chosen.front) + len(chosen.promising),
    )


def _front_rows(known: KnownDesigns, places: IntArray) -> list[FrontRow]:
    history = known.history
    losses = known.read.mean[places][:, list(history.optimised)]
    best, bulge = losses == losses.min(axis=0, initial=math.inf), knee(losses)
    names = [history.names[j] for j in history.optimised]
    return [
        FrontRow(
            **known.facts(i, n + 1),
            best=tuple(name for name, is_best in zip(names, best[n].tolist(), strict=True) if is_best),
            knee=n == bulge,
        )
        for n, i in enumerate(places.tolist())
    ]


def _promising_rows(known: KnownDesigns, chosen: Selection, places: IntArray, *, after: int) -> list[PromisingRow]:
    if not len(places):
        return []
    prices = known.missing_prices(places).sum(axis=1).tolist()
    chances = chance_of_success(known.history, known.history.designs[places]).tolist()
    gains = chosen.gains[places].tolist()
    return [
        PromisingRow(
            **known.facts(i, after + n + 1),
            gain=gains[n],
            relative_gain=gains[n] / chosen.volume if chosen.volume > 0.0 else None,
            confirm_cost=None if math.isnan(prices[n]) else prices[n],
            chance=chances[n],
        )
        for n, i in enumerate(places.tolist())
    ]


def _rates(known: KnownDesigns, gains: FloatArray) -> FloatArray:
    """The gain per cost (m,) of completing each design with a gain; infinite where it is free, 0 where unpriced."""
    rates, places = np.zeros(len(gains)), np.flatnonzero(gains > 0.0)
    if not len(places):
        return rates
    prices = known.missing_prices(places).sum(axis=1)
    chances = chance_of_success(known.history, known.history.designs[places])
    free = np.where(np.isnan(prices), 0.0, math.inf)
    rates[places] = np.divide(gains[places] * chances, prices, out=free, where=prices > 0.0)
    return rates


def _by_rate(rates: FloatArray, places: IntArray) -> IntArray:
    return places[np.argsort(-rates[places], kind="stable")]
